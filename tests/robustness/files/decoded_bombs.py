"""Read decompression bombs of every format, and check that each is read or rejected in bounded memory and time.

files     number of files: shared values, pages and archives that decompress endlessly, empty rows, millions of values, long
          texts, and documents that could take quadratic time to read
worst_mb  largest peak memory growth of an idle process by one file, in megabytes
worst_s   longest time for one file, in seconds; timed three times if it took more than half a second
doors     runs of commands that read Parquet, workbooks or desks, each on such a file; with --quick, every fifth
door_mb   largest peak memory of a process that ran one, in megabytes
"""

from __future__ import annotations

import argparse
import sys

from tests.robustness.attacks.rows import Outcome as Visited
from tests.robustness.files import bombs, parquet_bombs
from tests.robustness.files.case import Case
from tests.robustness.files.doors import VISITS, visit_all
from tests.robustness.files.kb_hostile import Outcome, add_options, outcomes

__all__ = ["add_options"]

MAX_MB, MAX_S = 256, 5
MAX_PROCESS_MB = 600
CASES: tuple[Case, ...] = (*parquet_bombs.CASES, *bombs.CASES)


def run(options: argparse.Namespace) -> dict[str, object]:
    cases = [case for case in CASES if getattr(options, "only", "") in case.name][:: 3 if options.quick else 1]
    if not cases:
        return _visit_doors(options)
    found = outcomes(cases, verbose=getattr(options, "verbose", False))
    figures = {
        "files": len(found),
        "worst_mb": round(max(outcome.mb for outcome in found), 1),
        "worst_s": round(max(outcome.seconds for outcome in found), 2),
    }
    broken = [outcome.case.name for outcome in found if not is_bounded(outcome)]
    if broken:
        sys.exit(f"{figures}; neither rejected nor read within bounds: {', '.join(broken)}")
    return {**figures, **_visit_doors(options)}


def _visit_doors(options: argparse.Namespace) -> dict[str, object]:
    visits = [each for each in VISITS if getattr(options, "only", "") in each.name][:: 5 if options.quick else 1]
    found = visit_all(visits)
    for visit, outcome in found if getattr(options, "verbose", False) else ():
        print(f"{outcome.mb:7.1f} MB, status {outcome.status}  {visit.name}", file=sys.stderr)
    figures: dict[str, object] = {"doors": len(found), "door_mb": round(max(outcome.mb for _, outcome in found), 1)}
    broken = [visit.name for visit, outcome in found if not is_harmless(outcome)]
    if broken:
        sys.exit(f"{figures}; more than {MAX_PROCESS_MB} MB, or no code: {', '.join(broken)}")
    return figures


def is_harmless(outcome: Visited) -> bool:
    """Return whether a command took bounded memory, and succeeded or failed with a code."""
    return outcome.mb <= MAX_PROCESS_MB and outcome.is_told


def is_bounded(outcome: Outcome) -> bool:
    """Return whether a file was read or rejected with a code, in bounded memory and time."""
    is_answered = outcome.is_refused or outcome.code == "!parsed"
    return is_answered and outcome.mb <= MAX_MB and outcome.seconds <= MAX_S
