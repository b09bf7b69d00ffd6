"""Tests that the rows of the `stumbles` suite are found, and that each has a unique name and a command."""

from __future__ import annotations

from tests.robustness.stumbles.stumbles import find_rows


def test_rows_have_unique_names_and_commands() -> None:
    rows = find_rows()
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.command for row in rows)
