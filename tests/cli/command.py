"""The command line as a person uses it, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def onym(*words: str, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run `onym` with these words, and require that it ends with this status."""
    done = subprocess.run([sys.executable, "-m", "onym", *words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done
