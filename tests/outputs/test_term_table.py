"""Tests of writing mapped terms: the input table with the candidates of each row."""

from __future__ import annotations

import csv
import errno
import gc
import io
from collections import Counter
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.base import TermContext
from onym.outputs.table import write_terms
from onym.outputs.terms import TermMapping
from onym.pipeline import Pipeline
from onym.types import Candidate, IdStyle


def context(kb: Path, *columns: str, style: IdStyle = "obo") -> TermContext:
    return TermContext(Path("a.tsv"), columns, Pipeline(ExactLinker(KnowledgeBase.open(kb))), Counter(), style)


def test_appends_candidates_to_each_row(tiny_kb: Path) -> None:
    both = (Candidate("mesh:D006973", "mi", 1.0), Candidate("mesh:D009203", "mi", 1.0))
    mappings = [TermMapping(("1", "a\tb\n"), "x", both, tied=1), TermMapping(("2", ""), "", ())]
    file = io.BytesIO()
    write_terms(mappings, file, context(tiny_kb, "n", "term"))
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode()), dialect="excel-tab"))
    assert rows[0] == {
        "n": "1", "term": "a\tb\n", "concept_id": "MESH:D006973", "preferred_name": "Hypertension", "matched_name": "mi",
        "score": "1.0", "confidence": "", "ties": "1", "nil_reason": "",
        "candidates": "MESH:D006973 Hypertension (1.000); MESH:D009203 Myocardial Infarction (1.000)",
    }  # fmt: skip
    assert rows[1]["concept_id"] == rows[1]["candidates"] == ""


def test_unconfident_answer_is_empty_but_keeps_its_candidates(tiny_kb: Path) -> None:
    fever = (Candidate("mesh:D005334", "fever", 0.6),)
    mapping = TermMapping(("fevr",), "fevr", fever, confidence=0.25, nil_reason="below-precision")
    file = io.BytesIO()
    write_terms([mapping], file, context(tiny_kb, "term", style="curie"))
    row = next(csv.DictReader(io.StringIO(file.getvalue().decode()), dialect="excel-tab"))
    assert (row["concept_id"], row["score"], row["confidence"]) == ("", "", "0.25")
    assert row["candidates"] == "mesh:D005334 Fever (0.600)"


class Full(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_write_error_does_not_close_the_file(tiny_kb: Path) -> None:
    file = Full()
    with pytest.raises(OSError, match="No space left"):
        write_terms([], file, context(tiny_kb, "n"))
    gc.collect()
    assert not file.closed
