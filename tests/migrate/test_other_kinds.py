"""Tests of migrating predictions, tables, SSSOM and batches, and of the queue for review."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from onym.batch import plan_batch, run_batch, status, verify
from onym.corpora import documents_of, read_corpus
from onym.corrections.file import read_corrections, read_rules, write_rules
from onym.corrections.rules import Rule
from onym.errors import ConfigError, InputError
from onym.methods.exact import ExactLinker
from onym.migrate.kinds import KINDS
from onym.migrate.run import migrate
from onym.outputs import Prediction, read_flat, read_predictions, write_predictions
from onym.outputs.rows import write_rows
from onym.pipeline.folder import build_pipeline
from onym.pipeline.pipeline import Pipeline
from onym.review.create import create_desk, read_mapped_table
from onym.review.desk import open_desk
from tests.batch.runs import rewrite_as_version_1
from tests.migrate.conftest import Releases, rows_of


def answer(*ids: str) -> tuple[tuple[tuple[str, ...], float, int], ...]:
    return tuple(((each,), 1.0 - number / 10, number) for number, each in enumerate(ids))


def predictions_at(path: Path, lines: list[Prediction], digest: str) -> None:
    with path.open("wb") as file:
        write_predictions(lines, {"linker": {"linker": "exact"}, "kb": {"digest": digest}}, file)


def test_predictions_move_with_their_candidates(releases: Releases, tmp_path: Path) -> None:
    lines = [
        Prediction("1", 0, 5, answer("mesh:D000001")),
        Prediction("1", 6, 9, answer("mesh:D000002", "mesh:D000009", "mesh:D000001")),
        Prediction("2", 0, 3, answer("mesh:D000004")),
    ]
    predictions_at(tmp_path / "old.jsonl", lines, releases[0].digest)
    result = migrate(tmp_path / "old.jsonl", *releases, tmp_path / "new.jsonl", strict=True)
    new = read_predictions(tmp_path / "new.jsonl")
    assert [one.answers for one in new] == [
        answer("mesh:D000001"),
        (answer("mesh:D000009")[0], (("mesh:D000001",), 0.8, 2)),
        answer("mesh:D000004"),
    ]
    before, after = ((tmp_path / name).read_bytes().splitlines() for name in ("old.jsonl", "new.jsonl"))
    assert (before[1], before[3]) == (after[1], after[3])
    assert new.source["migrated"] == {"from": releases[0].digest, "to": releases[1].digest}
    assert new.source["kb"]["digest"] == releases[1].digest
    assert (result.links["moved"], result.links["dead"], result.documents, result.changed) == (1, 1, 2, 1)
    (undecided,) = read_predictions(tmp_path / "new.jsonl.review.jsonl")
    assert (undecided.document_id, undecided.start, undecided.answers) == ("2", 0, ())


def test_no_queue_is_written_if_nothing_is_undecided(releases: Releases, tmp_path: Path) -> None:
    predictions_at(tmp_path / "old.jsonl", [Prediction("1", 0, 5, answer("mesh:D000001"))], releases[0].digest)
    migrate(tmp_path / "old.jsonl", *releases, tmp_path / "new.jsonl", strict=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.jsonl", "new.jsonl.audit.tsv", "old.jsonl"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_keeps_its_cells_and_gets_three_columns(delimiter: str, releases: Releases, tmp_path: Path) -> None:
    rows = [
        "code;concept_id;preferred_name",
        "1;MESH:D000002;High temperature",
        '"x ""y""";D000003;',
        "'=1;;",
        "4;D000001;Fever",
    ]
    suffix = "tsv" if delimiter == "\t" else "csv"
    old, new = tmp_path / f"old.{suffix}", tmp_path / f"new.{suffix}"
    old.write_text("\r\n".join(rows).replace(";", delimiter) + "\r\n", newline="")
    migrate(old, *releases, new, strict=True)
    assert new.read_bytes().decode().replace(delimiter, ";").split("\r\n") == [
        "code;concept_id;preferred_name;old_id;change;suggested",
        "1;MESH:D000009;Pyrexia;MESH:D000002;moved;",
        '"x ""y""";D000003;;;suggested;MESH:D000005|MESH:D000006',
        "'=1;;;;;",
        "4;D000001;Fever;;kept;",
        "",
    ]
    (queued,) = pl.read_csv(tmp_path / f"new.{suffix}.review.csv").to_dicts()
    assert queued["candidates"] == "MESH:D000005 First thing (1.000); MESH:D000006 Second thing (0.500)"
    assert (queued["code"], queued["concept_id"], queued["old"]) == ('x "y"', None, "MESH:D000003")


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx", ".jsonl"])
def test_other_tables(suffix: str, releases: Releases, tmp_path: Path) -> None:
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    old, new = tmp_path / f"old{suffix}", tmp_path / f"new{suffix}"
    number = int if suffix == ".parquet" else str
    with old.open("wb") as file:
        rows = [("a", "MESH:D000002", number(3)), ("b", None, number(4))]
        write_rows(rows, {"old_id": str, "concept_id": str, "n": number}, old, file)
    migrate(old, *releases, new)
    frame = read_flat(new)
    assert frame["concept_id"].to_list() == ["MESH:D000009", None]
    assert frame["old_id_2"].to_list()[0] == "MESH:D000002"
    assert frame["n"].to_list() == [number(3), number(4)]


