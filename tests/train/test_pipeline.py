"""Tests of `onym train pipeline` on a user's own corpus."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from onym.datasets.own import prepare_own
from onym.errors import ConfigError, OnymError
from onym.packs.locate import load, locate_kb, read_pipeline
from onym.pipeline import Pipeline, PipelineOptions
from onym.train import pipeline as module
from onym.train.pipeline import PipelineTrainingConfig, train_pipeline
from tests.cli.command import onym
from tests.support.models import save_encoder
from tests.train.tiny import FEVER, HEART, pubtator

FRAMES = ("Case {n}: a {} was seen.", "The {} of case {n} was treated.", "No word of pitch, but {} in case {n}.")
NAMES = (("fever", FEVER), ("heart attack", HEART), ("pyrexia", FEVER), ("myocardial infarction", HEART))


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a user's own corpus, in which a name is also used as an ordinary word."""
    folder = tmp_path_factory.mktemp("own")
    rows = []
    for n in range(150):
        name, concept = NAMES[n % len(NAMES)]
        rows.append((FRAMES[n % len(FRAMES)].format(name, n=n), [(name, concept)]))
        rows.append((f"Crowd {n} at fever pitch.", []))
    (folder / "mine.pubtator").write_text(pubtator("train", rows))
    return prepare_own("mine", [folder / "mine.pubtator"], folder / "mine", shares=(0.5, 0.4, 0.1)).folder


def config(mine: Path, kb: Path, **changes: object) -> PipelineTrainingConfig:
    return PipelineTrainingConfig.of({"datasets": [str(mine)], "kb": str(kb), "detector": "dictionary", **changes})


@pytest.fixture(scope="module")
def training_folder(tmp_path_factory: pytest.TempPathFactory, mine: Path, kb_folder: Path) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "pipeline"
    train_pipeline(config(mine, kb_folder), folder)
    return folder


@pytest.mark.slow
def test_links_text_with_calibrated_confidence(training_folder: Path) -> None:
    linked = load(training_folder).link("Case 1: a fever was seen. The crowd was at fever pitch.")
    assert [(link.mention.start, link.concept_id) for link in linked.links] == [(10, f"mesh:{FEVER}")]
    confidence = linked.links[0].confidence
    assert confidence is not None
    assert 0.5 < confidence <= 1.0


