"""Libraries written in Rust: what they raise when they give up is no `Exception`, and would pass every `except Exception`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onym.errors import is_panic


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Turn a panic of tokenizers or safetensors into a `RuntimeError`. Its message may hold text, and is left out.

    >>> with panics_as_errors():
    ...     raise SystemExit(2)
    Traceback (most recent call last):
    SystemExit: 2
    """
    try:
        yield
    except BaseException as e:
        if is_panic(e):
            raise RuntimeError("a library has given up") from None
        raise
