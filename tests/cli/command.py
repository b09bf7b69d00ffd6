"""Runs the command line in this process, which saves seconds of imports."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO
from unittest.mock import patch

from onym.cli import main


def onym(*words: str, cwd: Path, status: int = 0, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `onym` with these arguments and assert its exit status."""
    out, err = io.StringIO(), io.StringIO()
    done = subprocess.CompletedProcess(
        ["onym", *words], run_here(words, cwd, env or {}, out, err), out.getvalue(), err.getvalue()
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def onym_bytes(*words: str, cwd: Path, status: int = 0) -> bytes:
    """Run `onym` with these arguments and return the bytes that it writes to stdout."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    assert run_here(words, cwd, {}, out, io.StringIO()) == status
    out.seek(0)
    return out.buffer.read()


def run_here(words: tuple[str, ...], cwd: Path, env: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Run `onym` in this process with additional environment variables, and return its exit status."""
    contexts = (chdir(cwd), patch.object(sys, "argv", ["onym", *words]), patch.dict(os.environ, env))
    with ExitStack() as stack:
        for context in (*contexts, redirect_stdout(out), redirect_stderr(err)):
            stack.enter_context(context)
        try:
            main()
        except SystemExit as e:
            return e.code if isinstance(e.code, int) else 0 if e.code is None else 1
        return 0
