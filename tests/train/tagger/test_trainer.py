"""Tests of the detect stage: corpora, windows, dev evaluation, and whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from onym.datasets.training import TrainingCorpus
from onym.errors import ConfigError
from onym.methods.collective.model import Collective
from onym.methods.detector import resolve_overlaps
from onym.methods.tagger.detector import ModelDetectorConfig, detector_of
from onym.methods.tagger.spans import WantedType, score_spans
from onym.models import torch_loading as loading
from onym.models.tokens import Tokenizer
from onym.train.collective import document_model as trainer
from onym.train.configs import DetectorDataConfig, DetectorTrainingConfig
from onym.train.run import train
from onym.train.tagger.trainer import DetectorContext, LabelledCollate, LabelledCorpus, LabelledWindows, detect, label_corpora
from onym.types import Document, Mention
from tests.train.made import DOC, record
from tests.train.tiny import are_equal, encoder_optim

TYPES = {"SpecificDisease": "Disease", "Modifier": "Disease"}
ONE = Document("1", "fever and cough", (Mention(0, 5, "fever", ("a:1",), "Disease"), Mention(10, 15, "cough", (), "Gene")))
OTHER = Document("2", "cough", (Mention(0, 5, "cough", ("a:2",), "Disease"),))
CORPORA = [LabelledCorpus("a", (ONE,), {"Disease": 0, "Gene": 1}), LabelledCorpus("b", (OTHER,), {"Disease": 2})]
LEARNING = {"steps": 60, "batch_size": 4, "eval_steps": 20, "learning_rate": 5e-3, "epochs": 0.0}


def config(model: Path, *corpora: Path, **more: dict[str, Any]) -> DetectorTrainingConfig:
    """Return a configuration; `more` overrides keys by table."""
    tables: dict[str, dict[str, Any]] = {
        "start": {"model": str(model), "window": 24, "overlap": 8, "dropout": 0.0, "hidden": 8},
        "data": {"datasets": [str(corpus) for corpus in corpora], "types": TYPES},
        "dev": {"documents": 0},
        "optim": encoder_optim().model_dump(),
    }
    return DetectorTrainingConfig.of({name: table | more.get(name, {}) for name, table in tables.items()})


def _corpus(name: str, *types: str) -> TrainingCorpus:
    return TrainingCorpus(name, "", "", (Document("1", "flu", tuple(Mention(0, 3, "flu", (), each) for each in types)),), {})


def test_renames_and_drops_types() -> None:
    config = DetectorDataConfig(datasets=("a", "b"), types={"SpecificDisease": "Disease", "Other": ""}, conventions=False)
    labels, (one, other) = label_corpora([_corpus("a", "SpecificDisease", "Other"), _corpus("b", "Disease", "Gene")], config)
    assert [label.type for label in labels] == ["Disease", "Gene"]
    assert (dict(one.columns), dict(other.columns)) == ({"Disease": 0}, {"Disease": 0, "Gene": 1})
    assert [mention.type for mention in one.documents[0].mentions] == ["Disease"]


def test_masks_labels_of_other_corpora(encoder: Path) -> None:
    tokenizer = Tokenizer.open(encoder)
    windows = LabelledWindows(CORPORA, tokenizer, room=20, overlap=4, count=2)
    both = sorted(windows.__getitems__([0, 1]), key=lambda each: each.doc.id)
    batch = LabelledCollate(tokenizer, 0, labels=3, max_span_tokens=10)(both)
    spans = list(zip(batch["span_firsts"].tolist(), batch["span_lasts"].tolist(), strict=True))
    width = batch["input_ids"].shape[1]
    is_first = torch.tensor([first < width for first, _ in spans])
    assert batch["is_known"][is_first].tolist() == [[True, True, False]] * int(is_first.sum())
    assert batch["is_known"][~is_first].tolist() == [[False, False, True]] * int((~is_first).sum())
    assert batch["is_mention"].sum(0).tolist() == [1, 1, 1]
    assert not (batch["is_mention"] & ~batch["is_known"]).any()
    before = len(tokenizer.before)
    fever = tokenizer.tokenize_with_offsets(ONE.text).span(0, 5)
    assert fever is not None
    assert batch["is_mention"][spans.index((fever[0] + before, fever[1] + before))].tolist() == [True, False, False]


def test_splits_long_documents_into_windows(encoder: Path) -> None:
    long = Document("3", "fever " * 60, (Mention(0, 5, "fever", (), "Disease"),))
    windows = LabelledWindows([LabelledCorpus("a", (long,), {"Disease": 0})], Tokenizer.open(encoder), room=20, overlap=4)
    assert windows.epoch > 2


def test_labels_are_per_corpus_or_shared(tmp_path: Path, encoder: Path, corpus: Path) -> None:
    both = DetectorContext(config(encoder, corpus), tmp_path)
    shared = DetectorContext(config(encoder, corpus, data={"conventions": False}), tmp_path)
    assert [(label.type, label.corpus) for label in (*both.labels, *shared.labels)] == [
        ("Disease", "ncbi-disease"),
        ("Disease", ""),
    ]


def test_labels_have_tuned_thresholds(tmp_path: Path, encoder: Path, corpus: Path) -> None:
    context = DetectorContext(config(encoder, corpus), tmp_path)
    context.tuned[0] = 0.3
    assert [label.threshold for label in context.settings.labels] == [0.3]


def test_dev_uses_types_of_each_corpus(tmp_path: Path, encoder: Path, corpus: Path) -> None:
    dev = DetectorContext(config(encoder, corpus, dev={"documents": 1}), tmp_path).dev
    assert dev is not None
    assert [(each.name, len(each.documents), dict(each.columns)) for each in dev.corpora] == [
        ("ncbi-disease", 1, {"Disease": 0})
    ]
    assert DetectorContext(config(encoder, corpus, dev={"split": "none"}), tmp_path).dev is None
    assert DetectorContext(config(encoder, corpus, dev={"documents": 5, "split": "none"}), tmp_path).dev is None


def test_dev_scores_use_best_thresholds(tmp_path: Path, encoder: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")
    context = DetectorContext(config(encoder, corpus, dev={"documents": 9, "split": "train"}), tmp_path)
    context.model.heads.label.bias.data.fill_(0.0)  # a neutral bias, so that the untrained model detects some mentions
    dev = context.dev
    assert dev is not None
    found = dev(context.model)
    threshold = found["dev_threshold_0"]
    model, right, count = dev.open(context.model), 0, 0
    for doc, read in zip(dev.corpora[0].documents, model.reader.read(dev.corpora[0].documents), strict=True):
        spans = resolve_overlaps(score_spans(model, doc.text, read, [WantedType("Disease", (0,), threshold)]))
        own, gold = {(each.start, each.end) for each in spans}, {(each.start, each.end) for each in doc.mentions}
        right, count = right + len(own & gold), count + len(own) + len(gold)
    assert found["dev_f1"] == found["dev_f1_ncbi-disease"] == pytest.approx(200 * right / count)
    assert right


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [8, 0])
def test_learns_to_detect_mentions(tmp_path: Path, encoder: Path, corpus: Path, hidden: int) -> None:
    # the model is evaluated on its training documents
    config_of_run = config(encoder, corpus, start={"hidden": hidden}, optim=LEARNING, dev={"documents": 99, "split": "train"})
    made = train(config_of_run, tmp_path / "made")
    lines = [json.loads(line) for line in (made / "log.jsonl").read_text().splitlines()]
    scores = [line["eval_dev_f1"] for line in lines if "eval_dev_f1" in line]
    assert max(scores) > scores[0] + 10
    about = record(made)
    assert (about["stages"], [each["name"] for each in about["corpora"]]) == (["detect"], ["ncbi-disease"])
    assert "detector of mentions" in (made / "README.md").read_text()
    model = Collective.open(made)
    assert [(label.type, label.corpus) for label in model.settings.labels] == [("Disease", "ncbi-disease")]
    assert model.settings.labels[0].threshold == about["metrics"]["dev_threshold_0"]
    (found,) = detector_of(model, ModelDetectorConfig(threshold=0.01, nested=True)).detect([DOC])
    assert {mention.type for mention in found.document.mentions} == {"Disease"}


@pytest.mark.slow
def test_resumed_training_equals_uninterrupted(
    tmp_path: Path, encoder: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_of_run = config(encoder, corpus, optim={"steps": 6, "batch_size": 3, "eval_steps": 2})
    whole = detect(DetectorContext(config_of_run, tmp_path / "whole"))
    calls = []

    def interrupt_step(self: trainer.CollectiveTrainer, model: object, inputs: object) -> object:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return own(self, model, inputs)  # type: ignore[arg-type]

    own = trainer.CollectiveTrainer.batch_loss
    with monkeypatch.context() as patch:
        patch.setattr(trainer.CollectiveTrainer, "batch_loss", interrupt_step)
        with pytest.raises(KeyboardInterrupt):
            detect(DetectorContext(config_of_run, tmp_path / "stopped"))
    again = detect(DetectorContext(config_of_run, tmp_path / "stopped"))
    assert again.state.global_step == 6
    assert are_equal(whole.model.state_dict(), again.model.state_dict())


def test_rejects_datasets_that_may_not_be_redistributed(tmp_path: Path, encoder: Path) -> None:
    config_of_run = config(encoder, data={"datasets": ["hpo-gsc"]})
    with pytest.raises(ConfigError, match="dataset-not-shippable"):
        _ = DetectorContext(config_of_run, tmp_path).corpora