def test_sssom_changes_ids_and_labels_in_place(releases: Releases, tmp_path: Path) -> None:
    text = (
        '#mapping_set_id: "x"\n#curie_map:\n#  mesh: "https://bioregistry.io/mesh:"\n'
        "subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\n"
        "a:1\tHeat\tskos:exactMatch\tmesh:D000002\tHigh temperature\n"
        'a:2\t"Fever "\tskos:exactMatch\tmesh:D000001\tFever\n'
    )
    (tmp_path / "old.sssom.tsv").write_text(text)
    result = migrate(tmp_path / "old.sssom.tsv", *releases, tmp_path / "new.sssom.tsv")
    expected = text.replace("mesh:D000002\tHigh temperature", "mesh:D000009\tPyrexia")
    assert (tmp_path / "new.sssom.tsv").read_text() == expected
    assert dict(result.links) == {"unknown": 2, "moved": 1, "kept": 1}


def test_corrections_stay_corrections(releases: Releases, tmp_path: Path) -> None:
    old, new = tmp_path / "old.onymc", tmp_path / "new.onymc"
    rules = [Rule("hot", "mesh:D000002", comment="ours"), Rule("MI", "no-concept"), Rule("so", "not-a-mention")]
    with old.open("wb") as file:
        write_rules(rules, file, kb=releases[0].digest)
    result = migrate(old, *releases, new)
    before, after = old.read_text().splitlines(), new.read_text().splitlines()
    assert (dict(result.links), result.changed) == ({"moved": 1}, 1)
    assert before[-2:] == after[-2:]
    corrections = read_corrections(new, releases[1])
    assert (corrections.rules[0].meaning, corrections.warning) == ("mesh:D000009", None)


@pytest.mark.parametrize("suffix", [".onymc", ".csv", ".tsv", ".xlsx"])
def test_undecided_rules_go_to_a_desk(suffix: str, releases: Releases, tmp_path: Path) -> None:
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    old, new = tmp_path / f"old{suffix}", tmp_path / f"new{suffix}"
    rows = [("both", "mesh:D000003"), ("hot", "mesh:D000001")]
    with old.open("wb") as file:
        write_rows(rows, {"surface": str, "meaning": str}, old.with_suffix(suffix.replace("onymc", "tsv")), file)
    assert migrate(old, *releases, new, strict=True).count_undecided() == 1
    assert [(each.surface, each.meaning) for each in read_rules(new)] == rows
    queue = tmp_path / f"new{suffix}.review.csv"
    counts = create_desk(tmp_path / "desk.sqlite", read_mapped_table(queue, "surface", releases[1]), releases[1], {})
    assert (counts.links, counts.missing) == (1, 0)
    with open_desk(tmp_path / "desk.sqlite") as desk:
        (link,) = desk.links()
    assert (link.surface, link.concept_id) == ("both", "mesh:D000005")
    assert [each.concept_id for each in link.candidates] == ["mesh:D000005", "mesh:D000006"]


