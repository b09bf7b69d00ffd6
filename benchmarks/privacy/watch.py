"""What a piece of work shows: its errors and problems, everything that is logged, warned, or printed."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict

from onym.errors import OnymError
from onym.types import Problem


def shown_by(act: Callable[[], object]) -> str:
    """Run something, and return all that it shows. `act` may return more text that counts as shown.

    An exception that is not Onym's shows nothing by itself: what becomes of it is the task of whoever catches it.
    """
    with _everything() as buffer:
        try:
            buffer.write(f"{act() or ''}\n")
        except OnymError as e:
            buffer.write(f"{e}\n{e!r}\n{json.dumps(e.as_dict())}\n")
        except Exception as e:
            buffer.write(f"{type(e).__name__}\n")
    return buffer.getvalue()


def described(problems: list[Problem]) -> str:
    """Return problems as they are printed and written."""
    return "\n".join(f"{problem!r} {json.dumps(asdict(problem))}" for problem in problems)


@contextmanager
def _everything() -> Iterator[io.StringIO]:
    buffer = io.StringIO()
    handler, root = logging.StreamHandler(buffer), logging.getLogger()
    own = [log for name, log in root.manager.loggerDict.items() if name.startswith("onym") and isinstance(log, logging.Logger)]
    levels = [(log, log.level) for log in (root, *own)]
    root.addHandler(handler)
    for log, _ in levels:
        log.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(buffer), redirect_stderr(buffer), warnings.catch_warnings():
            warnings.simplefilter("always")  # they are printed, to what is now stderr
            yield buffer
    finally:
        root.removeHandler(handler)
        for log, level in levels:
            log.setLevel(level)
