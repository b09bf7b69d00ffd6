"""Read decompression bombs of every format, and check that each is read or rejected in bounded memory and time.

files     number of files: shared values, pages and archives that decompress endlessly, empty rows, millions of values, long
          texts, and documents that could take quadratic time to read
worst_mb  largest peak memory growth of an idle process by one file, in megabytes
worst_s   longest time for one file, in seconds; timed three times if it took more than half a second
"""

from __future__ import annotations

import argparse
import sys

from tests.robustness.files import bombs, parquet_bombs
from tests.robustness.files.case import Case
from tests.robustness.files.kb_hostile import Outcome, add_options, outcomes

__all__ = ["add_options"]

MAX_MB, MAX_S = 256, 5
CASES: tuple[Case, ...] = (*parquet_bombs.CASES, *bombs.CASES)


def run(options: argparse.Namespace) -> dict[str, object]:
    cases = [case for case in CASES if getattr(options, "only", "") in case.name][:: 3 if options.quick else 1]
    found = outcomes(cases, verbose=getattr(options, "verbose", False))
    figures = {
        "files": len(found),
        "worst_mb": round(max(outcome.mb for outcome in found), 1),
        "worst_s": round(max(outcome.seconds for outcome in found), 2),
    }
    broken = [outcome.case.name for outcome in found if not is_bounded(outcome)]
    if broken:
        sys.exit(f"{figures}; neither rejected nor read within bounds: {', '.join(broken)}")
    return {**figures}


def is_bounded(outcome: Outcome) -> bool:
    """Return whether a file was read or rejected with a code, in bounded memory and time."""
    is_answered = outcome.is_refused or outcome.code == "!parsed"
    return is_answered and outcome.mb <= MAX_MB and outcome.seconds <= MAX_S
