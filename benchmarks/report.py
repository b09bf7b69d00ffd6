"""What stands beside every figure: the machine and the versions. And where the real data is."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

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
    """Return the folder of real data: `ONYM_DATA`, else `../shared/data` beside the project."""
    folder = Path(os.environ.get("ONYM_DATA") or Path(__file__).parents[1] / ".." / "shared" / "data").resolve()
    if not folder.is_dir():
        sys.exit(f"this benchmark needs the real data: set ONYM_DATA (looked in {folder})")
    return folder


def machine() -> dict[str, object]:
    return {"cpu": _cpu(), "cores": os.cpu_count(), "memory_gb": _memory_gb(), "system": platform.platform(terse=True)}


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {package: version(package) for package in _PACKAGES if _is_there(package)}


def _is_there(package: str) -> bool:
    return bool(find_spec(_MODULES.get(package, package)))


def own_bytes(kind: str, process: int | str = "self") -> int:
    """Return what Linux says of a process's memory: `VmRSS` is what it holds now, `VmHWM` the most that it held."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{kind}:"))


def percent(part: int, whole: int) -> float:
    """Return a share in percent, to one decimal."""
    return round(100 * part / whole, 1) if whole else 0.0


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory_gb() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
