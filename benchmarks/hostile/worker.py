"""The process that opens hostile files. Before it says that it is idle it has imported everything and read honest files.

So neither code that is loaded when it is first used nor pools of threads are counted as the work of a hostile file.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import ijson  # noqa: F401
import lxml.etree  # noqa: F401
import pyarrow.csv

from benchmarks.hostile.case import act
from benchmarks.hostile.honest import honest, honest_corpora
from onym.errors import OnymError
from onym.kb import readers

_IDLE_MB = 4.0  # a process that grew by no more than this is idle again


def main(cache: str) -> None:
    """Answer each line `[path, act, format]` by the code of the error, the seconds and the growth of the peak."""
    os.environ["ONYM_CACHE"] = cache
    for name in readers.ORDER:
        __import__(f"onym.kb.readers.{name}")
    with tempfile.TemporaryDirectory() as folder:
        for path in honest(Path(folder)):
            act(path, "open" if path.is_dir() else "read", "")
        for path, form in honest_corpora(Path(folder) / "corpora"):
            act(path, "corpus", form)
    gc.collect()
    idle = memory_mb("VmRSS")
    print("idle", flush=True)
    for line in sys.stdin:
        path, what, format_name = json.loads(line)
        before = memory_mb("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        started, used = time.perf_counter(), time.process_time()
        code = _code(path, what, format_name)
        # What other processes take of a core is not counted; nor are the cores that several threads of this one take at once.
        seconds = min(time.perf_counter() - started, time.process_time() - used)
        peak = memory_mb("VmHWM")
        _give_back()
        answer = {"code": code, "seconds": seconds, "mb": peak - before, "idle": memory_mb("VmRSS") < idle + _IDLE_MB}
        print(json.dumps(answer), flush=True)


def _give_back() -> None:
    """Return memory that is no longer used to the system, so that the process can be used again."""
    gc.collect()
    pyarrow.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)


def _code(path: str, what: str, format_name: str) -> str:
    try:
        act(Path(path), what, format_name)
    except OnymError as e:
        return e.code
    except BaseException as e:
        return f"!{type(e).__name__}"
    return "!parsed"


def memory_mb(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


if __name__ == "__main__":
    main(sys.argv[1])
