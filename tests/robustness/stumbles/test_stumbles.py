"""The rows of the `stumbles` suite are found, and each has a name of its own and a command."""

from __future__ import annotations

from tests.robustness.stumbles.stumbles import find_rows


def test_rows_have_names_of_their_own_and_commands() -> None:
    rows = find_rows()
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.command for row in rows)
