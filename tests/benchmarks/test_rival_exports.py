"""Tests of the knowledge base in the formats of other tools."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.rivals.exports import (
    Writer,
    write_gilda,
    write_medcat,
    write_mrconso,
    write_mrsty,
    write_patterns,
    write_scispacy,
)

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe

Export = Callable[[Writer, str], list[str]]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """Build a knowledge base from a table; return the lines of its export."""

    def export(write: Writer, table: str) -> list[str]:
        (tmp_path / "kb.tsv").write_text(table)
        build_kb(Recipe.of({"sources": [{"path": "kb.tsv"}]}), tmp_path / "kb", root=tmp_path)
        file = io.BytesIO()
        write(KnowledgeBase.open(tmp_path / "kb"), file)
        return file.getvalue().decode().splitlines()

    return export


LINES: dict[Writer, str] = {
    write_scispacy: '{"concept_id": "a:1", "canonical_name": "Heart attack", "aliases": ["MI-x yté"], '
    '"types": ["T047"], "definition": null}',
    write_patterns: '{"label": "Disease", "pattern": "MI-x yté", "id": "a:1"}',
    write_gilda: "mix yte\tMI-x yté\tA\t1\tHeart attack\tsynonym\tonym",
    write_medcat: "a:1,MI-x yté,A,A,T047,",
    write_mrconso: "a:1|ENG|S||||N|||||A|SY|1|MI-x yté|0|N||",
    write_mrsty: "a:1|T047||||",
}


@pytest.mark.parametrize("write", LINES)
def test_formats_of_other_tools(export: Export, write: Writer) -> None:
    lines = export(write, "id\tname\tsynonyms\ttypes\na:1\tHeart attack\tMI-x yté\tT047\na:2\tFever\t\tC23\n")
    lines = [line.replace('""', "").rstrip("\t") for line in lines]
    assert LINES[write] in lines
    assert sum("cui," in line or "norm_text" in line for line in lines) == (write in (write_gilda, write_medcat))


def test_columns_of_rrf_files_hold_no_bars(export: Export) -> None:
    assert export(write_mrconso, "id\tname\na:1\tfever |high|\n")[0].split("|")[14].split() == ["fever", "high"]


def test_semantic_types_stand_for_groups(export: Export) -> None:
    found = export(write_mrsty, "id\tname\ttypes\na:1\tFever\tC23\na:2\tThing\t\n")
    assert found == ["a:1|T047||||", "a:1|T184||||", "a:2|T078||||"]
