"""Where the command line meets the world: how every end of a run becomes a message and an exit status.

0 done · 1 a bug · 2 a wrong call · 3 bad input · 4 a damaged artefact · 5 something left out · 6 a limit ·
128 + n stopped by signal n: 129 hang-up, 130 interrupt, 141 nobody reads the output, 143 termination

It imports little: what is heavy is imported when signals and streams are in order.
"""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from typing import Any

from onym.errors import ConfigError, is_failure, to_onym_error

_STOPS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)]
_SIGNALLED, _NOBODY_READS, _INTERRUPTED = 128, 141, 130
_COLLECT_AFTER = (
    50_000  # new objects; imports make many that stay, and by default they are searched for garbage again and again
)
_GRACE_S = 2.0  # in which a run removes what it was writing, undisturbed by further signals


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_COLLECT_AFTER)
    words = sys.argv[1:]
    options = set(words[: words.index("--")] if "--" in words else words)
    with _streams(), _stoppable():
        status = _run(words, options)
        status = _flush_stdout(status, options)
    sys.exit(status)


def _run(words: list[str], options: set[str]) -> int:
    """Run a command and return its exit status; whatever it raises is told."""
    stdout, stderr = sys.stdout, sys.stderr
    try:
        from onym.cli.app import app

        app([word for word in words if word != "--debug"], "onym")
    except SystemExit as e:
        if isinstance(e.__context__, BrokenPipeError):  # typer and rich make the status of a bug of it
            return _NOBODY_READS
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return _NOBODY_READS
    except BaseException as e:
        if not is_failure(e):
            raise
        return _report_error(e, options)
    finally:
        sys.stdout, sys.stderr = stdout, stderr  # typer puts others there when nobody reads them
    return 0


def _report_error(error: BaseException, options: set[str]) -> int:
    """Print an error for people or machines, and return its exit status. Where stderr cannot be written, the status is all."""
    ours = to_onym_error(error, caught_in=__file__)
    if "--debug" in options:
        import traceback

        traceback.print_exception(error)
    text = json.dumps({"error": ours.as_dict()}) if "--json" in options else str(ours)
    with suppress(Exception, SystemExit):
        _print(text)
    return ours.exit_status


def _print(text: str) -> None:
    try:
        from onym.cli.console import stderr
    except Exception:  # a machine with so little left that rich cannot be imported
        sys.stderr.write(f"{text}\n")
    else:
        stderr().print(text, style="" if text.startswith("{") else "red", markup=False, highlight=False, soft_wrap=True)


def _flush_stdout(status: int, options: set[str]) -> int:
    """Write what is left for stdout; the interpreter would do it too, and fail with a message of its own."""
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        _discard_stdout()
        return _NOBODY_READS
    except OSError as e:
        _discard_stdout()
        failed = ConfigError("output-failed", f"standard output cannot be written: {e.strerror}", fix="free space there")
        return status or _report_error(failed, options)


def _discard_stdout() -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _streams() -> Iterator[None]:
    """Put the standard streams in order: no file takes the number of a closed one, and every letter can be written."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it has the lowest number that is free
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    yield


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let signals end the run as an exit, which removes what was being written. What is ignored stays so: nohup wants that."""
    before: dict[Any, Any] = {}
    if current_thread() is main_thread():
        heard = [number for number in _STOPS if signal.getsignal(number) is not signal.SIG_IGN]
        stop = _Stop()
        before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Stop:
    """What a signal does."""

    def __init__(self) -> None:
        self._at = -_GRACE_S

    def __call__(self, number: int, _frame: object) -> None:
        if time.monotonic() - self._at > _GRACE_S:
            self._at = time.monotonic()
            raise SystemExit(_SIGNALLED + number)
