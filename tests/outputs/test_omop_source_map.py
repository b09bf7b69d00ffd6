"""Tests of writing mapped terms as rows of source_to_concept_map; the rows are validated against pyomop's table."""

from __future__ import annotations

from collections import Counter

import pytest

from onym.outputs.omop import SOURCE_MAP_COLUMNS as COLUMNS
from onym.outputs.omop import UNKNOWN, OmopConcept, OmopConcepts, SourceMap, StandardConcept, short_code, source_map_rows
from onym.outputs.terms import TermMapping
from onym.types import Candidate
from tests.robustness.outputs.rules import OmopDatabase

FEVER, INFARCT = Candidate("mesh:D005334", "fever", 0.9), Candidate("mesh:D009203", "heart attack", 0.8)
CONCEPTS = OmopConcepts(
    {
        ("MeSH", "D005334"): OmopConcept(9, (StandardConcept(1, "SNOMED"), StandardConcept(2, "SNOMED"))),
        ("MeSH", "D9"): OmopConcept(8),
    }
)


def rows_of(mappings: list[TermMapping], **more: object) -> tuple[list[list[object]], Counter[str]]:
    counts: Counter[str] = Counter()
    return list(source_map_rows(mappings, SourceMap(CONCEPTS, **more), counts)), counts  # type: ignore[arg-type]


def test_the_columns_are_those_of_the_table() -> None:
    assert list(COLUMNS) == list(OmopDatabase().tables["source_to_concept_map"].columns.keys())


def test_a_row_for_each_standard_concept_and_zero_without_one() -> None:
    rows, counts = rows_of(
        [
            TermMapping(("Fever",), "Fever", (FEVER,)),
            TermMapping(("MI",), "MI", (INFARCT,)),
            TermMapping(("zzz",), "zzz", ()),
            TermMapping(("",), "", ()),
        ]
    )
    days = ["1970-01-01", "2099-12-31", None]
    assert rows == [
        ["Fever", 0, "ONYM_TERMS", "Fever", 1, "SNOMED", *days],
        ["Fever", 0, "ONYM_TERMS", "Fever", 2, "SNOMED", *days],
        ["MI", 0, "ONYM_TERMS", "MI", 0, "None", *days],
        ["zzz", 0, "ONYM_TERMS", "zzz", 0, "None", *days],
    ]
    assert counts[UNKNOWN] == 1


def test_codes_of_several_rows_are_merged() -> None:
    rows, _ = rows_of(
        [
            TermMapping(("7", "zzz"), "zzz", ()),
            TermMapping(("7", "Fever"), "Fever", (FEVER,)),
            TermMapping(("7", "Fever"), "Fever", (FEVER,)),
            TermMapping(("", "Fever"), "Fever", (FEVER,)),
        ],
        code_column=0,
        source_vocabulary="WARD",
    )
    assert [(row[0], row[2], row[3], row[4]) for row in rows] == [("7", "WARD", "zzz", 1), ("7", "WARD", "zzz", 2)]


@pytest.mark.parametrize("text", ["x" * 50, "a  b"])
def test_short_codes_are_unchanged(text: str) -> None:
    assert short_code(text) == " ".join(text.split())


def test_long_codes_are_short_and_differ() -> None:
    first, second = short_code("x" * 60 + "1"), short_code("x" * 60 + "2")
    assert len(first) == len(second) == 50
    assert first != second
    assert short_code("\x00") == "\ufffd"
