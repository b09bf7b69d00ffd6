"""The command line as a person uses it: in this process, where that is quicker, or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from onym.cli.app import main


def onym(*words: str, cwd: Path, status: int = 0, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `onym` with these words, and require that it ends with this status."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["onym", *words]
    contexts = (chdir(cwd), patch.object(sys, "argv", argv), patch.dict(os.environ, env or {}))
    with ExitStack() as stack:
        for each in (*contexts, redirect_stdout(out), redirect_stderr(err)):
            stack.enter_context(each)
        try:
            main()
            code = 0
        except SystemExit as e:
            code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    done = subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())
    assert done.returncode == status, done.stdout + done.stderr
    return done


def onym_process(*words: str, cwd: Path, status: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the same in a process of its own; `more` is for `subprocess.run`."""
    command = [sys.executable, "-m", "onym", *words]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == status, done.stdout + done.stderr
    result: subprocess.CompletedProcess[str] = done
    return result
