"""One command in one set of surroundings: a process of the installed `onym`, and how it ended."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ONYM = str(Path(sys.executable).with_name("onym"))
DOCUMENTED = frozenset({0, 2, 3, 4, 5, 6, 129, 130, 141, 143})
"""The exit statuses of docs/reference/cli.md, but 1: that is a bug."""
_AS_UNKNOWN = (
    *("setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),  # Python itself may lie in another one's home
)
_SIGNS = (b"Traceback", b"panicked at", b"Exception ignored", b"Fatal Python error")
_PATIENCE_S = 600  # other work may slow the machine down; a command that waits for ever is found all the same


@dataclass(frozen=True)
class Case:
    """A command, and where it runs. `before` and `streams` are words of a shell, before the command and behind it."""

    name: str
    words: tuple[str | bytes, ...]
    env: Mapping[str, str | None] = field(default_factory=dict)
    before: str = ""
    streams: str = ""
    columns: int = 0  # of a terminal, where there is one
    is_unknown_user: bool = False
    stop: signal.Signals | None = None  # sent when the output is being written
    statuses: frozenset[int] = DOCUMENTED
    check: Callable[[Path], bool] = lambda _: True  # of the folder, behind the run
    is_quick: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a case ended."""

    case: Case
    status: int
    output: bytes
    is_right: bool

    @property
    def is_traceback(self) -> bool:
        """Whether a person would see a trace, an undocumented exit status, or damage."""
        return any(sign in self.output for sign in _SIGNS) or self.status not in self.case.statuses or not self.is_right


def run(case: Case, folder: Path) -> Outcome:
    """Run a case in its own folder."""
    start = f'"$@" {case.streams}' if "|" in case.streams else f'exec "$@" {case.streams}'
    unknown = _AS_UNKNOWN if case.is_unknown_user else ()
    command = ["bash", "-c", f"{case.before}\n{start}", "bash", *unknown, ONYM, *case.words]
    env = {name: value for name, value in {**os.environ, **case.env}.items() if value is not None}
    status, output = (_on_terminal if case.columns else _in_pipes)(case, command, {"cwd": folder, "env": env})
    return Outcome(case, status, output, case.check(folder))


def can_be_unknown() -> bool:
    """Tell whether a process can run as a user that the system does not know."""
    try:
        return not subprocess.run([*_AS_UNKNOWN, sys.executable, "-c", ""], check=False, capture_output=True).returncode
    except OSError:
        return False


def _in_pipes(case: Case, command: list[str | bytes], more: dict[str, object]) -> tuple[int, bytes]:
    stdin = subprocess.PIPE if case.stop else subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)  # type: ignore[call-overload]
    if case.stop:
        _wait_for_hidden(Path(str(more["cwd"])))
        process.send_signal(case.stop)
    return _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    try:
        output, _ = process.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return -1, output
    return process.returncode, output


def _wait_for_hidden(folder: Path) -> None:
    for _ in range(_PATIENCE_S * 50):
        if list(folder.glob(".*.onym-new")):
            return
        time.sleep(0.02)


def _on_terminal(case: Case, command: list[str | bytes], more: dict[str, object]) -> tuple[int, bytes]:
    """Run on a terminal of so many columns; what stands on it is not read word by word, so lines are joined."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, case.columns, 0, 0))
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, **more)  # type: ignore[call-overload]
    os.close(theirs)
    output = b""
    try:
        while data := os.read(ours, 65536):
            output += data
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    process.wait(_PATIENCE_S)
    return process.returncode, output.replace(b"\r", b"").replace(b"\n", b"")
