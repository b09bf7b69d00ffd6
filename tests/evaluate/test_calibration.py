"""A pipeline calibrated on a development set."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import prepare
from onym.detect.dictionary import DictionaryDetector
from onym.errors import ConfigError, InputError
from onym.evaluate.calibration import calibrate_pipeline
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.linkers.exact import ExactLinker
from onym.pipeline.pipeline import Pipeline
from tests.datasets.made import write_graded


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> EvaluationTask:
    """Return documents of which each has three right names, and one that gold says means something else."""
    folder = tmp_path_factory.mktemp("dataset")
    prepare("ncbi-disease", write_graded(folder), folder / "prepared")
    return EvaluationTask.open(str(folder / "prepared"), "dev", kb=tiny_kb)


def test_annotated_mentions_are_judged_by_gold(graded: EvaluationTask) -> None:
    pipeline = Pipeline(ExactLinker(graded.kb))
    made = calibrate_pipeline(graded, pipeline)
    assert (made.mentions, made.documents, made.split) == ("given", 20, "dev")
    assert made.calibration.quality.answers == 80
    assert made.calibration.quality.accuracy == 0.75


def test_found_mentions_that_gold_lacks_are_wrong(graded: EvaluationTask) -> None:
    pipeline = Pipeline(ExactLinker(graded.kb), DictionaryDetector(graded.kb))
    made = calibrate_pipeline(graded, pipeline)
    assert made.mentions == "found"
    assert made.calibration.quality.answers == 100
    assert made.calibration.quality.accuracy == 0.6
    assert calibrate_pipeline(graded, pipeline, "given").calibration.quality.answers == 80


def test_an_earlier_precision_of_the_pipeline_does_not_count(graded: EvaluationTask) -> None:
    pipeline = Pipeline(ExactLinker(graded.kb), threshold=5.0)
    calibrated = Pipeline(ExactLinker(graded.kb), calibration=calibrate_pipeline(graded, pipeline)).with_coverage(0.9)
    assert calibrate_pipeline(graded, calibrated).calibration.quality.answers == 80


def test_a_pipeline_without_a_detector_finds_nothing(graded: EvaluationTask) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        calibrate_pipeline(graded, Pipeline(ExactLinker(graded.kb)), "found")


def test_a_few_documents_are_too_few(abstracts: EvaluationTask, tiny_kb: Path) -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        calibrate_pipeline(abstracts, Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))))
