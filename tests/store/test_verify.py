"""Tests that the command line offers exactly the values of the enum Verify."""

from __future__ import annotations

from typing import get_args

from onym.store.cache import Verify


def test_verify_values_match_the_command_line() -> None:
    assert get_args(Verify) == ("once", "full")
