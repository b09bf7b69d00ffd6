"""Tests of the helper functions of the MeSH readers."""

from __future__ import annotations

from onym.kb.readers._shared import branches


def test_branches_are_distinct_and_sorted() -> None:
    assert branches(["C15.604", "C04.557.337", " C04.588 ", "", "D03"]) == ["C04", "C15", "D03"]
