"""The two ways to verify are those that the command line offers."""

from __future__ import annotations

from typing import get_args

from onym.store.cache import Verify


def test_once_is_the_first() -> None:
    assert get_args(Verify) == ("once", "full")