def test_a_table_needs_a_column_with_ids(releases: Releases, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("code,term\n1,fever\n")
    with pytest.raises(ConfigError, match="no column of ids is known"):
        migrate(tmp_path / "a.csv", *releases, tmp_path / "b.csv")
    with pytest.raises(ConfigError, match=r"the table is \.csv"):
        migrate(tmp_path / "a.csv", *releases, tmp_path / "b.xlsx", column="code")


def test_options_of_another_kind_are_refused(releases: Releases, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("concept_id\nD000001\n")
    with pytest.raises(ConfigError, match="--documents does not apply"):
        migrate(tmp_path / "a.csv", *releases, tmp_path / "b.csv", documents=tmp_path)


@pytest.fixture
def batch(releases: Releases, tmp_path: Path) -> Path:
    build_pipeline(releases[0].folder.parent, tmp_path / "pipeline")
    (tmp_path / "notes").mkdir()
    for number, text in enumerate(["High temperature and fever.", "Vapours and two things.", "Fever."]):
        (tmp_path / "notes" / f"{number}.txt").write_text(text)
    plan_batch([tmp_path / "notes"], tmp_path / "pipeline", tmp_path / "linked")
    run_batch(tmp_path / "linked", workers=1)
    return tmp_path / "linked"


def test_a_batch_is_migrated_shard_by_shard(batch: Path, releases: Releases, tmp_path: Path) -> None:
    out = tmp_path / "migrated"
    result = migrate(batch, *releases, out, strict=True)
    assert dict(result.links) == {"kept": 2, "moved": 1, "suggested": 1, "dead": 1}
    assert (result.documents, result.changed) == (3, 1)
    assert status(out).is_done
    assert verify(out) == []
    rows = pl.read_parquet(out / "shards" / "000000.parquet").filter(pl.col("row") == "mention")
    assert rows["concept_id"].to_list() == ["mesh:D000009", "mesh:D000001", "mesh:D000004", "mesh:D000003", "mesh:D000001"]
    assert rows["preferred_name"].to_list()[0] == "Pyrexia"
    assert rows["candidates"].to_list()[0][0]["concept_id"] == "mesh:D000009"
    assert len(read_predictions(tmp_path / "migrated.review.jsonl").mentions) == 2


def test_an_interrupted_migration_resumes(batch: Path, releases: Releases, tmp_path: Path) -> None:
    out = tmp_path / "migrated"
    first = migrate(batch, *releases, out)
    shard = out / "shards" / "000000.parquet"
    content, before = shard.read_bytes(), shard.stat().st_mtime_ns
    assert migrate(batch, *releases, out).counts() == first.counts()
    assert shard.stat().st_mtime_ns == before
    shard.unlink()
    migrate(batch, *releases, out)
    assert shard.read_bytes() == content


def test_a_batch_has_its_own_audit_table(batch: Path, releases: Releases, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the audit table of a batch is in its output"):
        migrate(batch, *releases, tmp_path / "migrated", audit=tmp_path / "audit.tsv")


def test_what_a_private_batch_becomes_is_private(releases: Releases, tmp_path: Path) -> None:
    build_pipeline(releases[0].folder.parent, tmp_path / "pipeline")
    (tmp_path / "1.txt").write_text("Vapours.")
    plan_batch([tmp_path / "1.txt"], tmp_path / "pipeline", tmp_path / "linked", private=True)
    run_batch(tmp_path / "linked", workers=1)
    migrate(tmp_path / "linked", *releases, tmp_path / "migrated", strict=True)
    written = [*(tmp_path / "migrated").rglob("*.parquet"), tmp_path / "migrated.review.jsonl"]
    assert [path.stat().st_mode & 0o777 for path in written] == [0o600] * 3


def test_a_batch_of_an_earlier_version_is_refused(batch: Path, releases: Releases, tmp_path: Path) -> None:
    rewrite_as_version_1(batch / "shards" / "000000.parquet")
    with pytest.raises(InputError, match="batch-old-rows"):
        migrate(batch, *releases, tmp_path / "migrated")


def test_ids_with_several_successors_are_linked_again_in_context(releases: Releases, tmp_path: Path) -> None:
    (tmp_path / "old.pubtator").write_text(
        "1|t|First thing, two things\n1|a|\n1\t0\t11\tFirst thing\tDisease\tMESH:D000003\n"
        "1\t13\t23\ttwo things\tDisease\tMESH:D000003\n"
    )
    result = migrate(
        tmp_path / "old.pubtator", *releases, tmp_path / "new.pubtator", pipeline=Pipeline(ExactLinker(releases[1]))
    )
    assert dict(result.links) == {"relinked": 1, "suggested": 1}
    mentions = next(documents_of(read_corpus(tmp_path / "new.pubtator"))).mentions
    assert [mention.concept_ids for mention in mentions] == [("mesh:D000005",), ("mesh:D000003",)]
    first, second = rows_of(tmp_path / "new.pubtator.audit.tsv")
    assert (first["new"], first["suggested"]) == ("MESH:D000005", "MESH:D000006")
    assert first["why"].endswith("chosen in context")
    assert second["new"] == ""


def test_predictions_are_linked_again_with_their_documents(releases: Releases, tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("Second thing")
    predictions_at(tmp_path / "old.jsonl", [Prediction("1", 0, 12, answer("mesh:D000003"), "1.txt", 1)], releases[0].digest)
    pipeline = Pipeline(ExactLinker(releases[1]))
    migrate(tmp_path / "old.jsonl", *releases, tmp_path / "new.jsonl", pipeline=pipeline, documents=tmp_path / "1.txt")
    (one,) = read_predictions(tmp_path / "new.jsonl")
    assert one.answers[0][0] == ("mesh:D000006",)


def test_other_documents_than_the_predicted_ones_are_refused(releases: Releases, tmp_path: Path) -> None:
    (tmp_path / "2.txt").write_text("Second thing")
    predictions_at(tmp_path / "old.jsonl", [Prediction("1", 0, 12, answer("mesh:D000003"), "1.txt", 1)], releases[0].digest)
    pipeline = Pipeline(ExactLinker(releases[1]))
    with pytest.raises(InputError, match="predictions-other"):
        migrate(tmp_path / "old.jsonl", *releases, tmp_path / "new.jsonl", pipeline=pipeline, documents=tmp_path / "2.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.txt", "old.jsonl"]


def test_the_pipeline_must_have_the_new_release(releases: Releases, tmp_path: Path) -> None:
    (tmp_path / "a.pubtator").write_text("1|t|Fever\n1|a|\n")
    with pytest.raises(ConfigError, match="another knowledge base"):
        migrate(tmp_path / "a.pubtator", *releases, tmp_path / "b", pipeline=Pipeline(ExactLinker(releases[0])))


def test_linked_documents_move_with_their_candidates(releases: Releases, tmp_path: Path) -> None:
    line = {
        "id": "1", "text": "Heat", "mentions": [{"start": 0, "end": 4, "surface": "Heat", "concept_ids": ["mesh:D000002"]}],
        "schema": "linked-document/2",
        "links": [{"candidates": [{"concept_id": "mesh:D000002", "name": "heat", "score": 1.0}], "stage": "exact"}],
    }  # fmt: skip
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n")
    migrate(tmp_path / "a.jsonl", *releases, tmp_path / "b.jsonl")
    new = json.loads((tmp_path / "b.jsonl").read_text())
    assert new["links"] == [{"candidates": [{"concept_id": "mesh:D000009", "name": "heat", "score": 1.0}], "stage": "exact"}]
    assert new["mentions"][0]["concept_ids"] == ["mesh:D000009"]


def test_every_kind_says_which_options_it_takes() -> None:
    assert all({"format", "column", "pipeline", "documents"} >= kind.OPTIONS for kind in KINDS)
