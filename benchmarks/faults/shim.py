"""The library between a process and its file system: compiled here, loaded before a process starts, steered from within it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).with_name("shim.c")
LIST, NOTHING = -1, 0  # instead of the number of a call that fails


def compiled(folder: Path) -> Path:
    """Compile the library into a folder."""
    library = folder / "shim.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("this benchmark needs gcc")
    return library


def environment(library: Path, cache: Path) -> dict[str, str]:
    """Return the environment of a process that has the library."""
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    own = {"LD_PRELOAD": str(library), "ONYM_CACHE": str(cache), "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    return {**os.environ, **own, "TOKENIZERS_PARALLELISM": "false", "COLUMNS": "200"}


def arm(folder: Path, at: int, error: int, *, is_lasting: bool = False, record: int = -1) -> None:
    """From now on count the calls on files below `folder`, and let one of them fail; an error of 0 is a short write.

    `record` is a file that is open: with `LIST`, each call is written to it, with `NOTHING` each that changes a file.
    """
    library = ctypes.CDLL(None)
    numbers = [ctypes.c_long(value) for value in (at, error, is_lasting, record)]
    library.shim_arm(os.fsencode(folder), *numbers)


def disarm() -> int:
    """Stop; return how many calls there were."""
    return int(ctypes.CDLL(None).shim_disarm())
