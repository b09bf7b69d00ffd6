"""Run every suite at its quick size: `python -m benchmarks NAME --quick` succeeds and stays within its bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from benchmarks.__main__ import ROOT, find_benchmarks

SUITES = [name for name, module in find_benchmarks().items() if module.startswith("tests.")]
NOT_QUICK = {
    "first-minutes",  # installs the wheel and its dependencies from the package index
    "offsets",  # its quick size is a million strings, which is too slow here; text/test_offsets.py runs fewer
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SUITES if name not in NOT_QUICK])
def test_suite_stays_within_its_bounds(name: str) -> None:
    command = [sys.executable, "-m", "benchmarks", name, "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "this benchmark needs" in done.stderr and not os.environ.get("CI"):
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1])["figures"]
