"""A run in a process of its own, and what its workers used."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from onym.batch.ledger import Ledger, status

_DRIVER = """
import json, resource, sys, time
from onym.batch.run import run_batch
began = time.monotonic()
run_batch(sys.argv[1], workers=int(sys.argv[2]))
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6, time.monotonic() - began]))
"""


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds of all workers, the most memory of one, and seconds by the clock."""

    cpu_s: float
    peak_gb: float
    wall_s: float


def measured_run(out: Path, workers: int) -> tuple[Ledger, Used]:
    """Run a plan to its end; one that does not come to its end is the end of the benchmark."""
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, str(out), str(workers)], stdout=subprocess.PIPE, text=True, check=True
    )
    ledger = status(out)
    if not ledger.is_done:
        sys.exit(f"shards were quarantined: {ledger.quarantined}")
    return ledger, Used(*json.loads(done.stdout.splitlines()[-1]))
