"""Define the rows of the `attacks` suite: what a hostile file, request or user does, and a check that it does no harm.

A module of this folder whose name starts with `of_` declares rows with the decorator:

    @attack("a journal beside a desk names a file to delete")
    def journal_of_a_desk_names_a_file(place: Place) -> None:
        ...

The function raises AssertionError if the attack succeeds. Any other exception that it raises counts as a failure too.
"""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from onym.kb import KnowledgeBase
from tests.cli.command import run_here

Check = Callable[["Place"], None]
ROWS: list[Attack] = []
_LISTED = (0, 4, 5)  # exit statuses of commands that say in their own words what they skipped, or found damaged


@dataclass(frozen=True)
class Attack:
    """One attack: its name, what the attacker does, and the check. A neighbour of an attack may never have succeeded."""

    name: str
    what: str
    check: Check
    has_succeeded: bool = True
    needs_browser: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command. `mb` is the peak memory of its process, or 0 if it ran in this one."""

    status: int
    stdout: str
    stderr: str
    mb: float = 0

    @property
    def is_told(self) -> bool:
        """True if the command succeeded, listed what it skipped or found damaged, or failed with a code but internal-error."""
        is_coded = self.status in _LISTED or (self.status > 0 and "[" in self.stderr)
        return is_coded and "internal-error" not in self.stderr and "Traceback" not in self.stderr

    def require_told(self) -> Outcome:
        """Raise AssertionError unless the command succeeded, skipped items, or failed with a code other than internal-error."""
        assert self.is_told, self
        return self

    def require_refused(self, code: str = "") -> Outcome:
        """Raise AssertionError unless the command failed with this code."""
        self.require_told()
        assert self.status != 0, self
        assert f"[{code}" in self.stderr, self
        return self


@dataclass(frozen=True)
class Place:
    """An empty folder for an attack, and a small knowledge base."""

    folder: Path
    kb: KnowledgeBase

    @property
    def kb_path(self) -> Path:
        """The path of the knowledge base, as a user gives it."""
        return self.kb.folder.parent

    def onym(self, *words: object) -> Outcome:
        """Run `onym` in this process."""
        out, err = io.StringIO(), io.StringIO()
        status = run_here(tuple(map(str, words)), self.folder, {}, out, err)
        return Outcome(status, out.getvalue(), err.getvalue())

    def onym_apart(self, *words: object, seconds: float = 60) -> Outcome:
        """Run `onym` in a process of its own, which is killed after so many seconds."""
        return self._run(["-m", "onym", *map(str, words)], seconds)

    def python_apart(self, code: str, *words: object, seconds: float = 60) -> Outcome:
        """Run Python code with these arguments in a process of its own."""
        return self._run(["-c", code, *map(str, words)], seconds)

    def _run(self, words: Sequence[str], seconds: float) -> Outcome:
        texts = [self.folder / ".stdout", self.folder / ".stderr"]
        with texts[0].open("wb") as out, texts[1].open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, *words], cwd=self.folder, stdout=out, stderr=err, stdin=subprocess.DEVNULL
            )
            status, peak = _wait(process, seconds)
        stdout, stderr = (path.read_text("utf-8", "replace") for path in texts)
        return Outcome(status, stdout, stderr, peak)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, float]:
    """Return the exit status of a process and its peak memory in megabytes; kill it when the time is over.

    The memory that `wait4` reports is at least that of the process that started it.
    """
    end, peak = time.monotonic() + seconds, 0.0
    while process.poll() is None:
        with suppress(OSError):
            peak = max(peak, *map(_megabytes, Path(f"/proc/{process.pid}/status").read_text().splitlines()))
        if time.monotonic() > end:
            process.kill()
        time.sleep(0.005)
    return process.returncode, peak


def _megabytes(line: str) -> float:
    return int(line.split()[1]) / 1024 if line.startswith("VmHWM:") else 0.0


def attack(what: str, *, has_succeeded: bool = True, needs_browser: bool = False) -> Callable[[Check], Check]:
    """Register a check as a row of the suite; `what` says what the attacker does, and whether it ever worked."""

    def register(check: Check) -> Check:
        ROWS.append(Attack(check.__name__, what, check, has_succeeded, needs_browser))
        return check

    return register


def find_attacks() -> list[Attack]:
    """Return the rows of all modules of this folder whose name starts with `of_`."""
    for path in sorted(Path(__file__).parent.glob("of_*.py")):
        import_module(f"{__package__}.{path.stem}")
    return list(ROWS)