@pytest.mark.slow
def test_resumes_an_interrupted_run(
    training_folder: Path, mine: Path, kb_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "train_reranker", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_pipeline(config(mine, kb_folder), tmp_path / "pipeline")
    assert (tmp_path / "pipeline" / "classifier").exists()
    monkeypatch.setattr(module, "train_classifier", interrupt)  # the classifier must not be trained again
    train_pipeline(config(mine, kb_folder), tmp_path / "pipeline")
    one, other = read_pipeline(training_folder), read_pipeline(tmp_path / "pipeline")
    assert one.calibration == other.calibration
    train_pipeline(config(mine, kb_folder), tmp_path / "pipeline")  # all training steps are finished, so nothing is trained


@pytest.mark.slow
def test_keeps_threshold_only_if_it_helps_and_not_for_terms(training_folder: Path) -> None:
    pipeline = load(training_folder)
    figures = json.loads((training_folder / "dev.json").read_bytes())
    assert (read_pipeline(training_folder).threshold is not None) == (figures["f1_held_out"] > figures["f1_without"])
    assert figures["mentions"] > 0
    assert pipeline.term_calibration is None, "there are four terms"
    options = PipelineOptions(threshold=0.5)
    bare = Pipeline(pipeline.linker, pipeline.detector, options)
    assert bare.for_terms().source()["threshold"] == 0.5
    known = Pipeline(pipeline.linker, pipeline.detector, options, term_calibration=pipeline.calibration)
    assert known.source()["threshold"] == 0.5
    assert known.for_terms().source()["threshold"] is None


@pytest.mark.slow
def test_trains_neural_detector_from_encoder(mine: Path, kb_folder: Path, tmp_path: Path) -> None:
    encoder = save_encoder(tmp_path / "encoder", positions=256)
    pipeline = train_pipeline(config(mine, kb_folder, encoder=str(encoder), epochs=0.1), tmp_path / "pipeline")
    own = read_pipeline(tmp_path / "pipeline")
    assert own.detector is not None
    assert own.detector.kind == "model"
    assert pipeline.detector is not None
    assert (tmp_path / "pipeline" / "detector" / "training.json").is_file()
    assert not (tmp_path / "pipeline" / "classifier").exists()


@pytest.mark.slow
def test_trains_student_by_default(mine: Path, kb_folder: Path, tmp_path: Path) -> None:
    pipeline = train_pipeline(config(mine, kb_folder, detector="auto"), tmp_path / "pipeline")
    own = read_pipeline(tmp_path / "pipeline")
    assert own.detector is not None
    assert own.detector.kind == "student"
    assert "a trained student" in (tmp_path / "pipeline" / "README.md").read_text()
    linked = pipeline.link("Case 1: a fever was seen.")
    assert [(link.mention.start, link.concept_id) for link in linked.links] == [(10, f"mesh:{FEVER}")]


@pytest.mark.slow
def test_trains_with_dense_candidates(training_folder: Path, mine: Path, kb_folder: Path, tmp_path: Path) -> None:
    encoder = save_encoder(tmp_path / "tiny")
    train_pipeline(config(mine, kb_folder, dense_encoder=str(encoder)), tmp_path / "pipeline")
    linker = read_pipeline(tmp_path / "pipeline").linker.model_dump()
    assert linker["dense"]["model"]["path"].endswith("tiny")
    assert load(tmp_path / "pipeline").link("Case 1: a fever was seen.").links[0].concept_id == f"mesh:{FEVER}"
    assert "dense_encoder" in json.loads((tmp_path / "pipeline" / "request.json").read_bytes())
    # without a dense encoder, the file is the same as from older versions, which do not know this key
    assert "dense_encoder" not in json.loads((training_folder / "request.json").read_bytes())


def test_none_means_no_encoder() -> None:
    own = PipelineTrainingConfig.of({"datasets": ["mine"], "kb": "kb", "encoder": "none", "dense_encoder": "none"})
    assert (own.encoder, own.dense_encoder) == ("", None)


def test_rejects_missing_encoder_before_training(mine: Path, kb_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        train_pipeline(config(mine, kb_folder, dense_encoder=str(tmp_path / "nothing")), tmp_path / "pipeline")
    assert not (tmp_path / "pipeline").exists()


@pytest.mark.slow
def test_rejects_another_configuration(training_folder: Path, mine: Path, kb_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="training-other"):
        train_pipeline(config(mine, kb_folder, private=True), training_folder)
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ConfigError, match="output-exists"):
        train_pipeline(config(mine, kb_folder), tmp_path)


def test_rejects_dataset_without_dev_before_training(mine: Path, kb_folder: Path, tmp_path: Path) -> None:
    prepare_own("mine", {"train": [mine.parent / "mine.pubtator"]}, tmp_path / "train-only")
    with pytest.raises(ConfigError, match="dataset-split"):
        train_pipeline(config(tmp_path / "train-only", kb_folder), tmp_path / "pipeline")
    assert not (tmp_path / "pipeline").exists()


def test_rejects_unknown_semantic_group_before_training(mine: Path, kb_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(OnymError, match="filter-unknown"):
        train_pipeline(config(mine, kb_folder, types={"Disease": "No such group"}), tmp_path / "pipeline")
    assert not (tmp_path / "pipeline").exists()


@pytest.mark.slow
def test_warns_if_too_few_mentions_to_calibrate(
    corpus: Path, kb_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "onym.train"):
        pipeline = train_pipeline(config(corpus, kb_folder), tmp_path / "pipeline")
    assert pipeline.calibration is None
    assert "no confidence of links" in caplog.text
    assert "no classifier" in caplog.text  # no classifier is trained, because all dictionary matches are mentions


@pytest.mark.slow
def test_command_line(mine: Path, kb_folder: Path, tmp_path: Path) -> None:
    words = ("train", "pipeline", "--dataset", str(mine), "--kb", str(kb_folder), "-o", "pipeline")
    done = onym(*words, cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "pipeline\tpipeline"
    assert re.fullmatch(
        r"strict F1 on dev\t\d+\.\d from raw text, [\d,]+ mentions in [\d,]+ documents", done.stdout.splitlines()[1]
    )
    assert "step 7 of 7" in done.stderr
    assert not [line for line in done.stderr.splitlines() if "{" in line], "figures are in words"


@pytest.mark.slow
def test_follows_the_annotations_unless_told_otherwise(
    training_folder: Path, mine: Path, kb_folder: Path, tmp_path: Path
) -> None:
    assert load(training_folder).linker.config["follow_annotations"]
    by_name = train_pipeline(config(mine, kb_folder, follow_annotations=False), tmp_path / "pipeline")
    assert "follow_annotations" not in by_name.linker.config


def test_a_pipeline_stands_for_its_knowledge_base(mine: Path) -> None:
    assert config(mine, Path("starter")).kb == str(locate_kb("starter"))
