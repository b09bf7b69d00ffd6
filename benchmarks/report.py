"""Helpers of benchmarks: describe the machine and versions, locate the data, and time functions."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from onym.datasets import PreparedDataset, prepare

_PACKAGES = (
    *("onym", "numpy", "polars", "pyarrow", "lxml", "ijson", "scikit-learn", "torch", "transformers"),
    *("faiss-cpu", "pytorch-metric-learning", "sentence-transformers"),
)
_MODULES = {
    "scikit-learn": "sklearn",
    "faiss-cpu": "faiss",
    "pytorch-metric-learning": "pytorch_metric_learning",
    "sentence-transformers": "sentence_transformers",
}


def data_folder() -> Path:
    """Return the data folder: `ONYM_DATA`, or `../shared/data` next to the project."""
    folder = Path(os.environ.get("ONYM_DATA") or Path(__file__).parents[1] / ".." / "shared" / "data").resolve()
    if not folder.is_dir():
        sys.exit(f"this benchmark needs the data files: set ONYM_DATA to their folder (not found: {folder})")
    return folder


def machine() -> dict[str, object]:
    return {"cpu": _cpu(), "cores": os.cpu_count(), "memory_gb": _memory_gb(), "system": platform.platform(terse=True)}


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {package: version(package) for package in _PACKAGES if _is_there(package)}


def _is_there(package: str) -> bool:
    return bool(find_spec(_MODULES.get(package, package)))


def own_bytes(kind: str, process: int | str = "self") -> int:
    """Return the memory of a process as Linux reports it: `VmRSS` is the current, `VmHWM` the peak resident size."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{kind}:"))


def percent(part: int, whole: int) -> float:
    """Return a percentage to one decimal."""
    return round(100 * part / whole, 1) if whole else 0.0


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory_gb() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


# Published corpora, prepared for one benchmark and deleted afterwards.


def iter_prepared(names: Mapping[str, str]) -> Iterator[tuple[str, PreparedDataset]]:
    """Yield each key with its dataset, freshly prepared from the data files."""
    with tempfile.TemporaryDirectory() as folder:
        for key, name in names.items():
            yield key, prepare(name, data_folder(), Path(folder) / name)


# Functions that measure the CPU time of several functions, to compare them.

T = TypeVar("T")
_TURNS = 3


def fastest(readings: Mapping[str, Callable[[], object]], turns: int = _TURNS) -> dict[str, float]:
    """Return the minimum CPU seconds of each function; they run in turns, so that other load affects all equally."""
    found: dict[str, list[float]] = {name: [] for name in readings}
    for _ in range(turns):
        for name, read in readings.items():
            started = time.process_time()
            read()
            found[name].append(time.process_time() - started)
    return {name: min(each) for name, each in found.items()}


def fastest_by_slices(
    acts: Mapping[str, Callable[[Sequence[T]], object]], values: Sequence[T], size: int, turns: int = _TURNS
) -> dict[str, float]:
    """Time slices of `values` separately with `fastest`, and return the sums.

    If the machine's speed varies, these are more stable than a single time for all values.
    """
    total: Counter[str] = Counter()
    for start in range(0, len(values), size):
        part = values[start : start + size]
        total.update(fastest({name: partial(act, part) for name, act in acts.items()}, turns))
    return {name: float(total[name]) for name in acts}
