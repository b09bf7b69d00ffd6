"""Entry point of the command line: maps every exception and signal to a message and an exit status.

0 success · 1 bug · 2 usage error · 3 invalid input · 4 corrupt artefact · 5 items skipped · 6 limit exceeded ·
128 + n stopped by signal n: 129 SIGHUP, 130 SIGINT, 141 SIGPIPE, 143 SIGTERM

Heavy modules are imported only after signal handlers and streams are set up.
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
_COLLECT_AFTER = 50_000  # new objects per garbage collection; the default is too low for imports
_GRACE_S = 2.0  # seconds after a signal during which further signals are ignored, to remove temp files


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
    """Run a command, report any exception, and return the exit status."""
    stdout, stderr = sys.stdout, sys.stderr
    try:
        _require_arguments(words)
        from onym.cli.app import app

        app([word for word in words if word != "--debug"], "onym")
    except SystemExit as e:
        if isinstance(e.__context__, BrokenPipeError):  # which typer and rich turn into exit status 1
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
        sys.stdout, sys.stderr = stdout, stderr  # typer replaces them after a broken pipe
    return 0


def _require_arguments(words: list[str]) -> None:
    """Raise ConfigError if an argument or the value of an option is empty: an unset variable of the shell leaves `""`.

    An empty path would be the current folder, and all its files would be read.
    """
    for number, word in enumerate(words, 1):
        value = word.partition("=")[2] if word.startswith("--") and "=" in word else word
        if not value.strip():
            what = f"argument {number} of the command is empty"
            fix = "check the variables of your shell; the current folder is ."
            raise ConfigError("argument-empty", what, fix=fix)


def _report_error(error: BaseException, options: set[str]) -> int:
    """Print an error as text or JSON, and return its exit status; failures to print are ignored."""
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
    except Exception:  # rich cannot be imported, for example because memory is exhausted
        sys.stderr.write(f"{text}\n")
    else:
        stderr().print(text, style="" if text.startswith("{") else "red", markup=False, highlight=False, soft_wrap=True)


def _flush_stdout(status: int, options: set[str]) -> int:
    """Flush stdout here, because a failure at interpreter exit would print a message that we cannot control."""
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        _discard_stdout()
        return _NOBODY_READS
    except OSError as e:
        _discard_stdout()
        failed = ConfigError(
            "output-failed",
            f"standard output cannot be written: {e.strerror}",
            fix="free disk space, or write elsewhere with -o",
        )
        return status or _report_error(failed, options)


def _discard_stdout() -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _streams() -> Iterator[None]:
    """Reopen closed standard streams on the null device, and escape characters that a stream cannot encode."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, i.e. `number`
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    yield


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn stop signals into SystemExit, so that temp files are removed. A signal that nohup ignores stays ignored."""
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
    """Signal handler that raises SystemExit, at most once per grace period."""

    def __init__(self) -> None:
        self._at = -_GRACE_S

    def __call__(self, number: int, _frame: object) -> None:
        if time.monotonic() - self._at > _GRACE_S:
            self._at = time.monotonic()
            raise SystemExit(_SIGNALLED + number)
