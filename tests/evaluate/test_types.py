"""Tests of restricting the evaluation to annotated types that the system links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.datasets.own import prepare_own
from onym.errors import ConfigError
from onym.evaluate.end_to_end import EndToEndEvaluation
from onym.evaluate.evaluation import Evaluation
from onym.evaluate.run import run_comparison, run_file, run_linker, run_pipeline, tune_pipeline
from onym.evaluate.task import EvaluationTask
from onym.evaluate.types import OTHER_TYPES, TRAINING_REQUEST, is_trained_on, read_trained_types, types_of_pipeline
from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline, PipelineOptions
from tests.cli.command import onym

KB = """id\tname\ttype
mesh:D005334\tfever\tDisease
mesh:D006073\tgout\tDisease
mesh:D001241\taspirin\tChemical
mesh:D011349\tpulse\tProcedure
"""
TEXT = """1|t|Fever, gout and aspirin; pulse.
1|a|
1\t0\t5\tFever\tSymptom\tD005334
1\t7\t11\tgout\tDisease\tD006073
1\t16\t23\taspirin\tChemical\tD001241
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> EvaluationTask:
    """Return a document with a symptom, a disease and a chemical, and a name that is not annotated."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "kb.tsv").write_text(KB)
    (folder / "mixed.pubtator").write_text(TEXT)
    onym("kb", "build", "kb.tsv", "-o", "kb", cwd=folder)
    prepare_own("mixed", {"test": [folder / "mixed.pubtator"]}, folder / "mixed")
    return EvaluationTask.open(str(folder / "mixed"), kb=folder / "kb")


def test_says_which_datasets_a_pipeline_was_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not is_trained_on(tmp_path, "mine")
    (tmp_path / TRAINING_REQUEST).write_text(json.dumps({"datasets": ["mine", "bc5cdr"]}))
    assert is_trained_on(tmp_path, "bc5cdr")
    assert is_trained_on(tmp_path, str(tmp_path / "mine"))
    assert not is_trained_on(tmp_path, "other")


def pipeline_over(kb: KnowledgeBase, *types: str) -> Pipeline:
    return Pipeline(ExactLinker(kb), DictionaryDetector(kb), PipelineOptions(types=types))


def test_scored_types_are_those_the_pipeline_links(mixed: EvaluationTask) -> None:
    assert types_of_pipeline(mixed, pipeline_over(mixed.kb)) == ()
    assert types_of_pipeline(mixed, pipeline_over(mixed.kb, "Chemical")) == ("Chemical",)
    assert types_of_pipeline(mixed, pipeline_over(mixed.kb, "Disease")) == ("Disease", "Symptom"), "by the gold concepts"
    assert types_of_pipeline(mixed, pipeline_over(mixed.kb, "Disease"), ["Disease"]) == ("Disease",), "by the training"
    assert types_of_pipeline(mixed, pipeline_over(mixed.kb, "Procedure")) == (), "no annotated type is linked"
    assert types_of_pipeline(mixed, pipeline_over(mixed.kb, "Disease", "Chemical")) == (), "all are linked"


def test_pipeline_of_one_type_is_scored_on_it(mixed: EvaluationTask, tmp_path: Path) -> None:
    evaluation = run_pipeline(mixed, pipeline_over(mixed.kb, "Chemical"), save=tmp_path / "found.jsonl")
    assert evaluation.results["bhowmik-strict"].scores.f1 == 1.0
    assert evaluation.title == "dictionary + exact on mixed (test, type Chemical)"
    assert evaluation.as_dict()["types"] == evaluation.manifest["types_scored"] == ["Chemical"]
    again = run_file(mixed, tmp_path / "found.jsonl", "bhowmik-strict")
    assert isinstance(again, EndToEndEvaluation)
    assert again.results == evaluation.results
    assert tune_pipeline(mixed, pipeline_over(mixed.kb, "Chemical")).f1 == 1.0


def test_drops_predictions_of_other_types_but_not_spurious_ones(mixed: EvaluationTask) -> None:
    evaluation = run_pipeline(mixed.with_types(["Chemical"]), pipeline_over(mixed.kb))
    scores = evaluation.results["bhowmik-strict"].scores
    assert (scores.gold, scores.predicted, scores.right) == (1, 2, 1), "aspirin, and the pulse"
    assert evaluation.left_out[OTHER_TYPES] == 2


def test_linker_is_scored_on_given_types(mixed: EvaluationTask, tmp_path: Path) -> None:
    evaluation = run_linker(mixed.with_types(["Disease", "Symptom"]), ExactLinker(mixed.kb), save=tmp_path / "exact.jsonl")
    assert (len(evaluation.cases), evaluation.coverage.note) == (2, "")
    again = run_file(mixed, tmp_path / "exact.jsonl")
    assert isinstance(again, Evaluation)
    assert len(again.cases) == 3


def test_rejects_comparison_of_different_types(mixed: EvaluationTask, tmp_path: Path) -> None:
    paths = (tmp_path / "all.jsonl", tmp_path / "some.jsonl")
    for path, types in zip(paths, ((), ("Chemical",)), strict=True):
        run_pipeline(mixed, pipeline_over(mixed.kb, *types), save=path)
    with pytest.raises(ConfigError, match="different annotated types: all and Chemical"):
        run_comparison(mixed, paths)
    compared = run_comparison(mixed.with_types(["Chemical"]), paths)
    assert compared.comparison.types == ("Chemical",)
    assert compared.comparison.second == 1.0


def test_unknown_type_error_lists_types_of_split(mixed: EvaluationTask) -> None:
    with pytest.raises(ConfigError, match="use one of Chemical, Disease, Symptom"):
        mixed.with_types(["Disorder"])


def test_trained_types_are_read_from_training_request(tmp_path: Path) -> None:
    assert read_trained_types(tmp_path) == ()
    (tmp_path / "request.json").write_text(json.dumps({"types": {"SpecificDisease": "Disease"}}))
    assert read_trained_types(tmp_path) == ("SpecificDisease",)
    (tmp_path / "request.json").write_text("[]")
    with pytest.raises(ConfigError, match="--type"):
        read_trained_types(tmp_path)
