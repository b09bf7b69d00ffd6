"""Workers seen from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Self

from benchmarks.faults.shim import compiled, environment

_AT_ONCE = 2


class Outcome(NamedTuple):
    """How a run ended: its exit status, what it said, and what its output is then."""

    status: int
    message: str
    state: str


class Worker:
    """A process that runs a command of `commands.py` with faults."""

    def __init__(self, folder: Path, name: str, library: Path) -> None:
        self.folder, self.name = folder, name
        command = [sys.executable, "-m", "benchmarks.faults.worker", str(folder), name]
        environ = environment(library, folder / "work" / "cache")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)
        if self._answer() != "ready":
            raise RuntimeError(f"the command {name} does not start")

    def run(self, call: int, error: int = 0, *, is_lasting: bool = False, source: str = "base") -> Outcome:
        """Run it with a fault, from what a folder holds."""
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps([call, error, is_lasting, source]) + "\n")
            self._process.stdin.flush()
        return Outcome(*self._answer())

    def _answer(self) -> Any:
        line = self._process.stdout.readline() if self._process.stdout else ""
        return json.loads(line) if line else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def judged(names: Sequence[str], judge: Callable[[Worker], Counter[str]]) -> Counter[str]:
    """Add up what is found about commands, each by a worker of its own, some at once."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as pool:
        base = Path(folder).resolve()
        library = compiled(base)

        def judge_one(name: str) -> Counter[str]:
            with Worker(base / name, name, library) as worker:
                return judge(worker)

        return sum(pool.map(judge_one, names), Counter())
