"""What a reader says to bytes of any kind."""

from __future__ import annotations

from collections.abc import Callable

from onym.errors import OnymError


def answer(read: Callable[[], object]) -> str:
    """Return what the error says, except for what to do; empty where there was none. Any other exception is a failure."""
    try:
        read()
    except OnymError as e:
        return f"[{e.code}] {e.what} {e.where}"
    return ""
