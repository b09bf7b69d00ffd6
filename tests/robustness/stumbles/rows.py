"""Define the rows of the `stumbles` suite: a command that once failed a user, and a check that it works now.

A module of this folder whose name starts with `of_` declares rows with the decorator:

    @stumble("onym link notes -o links.parquet")
    def output_format_follows_the_extension(scene: Scene) -> str:
        ...

The function raises AssertionError if the command still fails, and otherwise returns one line that says what happens now.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Check = Callable[["Scene"], str]
ROWS: list[Stumble] = []
_PATIENCE_S = 300.0


@dataclass(frozen=True)
class Stumble:
    """One stumble: its name, the command that failed, and the check."""

    name: str
    command: str
    check: Check


@dataclass(frozen=True)
class Result:
    """The outcome of a command."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Scene:
    """An empty folder, in which a check runs commands."""

    folder: Path

    def onym(self, *arguments: str, **environment: str) -> Result:
        """Run `onym` with these arguments in the folder; keyword arguments are environment variables."""
        done = subprocess.run(
            [sys.executable, "-m", "onym", *arguments],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "100", **environment},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def terminal(self, *arguments: str) -> str:
        """Run `onym` on a terminal of 100 columns, and return what a person sees."""
        main, other = pty.openpty()
        environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb"}
        command = [sys.executable, "-m", "onym", *arguments]
        with subprocess.Popen(command, cwd=self.folder, env=environment, stdout=other, stderr=other) as process:
            os.close(other)
            shown = b""
            with suppress(OSError):  # the terminal is closed when the process ends
                while part := os.read(main, 65_536):
                    shown += part
            process.wait(_PATIENCE_S)
        os.close(main)
        return "\n".join(line for line in shown.decode().replace("\r\n", "\n").split("\n") if line.strip())


def stumble(command: str) -> Callable[[Check], Check]:
    """Register a check as a row of the suite; `command` is what the user typed."""

    def register(check: Check) -> Check:
        ROWS.append(Stumble(check.__name__, command, check))
        return check

    return register
