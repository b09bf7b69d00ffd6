"""Tests of reading NCBI Taxonomy."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from tests.kb.readers.conftest import facts_of, names_of, rows_of
from tests.support.releases import SAMPLES

(RELEASE,) = SAMPLES["taxdump"]
DOUBTFUL = "ncbitaxon:90001"


def test_reads_names_by_their_class() -> None:
    assert names_of(rows_of(RELEASE, "taxdump")) == [
        ("ncbitaxon:1", "root", "preferred"),
        (DOUBTFUL, "Homo doubtful", "preferred"),
        (DOUBTFUL, "doubter | man", "exact"),
        (DOUBTFUL, "Homo doubtful Linnaeus, 1758", "suppressed"),
        (DOUBTFUL, '"Homo dubious"', "exact"),
        (DOUBTFUL, "HD", "abbreviation"),
        (DOUBTFUL, "primates", "broad"),
    ]


def test_reads_ranks_and_parents() -> None:
    rows = rows_of(RELEASE, "taxdump")
    assert facts_of(rows, "semantic_types") == [("ncbitaxon:1", ["no rank"]), (DOUBTFUL, ["species"])]
    assert facts_of(rows, "parents") == [(DOUBTFUL, ["ncbitaxon:1"])], "the root is not its own parent"


def test_nodes_of_newer_releases_have_more_columns() -> None:
    wide = {"names.dmp": RELEASE["names.dmp"], "nodes.dmp": RELEASE["nodes.dmp"].replace(b"\t|\n", b"\t|\t1\t|\t0\t|\n")}
    rows = [row for row in rows_of(RELEASE, "taxdump") if row.get("kind") != "retired"]
    assert rows_of(wide, "taxdump") == rows


def test_merged_and_deleted_ids_are_retired(tmp_path: Path) -> None:
    (tmp_path / "taxdump").mkdir()
    for name, content in RELEASE.items():
        (tmp_path / "taxdump" / name).write_bytes(content)
    build_kb(Recipe.of({"sources": [{"path": "taxdump"}]}), tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert [kb.concept_ids[row] for row in kb.resolve("ncbitaxon:90008")] == [DOUBTFUL]
    assert [each.kind.label for each in kb.successors("ncbitaxon:90008")] == ["merged into"]
    assert kb.resolve("ncbitaxon:90009").how == "retired"
    assert [parent.id for parent in kb.parents_of(DOUBTFUL)] == ["ncbitaxon:1"]
    assert kb.label_of(kb.concept_ids.find(DOUBTFUL)) == ("Homo doubtful", "Species")
