"""Helper for tests that read arbitrary bytes."""

from __future__ import annotations

from collections.abc import Callable

from onym.errors import OnymError


def answer(read: Callable[[], object]) -> str:
    """Return code, message and location of the OnymError that `read` raises, or "" if none. Other exceptions propagate."""
    try:
        read()
    except OnymError as e:
        return f"[{e.code}] {e.what} {e.where}"
    return ""
