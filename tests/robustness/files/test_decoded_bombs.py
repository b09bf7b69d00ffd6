"""Tests of the suite `decoded-bombs`: its bounds, and some of its files."""

from __future__ import annotations

import pytest

from onym.corpora.formats import ORDER
from tests.robustness.files.decoded_bombs import CASES, is_bounded
from tests.robustness.files.kb_hostile import Outcome, outcomes

SOME = ("bioc_json: 100 gaps", "genbioel: starts without", "brat: spans of a whole", "jsonl: mentions of a whole")


def test_has_files_of_all_formats() -> None:
    assert len(CASES) >= 60
    assert {case.format for case in CASES} == set(ORDER)


@pytest.mark.parametrize(
    ("code", "seconds", "mb", "bounded"),
    [("limit-ratio", 1, 10, True), ("!parsed", 1, 10, True), ("!MemoryError", 1, 10, False), ("!hangs", 4, 0, False),
     ("!parsed", 6, 10, False), ("limit-ratio", 1, 300, False)],
)  # fmt: skip
def test_bounds_of_time_and_memory(code: str, seconds: float, mb: float, bounded: bool) -> None:
    assert is_bounded(Outcome(CASES[0], code, seconds, mb)) is bounded


@pytest.mark.slow
def test_some_files_are_bounded() -> None:
    found = outcomes([case for case in CASES if case.name.startswith(SOME)])
    assert len(found) == len(SOME)
    assert all(outcome.mb < 256 and not outcome.code.startswith(("!hangs", "!dies", "!Mem")) for outcome in found)
