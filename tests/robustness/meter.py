"""Measure the time and memory of an action in this process."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Meter:
    """Measures time and peak memory growth of an action in this process, and whether its memory was released afterwards.

    The process counts as idle if it has grown by at most `spare_mb`. With `is_busy_only`, `seconds` is the smaller of wall time
    and CPU time, so that neither waiting for a core nor using several threads counts.
    """

    def __init__(self, spare_mb: float, *, is_busy_only: bool, give_back: Callable[[], None] | None = None) -> None:
        self._spare_mb, self._is_busy_only, self._give_back = spare_mb, is_busy_only, give_back
        gc.collect()
        self._idle = _memory_mb("VmRSS")

    def measure(self, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Call `act` and return its result with `seconds`, `mb` and `idle` added."""
        before = _memory_mb("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak memory (VmHWM)
        started, used = time.perf_counter(), time.process_time()
        result = act()
        seconds, busy = time.perf_counter() - started, time.process_time() - used
        mb = _memory_mb("VmHWM") - before
        gc.collect()
        if self._give_back:
            self._give_back()
        is_idle = _memory_mb("VmRSS") < self._idle + self._spare_mb
        return {**result, "seconds": min(seconds, busy) if self._is_busy_only else seconds, "mb": mb, "idle": is_idle}


def _memory_mb(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6
