"""Measure the time of `import onym` in a fresh interpreter, and check that it does not import torch."""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

_CODE = "import sys, time; t = time.perf_counter(); import onym; print(time.perf_counter() - t, int('torch' in sys.modules))"


def run(options: argparse.Namespace) -> dict[str, object]:
    runs = [subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(5 if options.quick else 20)]  # fmt: skip
    return {
        "seconds": round(median(float(seconds) for seconds, _ in runs), 3),
        "torch_imported": any(t == "1" for _, t in runs),
    }
