"""Tests of calibrating a pipeline on a development set."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.calibrate import Answers, ScoredAnswer
from onym.datasets import prepare
from onym.errors import ConfigError, InputError
from onym.evaluate.task import EvaluationTask
from onym.evaluate.tuning import JudgedAnswers, calibrate_pipeline, distinct_terms, find_annotated_groups, judge_answers
from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.methods.tfidf import TfidfLinker
from onym.outputs.predictions import Predictions, predictions_of
from onym.pipeline import Pipeline, PipelineOptions
from onym.types import Document, Mention
from tests.datasets.made import block, pubtator, write, write_graded, write_ncbi
from tests.methods.dictionary.made_kb import make_kb


@pytest.fixture(scope="module")
def task_with_grades(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> EvaluationTask:
    """Return documents with three mentions of their gold concept by name, and one mention annotated with another concept."""
    folder = tmp_path_factory.mktemp("dataset")
    prepare("ncbi-disease", write_graded(folder), folder / "prepared")
    return EvaluationTask.open(str(folder / "prepared"), "dev", kb=tiny_kb)


def test_annotated_mentions_are_compared_with_gold(task_with_grades: EvaluationTask) -> None:
    pipeline = Pipeline(ExactLinker(task_with_grades.kb))
    made = calibrate_pipeline(task_with_grades, pipeline)
    assert (made.mentions, made.documents, made.split) == ("given", 20, "dev")
    assert made.calibration.quality.answers == 80
    assert made.calibration.quality.accuracy == 0.75


def test_frequent_types_have_calibrations_of_their_own(
    task_with_grades: EvaluationTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline(ExactLinker(task_with_grades.kb))
    kinds = {mention.type for doc in task_with_grades.gold() for mention in doc.mentions}
    assert not calibrate_pipeline(task_with_grades, pipeline, by_type=True).by_type
    monkeypatch.setattr("onym.evaluate.tuning.MIN_OF_TYPE", 50)
    made = calibrate_pipeline(task_with_grades, pipeline, by_type=True)
    assert set(made.by_type) <= kinds
    assert all(each.quality.answers >= 50 for each in made.by_type.values())
    assert made.by_type
    assert not calibrate_pipeline(task_with_grades, pipeline).by_type


def test_detected_mentions_not_in_gold_are_wrong(task_with_grades: EvaluationTask) -> None:
    pipeline = Pipeline(ExactLinker(task_with_grades.kb), DictionaryDetector(task_with_grades.kb))
    made = calibrate_pipeline(task_with_grades, pipeline)
    assert made.mentions == "found"
    assert made.calibration.quality.answers == 100
    assert made.calibration.quality.accuracy == 0.6
    assert calibrate_pipeline(task_with_grades, pipeline, "given").calibration.quality.answers == 80


def test_groups_that_a_dataset_does_not_annotate_are_not_judged(tmp_path: Path) -> None:
    """A chemical in a corpus of diseases is neither right nor wrong."""
    (tmp_path / "texts").mkdir()
    prepare("ncbi-disease", write_graded(tmp_path / "texts"), tmp_path / "prepared")
    diseases = "mesh:D005334\tFever\tpyrexia\tC23\nmesh:D009203\theart attack\t\tC14\n"
    kb = make_kb(tmp_path, diseases + "mesh:D7\tmyocardial infarction\t\tD01\n", groups=True)
    task = EvaluationTask.open(str(tmp_path / "prepared"), "dev", kb=kb)
    pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
    assert find_annotated_groups(task.gold(), kb) == ("Disease",)
    linked = {link.mention.surface.lower() for each in pipeline.link_many(task.texts()) for link in each.links}
    assert linked == {"fever", "pyrexia", "heart attack", "myocardial infarction"}
    assert calibrate_pipeline(task, pipeline).calibration.quality.accuracy == 1.0


def test_documents_shared_by_datasets_count_once(task_with_grades: EvaluationTask, tmp_path: Path, tiny_kb: Path) -> None:
    for path in write_graded(tmp_path).rglob("*.txt"):
        # Another dataset whose documents have the same ids and, ignoring case, the same text.
        path.write_text(path.read_text().replace("fever", "Fever"))
    prepare("ncbi-disease", tmp_path, tmp_path / "prepared")
    other = EvaluationTask.open(str(tmp_path / "prepared"), "dev", kb=tiny_kb)
    pipeline = Pipeline(ExactLinker(task_with_grades.kb))
    alone, pooled = calibrate_pipeline(task_with_grades, pipeline), calibrate_pipeline([task_with_grades, other], pipeline)
    assert (pooled.dataset, pooled.digest) == (
        "ncbi-disease, ncbi-disease",
        f"{task_with_grades.dataset.digest}, {other.dataset.digest}",
    )
    assert (pooled.documents, pooled.left_out) == (20, 20)
    assert (alone.documents, alone.left_out) == (20, 0)
    assert pooled.calibration == alone.calibration


def test_answers_of_several_datasets_are_fitted_together() -> None:
    answers = Answers.of([ScoredAnswer(0.5, 0.1, 2, 0, 8)] * 2)
    one = JudgedAnswers(answers, [1, None], ["1", "1"], ["", ""], 1, [("1", 0, 1), ("1", 2, 3)])
    both = JudgedAnswers.pool([one, one])
    assert (len(both.answers), both.ranks, both.unanswered) == (4, [1, None, 1, None], 2)
    assert both.documents == ["0/1", "0/1", "1/1", "1/1"]


def test_precision_setting_of_pipeline_is_ignored(task_with_grades: EvaluationTask) -> None:
    pipeline = Pipeline(ExactLinker(task_with_grades.kb), options=PipelineOptions(threshold=5.0))
    calibrated = Pipeline(
        ExactLinker(task_with_grades.kb), calibration=calibrate_pipeline(task_with_grades, pipeline)
    ).with_coverage(0.9)
    assert calibrate_pipeline(task_with_grades, calibrated).calibration.quality.answers == 80


def test_rejects_found_mentions_without_detector(task_with_grades: EvaluationTask) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        calibrate_pipeline(task_with_grades, Pipeline(ExactLinker(task_with_grades.kb)), "found")


def test_rejects_too_few_documents(abstracts: EvaluationTask, tiny_kb: Path) -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        calibrate_pipeline(abstracts, Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))))


def test_names_are_a_feature_of_terms_alone(task_with_grades: EvaluationTask) -> None:
    gold = list(task_with_grades.dataset.documents("dev"))
    linked = list(Pipeline(ExactLinker(task_with_grades.kb)).link_many(gold))
    predictions = Predictions.of(predictions_of(linked), {})
    given, terms = (judge_answers(task_with_grades, gold, predictions, mentions) for mentions in ("given", "terms"))
    assert not given.answers.is_named.any()
    assert terms.answers.is_named.all()  # by exact match, each surface is a name


def test_terms_are_deduplicated(task_with_grades: EvaluationTask) -> None:
    pipeline = Pipeline(ExactLinker(task_with_grades.kb), DictionaryDetector(task_with_grades.kb))
    first, again = distinct_terms([list(task_with_grades.dataset.documents("dev"))] * 2)
    names = [doc.text.lower() for doc in first]
    assert len(names) == len(set(names)) > 1
    assert again == []
    with pytest.raises(InputError, match="calibration-invalid"):  # the dataset has too few distinct terms
        calibrate_pipeline(task_with_grades, pipeline, "terms")


def test_types_require_gold_mentions(task_with_grades: EvaluationTask) -> None:
    pipeline = Pipeline(ExactLinker(task_with_grades.kb), DictionaryDetector(task_with_grades.kb))
    with pytest.raises(ConfigError, match="have no annotated type"):
        calibrate_pipeline(task_with_grades, pipeline, "found", ["Modifier"])
    with pytest.raises(InputError, match="calibration-invalid"):  # no mention of the dataset has this type
        calibrate_pipeline(task_with_grades, pipeline, "given", ["Chemical"])


def test_terms_are_compared_with_gold_concepts(tmp_path: Path, tiny_kb: Path) -> None:
    rows = [(f"Fever {row}\tModifier\tD005334", f"pyrexia {row}\tModifier\tD010146") for row in range(40)]
    blocks = [block(str(row), f"Fever {row} and pyrexia {row}", *each) for row, each in enumerate(rows)]
    write_ncbi(tmp_path)
    write(tmp_path / "ncbi_disease" / "NCBIdevelopset_corpus.txt", pubtator(*blocks))
    prepare("ncbi-disease", tmp_path, tmp_path / "prepared")
    task = EvaluationTask.open(str(tmp_path / "prepared"), "dev", kb=tiny_kb)
    pipeline = Pipeline(TfidfLinker(task.kb), DictionaryDetector(task.kb))
    made = calibrate_pipeline(task, pipeline, "terms")
    assert (made.mentions, made.documents, made.gold, made.types) == ("terms", 40, 80, None)
    assert "types" not in made.model_dump(mode="json")
    typed = calibrate_pipeline(task, pipeline, "terms", ["Modifier", "Disease"])
    assert (typed.types, typed.calibration) == (("Modifier", "Disease"), made.calibration)
    # Half of the answers are wrong, because pain is not in the KB.
    assert (made.calibration.quality.answers, made.calibration.quality.accuracy) == (80, 0.5)


def test_terms_are_surfaces_without_types() -> None:
    names = [f"name {number}" for number in range(120)]
    docs = [
        Document(str(row), name, (Mention(0, len(name), name, (f"made:{row}",), "Disease"),)) for row, name in enumerate(names)
    ]
    [terms] = distinct_terms([docs])
    assert [doc.text for doc in terms] == names
    assert {doc.mentions[0].type for doc in terms} == {""}
