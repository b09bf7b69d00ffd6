"""Tests that a lowered limit is enforced."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from onym.errors import LimitError
from onym.store.files.source import InputFile
from onym.store.limits import DEFAULT_LIMITS, Limits


def test_limits_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULT_LIMITS.ratio = 10**9  # type: ignore[misc]


def test_lower_limit_is_enforced() -> None:
    file = InputFile.from_bytes("a.txt", b"x" * 1000, Limits(unpacked_bytes=999))
    with file.open() as stream, pytest.raises(LimitError, match="limit-unpacked"):
        stream.read()
