"""Running `onym`: in this process, or in one of its own on another copy of the source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner


def run_onym(*arguments: str) -> str:
    """Run a command in this process and return what it printed."""
    from onym.cli.app import app

    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(f"onym {' '.join(arguments)} ended with {done.exit_code}: {done.output}")
    return done.stdout


def run_copy(src: Path, *arguments: str) -> str:
    """Run a command of the package below `src` in a process of its own, and return what it printed."""
    paths = [str(src), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "onym", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"onym {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout
