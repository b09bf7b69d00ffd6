"""A detector, trained on a tiny corpus: it learns types, it can be stopped, and it opens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.detect.model import Config, detector_of
from onym.errors import ConfigError
from onym.models.collective import Collective
from onym.train.collective import trainer
from onym.train.collective.detector.context import DetectorContext
from onym.train.collective.detector.detector import detect
from onym.train.run import train
from tests.train.collective.detector.made import config
from tests.train.made import DOC, record
from tests.train.tiny import are_equal

LEARNING = {"steps": 60, "batch_size": 4, "eval_steps": 20, "learning_rate": 5e-3, "epochs": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [8, 0])
def test_it_learns_where_mentions_are(tmp_path: Path, encoder: Path, corpus: Path, hidden: int) -> None:
    # dev has no document of its own here: it is evaluated on what it learnt from
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
    (found,) = detector_of(model, Config(threshold=0.01, nested=True)).detect([DOC])
    assert {mention.type for mention in found.document.mentions} == {"Disease"}


@pytest.mark.slow
def test_a_stopped_training_ends_as_one_that_was_not(
    tmp_path: Path, encoder: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_of_run = config(encoder, corpus, optim={"steps": 6, "batch_size": 3, "eval_steps": 2})
    whole = detect(DetectorContext(config_of_run, tmp_path / "whole"))
    calls = []

    def interrupted(self: trainer.CollectiveTrainer, model: object, inputs: object) -> object:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return own(self, model, inputs)  # type: ignore[arg-type]

    own = trainer.CollectiveTrainer.batch_loss
    with monkeypatch.context() as patch:
        patch.setattr(trainer.CollectiveTrainer, "batch_loss", interrupted)
        with pytest.raises(KeyboardInterrupt):
            detect(DetectorContext(config_of_run, tmp_path / "stopped"))
    again = detect(DetectorContext(config_of_run, tmp_path / "stopped"))
    assert again.state.global_step == 6
    assert are_equal(whole.model.state_dict(), again.model.state_dict())


def test_what_may_not_be_passed_on_is_refused(tmp_path: Path, encoder: Path) -> None:
    config_of_run = config(encoder, data={"datasets": ["hpo-gsc"]})
    with pytest.raises(ConfigError, match="dataset-not-shippable"):
        _ = DetectorContext(config_of_run, tmp_path).corpora
