"""Create a fresh virtual environment with only the wheel of this project and its dependencies."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Fresh:
    """An environment's folder and its installed wheel. Commands run in an empty folder next to the environment."""

    folder: Path
    wheel: Path

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command with the environment's programs first on PATH, and its own cache directory."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ONYM_"))}
        path = f"{self.folder / 'venv/bin'}{os.pathsep}{kept.get('PATH', '')}"
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        environment = {**kept, "PATH": path, "ONYM_CACHE": str(self.folder / "cache")}
        return subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)

    def cpu_seconds(self, command: Sequence[str]) -> float:
        """Return the CPU seconds of a command; exit if it fails."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.run(command)
        if done.returncode:
            sys.exit(f"{command[0]} failed: {done.stderr[-500:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def fresh_environment() -> Iterator[Fresh]:
    """Build the wheel, and yield an environment with it installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        pip = [str(folder / "venv/bin/python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        root = str(Path(__file__).parents[1])
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", name, root], check=True, stderr=subprocess.DEVNULL)
        (wheel,) = folder.glob("*.whl")
        subprocess.run([*pip, "install", str(wheel)], check=True, stderr=subprocess.DEVNULL)
        yield Fresh(folder, wheel)
