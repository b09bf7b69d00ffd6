"""Tests of stored results: rounding preserves rankings, files are reproducible, and selection uses only dev."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.results.store import (
    Judged,
    Row,
    Store,
    best,
    between,
    differences,
    file_of,
    judge,
    p_value,
    short_scores,
    stage_before,
    table,
    twins,
    write_packed,
)
from benchmarks.results.tasks import Task
from hypothesis import given
from hypothesis import strategies as st

from onym.datasets import PreparedDataset, prepare
from onym.evaluate.cases import ranking_of
from onym.kb import KnowledgeBase
from onym.outputs.predictions import Answer, Prediction, Predictions, read_predictions
from tests.datasets.made import write_askapatient

HEADACHE, FEVER = "snomedct:25064002", "snomedct:386661006"
STAGES = {"pretrained": "", "finetuned": "pretrained", "preferred": "finetuned"}


def row(key: str = "b/finetuned/exact-sum", **more: Any) -> Row:
    hits = more.pop("hits", 5)
    values: dict[str, Any] = {
        "row": key, "dataset": "b", "stage": "finetuned", "search": "exact", "ranking": "sum", "split": "test",
        "trained_on": "train", "model": "tiny", "parameters": 9, "hours": 0.5, "machine": "", "weights": "", "config": "",
        "model_folder": "", "file": file_of(key), "figures": {"hits": hits, "strict_r1": 50.0},
    }  # fmt: skip
    return Row(**(values | more))


@pytest.fixture
def dataset(tmp_path: Path) -> PreparedDataset:
    """Return a synthetic fold of AskAPatient with one test mention, a headache."""
    return prepare("askapatient-fold0", write_askapatient(tmp_path), tmp_path / "prepared")


def task_of(prepared: PreparedDataset, **more: Any) -> Task:
    return Task(prepared, "test", KnowledgeBase.open(prepared.folder / "kb"), **more)


def make_predictions(prepared: PreparedDataset, *answers: Answer) -> Predictions:
    (doc,) = prepared.documents("test")
    return Predictions.of((Prediction(doc.id, mention.start, mention.end, answers) for mention in doc.mentions), {})


def test_scores_have_five_decimals() -> None:
    assert short_scores([(("a:1",), -0.123456789, 0), (("a:2",), -1.0, 1)]) == ((("a:1",), -0.12346, 0), (("a:2",), -1.0, 1))


def test_keeps_more_decimals_to_distinguish_scores() -> None:
    found = short_scores([(("a:1",), -0.1234561, 0), (("a:2",), -0.1234562, 1), (("a:3",), -2.00000000009, 2)])
    assert [score for _, score, _ in found] == [-0.1234561, -0.1234562, -2.0]


@given(st.lists(st.floats(-50, 0), min_size=1, max_size=8))
def test_rounding_preserves_ranking(scores: list[float]) -> None:
    ordered = [((f"a:{n}",), score, n) for n, score in enumerate(sorted(scores, reverse=True))]
    short = short_scores(ordered)
    assert ranking_of((ids, score) for ids, score, _ in short) == ranking_of((ids, score) for ids, score, _ in ordered)


def test_files_are_reproducible(tmp_path: Path, dataset: PreparedDataset) -> None:
    predictions = make_predictions(dataset, ((HEADACHE,), -0.123456, 0))
    write_packed(tmp_path / "a.jsonl.gz", predictions)
    write_packed(tmp_path / "b.jsonl.gz", predictions)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert list(read_predictions(tmp_path / "a.jsonl.gz").answers.values()) == [(((HEADACHE,), -0.12346, 0),)]


def test_stores_and_replaces_a_row(tmp_path: Path, dataset: PreparedDataset) -> None:
    store = Store(tmp_path / "store")
    assert store.rows() == []
    store.add(row("b/z"), make_predictions(dataset))
    store.add(row("b/a"), make_predictions(dataset, ((FEVER,), -1.0, 0)))
    store.add(row("b/z", hours=2.0), make_predictions(dataset))
    assert store.rows() == [row("b/a"), row("b/z", hours=2.0)]
    assert list(store.predictions(store.row("b/a")).answers.values()) == [(((FEVER,), -1.0, 0),)]


def test_concurrent_additions_are_all_stored(tmp_path: Path, dataset: PreparedDataset) -> None:
    keys = [f"b/{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: Store(tmp_path / "store").add(row(key), make_predictions(dataset)), keys))
    assert [each.row for each in Store(tmp_path / "store").rows()] == sorted(keys)


def test_rejects_a_row_with_unknown_keys(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"row": "a", "colour": "red"}]')
    with pytest.raises(ValueError, match="unknown keys: colour"):
        Store(tmp_path).rows()


@pytest.mark.parametrize("key", ["", "../a", "a//b", "A/b", "a b"])
def test_rejects_a_key_that_is_not_a_file_name(key: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        file_of(key)


def test_figures_are_percentages_of_mentions_in_the_kb(dataset: PreparedDataset) -> None:
    judged = judge(task_of(dataset), make_predictions(dataset, ((FEVER,), -1.0, 0), ((HEADACHE,), -2.0, 1)))
    assert judged.hits == (False,)
    assert judged.figures == {
        "any_id_r1": 0.0, "strict_r1": 0.0, "any_id_r5": 100.0, "strict_r5": 100.0, "r5": 100.0, "low": 0.0, "high": 0.0,
        "hits": 0, "mentions": 1, "in_kb": 1,
    }  # fmt: skip


def test_counts_retired_ids_separately(dataset: PreparedDataset) -> None:
    predictions = make_predictions(dataset, ((FEVER,), -1.0, 0))
    plain = judge(task_of(dataset), predictions).figures
    mapped = judge(task_of(dataset, replaced={HEADACHE: FEVER}), predictions).figures
    assert mapped == plain | {"mapped_any_id_r1": 100.0, "mapped": 1}


def test_rejects_predictions_with_a_missing_mention(tmp_path: Path) -> None:
    folder = write_askapatient(tmp_path)
    (folder / "askapatient" / "AskAPatient.fold-0.test.txt").write_bytes(b"25064002\tHeadache\thead\n386661006\tFever\thot\n")
    prepared = prepare("askapatient-fold0", folder, tmp_path / "two")
    first = next(prepared.documents("test"))
    with pytest.raises(ValueError, match="1 mentions have no line"):
        judge(task_of(prepared), Predictions.of([Prediction(first.id, 0, 4, (((HEADACHE,), 0.0, 0),))], {}))


def test_names_changed_figures() -> None:
    assert differences({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 3.0}) == ["b is 3.0, not 2.0"]
    assert differences({"a": 1.0}, {"a": 1.0, "c": 2.0}) == ["c is 2.0, not None"]


def test_p_value_is_mcnemars() -> None:
    one, other = Judged({}, (True,) * 6 + (False,), {}), Judged({}, (False,) * 6 + (True,), {})
    assert p_value(one, other) == 0.125


def test_selects_best_row_on_dev_only() -> None:
    rows = [
        row("b/one-on-dev", split="dev", ranking="sum", hits=6),
        row("b/two-on-dev", split="dev", ranking="mean", hits=5),
        row("b/one", ranking="sum", hits=1),
        row("b/two", ranking="mean", hits=9),
    ]
    assert best(rows) == {"b": "b/one"}


def test_model_trained_on_dev_replaces_the_selected_one() -> None:
    rows = [
        row("b/seen-on-dev", split="dev", ranking="mean", trained_on="train+dev", hits=9),
        row("b/one-on-dev", split="dev", ranking="sum", hits=6),
        row("b/one", ranking="sum", hits=5),
        row("b/one-with-dev", ranking="sum", trained_on="train+dev", hits=4),
        row("b/seen", ranking="mean", trained_on="train+dev", hits=9),
    ]
    assert best(rows) == {"b": "b/one-with-dev"}


def test_nothing_is_selected_without_dev_or_without_test() -> None:
    assert best([row()]) == {}
    assert best([row(split="dev")]) == {}
    assert best([row("b/d", split="dev"), row("b/t", model="another")]) == {}


def test_strict_figure_breaks_ties_on_dev() -> None:
    strict = {"hits": 5, "strict_r1": 60.0}
    dev = [row("b/a-on-dev", split="dev", search="beam5"), row("b/b-on-dev", split="dev", figures=strict)]
    assert best([*dev, row("b/a", search="beam5"), row("b/b")]) == {"b": "b/b"}


def test_previous_stage_is_the_nearest_with_the_same_search() -> None:
    before, other = row("b/p", stage="pretrained"), row("b/q", stage="pretrained", search="beam5")
    assert stage_before(row(), [before, other, row()], STAGES) == before
    assert stage_before(before, [before, other, row()], STAGES) is None
    assert stage_before(row("b/x", stage="preferred"), [before, row()], STAGES) == row()
    assert stage_before(row("b/x", stage="preferred"), [before], STAGES) == before
    assert stage_before(row("b/x", stage="unheard-of"), [before, row()], STAGES) is None
    assert stage_before(row(split="dev"), [before], STAGES) is None


def test_previous_stage_prefers_the_same_training_data() -> None:
    before = [row("b/p", stage="pretrained"), row("b/q", stage="pretrained", trained_on="train+dev")]
    assert stage_before(row(trained_on="train+dev"), before, STAGES) == before[1]
    assert stage_before(row(), before, STAGES) == before[0]


def test_detects_rows_with_the_same_settings() -> None:
    assert twins([row("b/a"), replace(row("b/b"), hours=1.0)]) == ["b/b: same settings as b/a; remove one of the two rows"]
    assert twins([row("b/a"), row("b/b", split="dev"), row("b/c", model="another")]) == []


def test_replaces_text_between_markers() -> None:
    page = "top\n<!-- x: begin -->\nold\n<!-- x: end -->\nrest\n"
    new = between(page, "x", "new")
    assert new == "top\n<!-- x: begin -->\n\nnew\n\n<!-- x: end -->\nrest\n"
    assert between(new, "x", "new") == new
    with pytest.raises(ValueError, match="lacks the markers"):
        between(page, "y", "new")


def test_a_table_is_markdown() -> None:
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
