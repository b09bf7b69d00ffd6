"""Small corpora of every format that stand for very much: whether each is refused, or read, in bounded memory and time.

files     how many there are: shared values, pages and packed files that unpack without end, empty rows, values by the million,
          long texts, and documents whose reading could take quadratic time
worst_mb  the most that one made the memory of an idle process grow, in megabytes, at the peak
worst_s   the longest time that one took, in seconds; timed three times where it took more than half a second
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
        sys.exit(f"{figures}; neither refused nor read within bounds: {', '.join(broken)}")
    return {**figures}


def is_bounded(outcome: Outcome) -> bool:
    """Tell whether a file was read or refused with a code, in bounded memory and time."""
    is_answered = outcome.is_refused or outcome.code == "!parsed"
    return is_answered and outcome.mb <= MAX_MB and outcome.seconds <= MAX_S
