"""Hostile files, opened as a user would: how many are refused, how long that takes, and how much memory.

files     how many there are: bombs, entities, links, lies, broken encodings, forged knowledge bases
refused   how many were answered by an error with a code; parsed, any other exception, a hang and a crash do not count
worst_s   the longest time that one took, in seconds; one that took more than half a second is timed three times, since
          others may use the machine, and its shortest time counts
worst_mb  the most that one made the memory of an idle process grow, in megabytes, at the peak
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hostile import CASES
from benchmarks.hostile.case import Case
from benchmarks.hostile.process import Worker

_PATIENCE_S = 10.0
_SOON_S = 0.5


@dataclass(frozen=True)
class Outcome:
    """What became of one file."""

    case: Case
    code: str
    seconds: float
    mb: float

    def merged(self, other: Outcome) -> Outcome:
        """Return both as one: as refused only if both were, the shorter time, the larger growth."""
        worse = other if self.refused else self
        return Outcome(self.case, worse.code, min(self.seconds, other.seconds), max(self.mb, other.mb))

    @property
    def refused(self) -> bool:
        """Whether an error with a code was the answer."""
        return bool(self.code) and not self.code.startswith("!")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="tell about each file on stderr")
    parser.add_argument("--only", default="", help="only the files whose name holds this")


def run(options: argparse.Namespace) -> dict[str, object]:
    """Open every file; with `--quick` every third."""
    cases = [case for case in CASES if getattr(options, "only", "") in case.name][:: 3 if options.quick else 1]
    found = outcomes(cases, verbose=getattr(options, "verbose", False))
    return {
        "files": len(found),
        "refused": sum(outcome.refused for outcome in found),
        "worst_s": round(max(outcome.seconds for outcome in found), 2),
        "worst_mb": round(max(outcome.mb for outcome in found), 1),
    }


def outcomes(cases: list[Case], *, verbose: bool = False) -> list[Outcome]:
    """Have every file opened by an idle process."""
    found, workers = [], _Workers()
    try:
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                path = case.make(Path(folder))
                outcome = workers.outcome(case, path)
                for _ in range(2 if outcome.seconds > _SOON_S else 0):
                    outcome = outcome.merged(workers.outcome(case, path))
            found.append(outcome)
            if verbose:
                mark = "" if outcome.code == case.code else f"   (expected {case.code})"
                print(f"{outcome.seconds:7.3f} s {outcome.mb:7.1f} MB  {case.name}: {outcome.code}{mark}", file=sys.stderr)
    finally:
        workers.close()
    return found


class _Workers:
    """Idle processes that open one file each; one that is as small after it as before is used again."""

    def __init__(self) -> None:
        self._cache = tempfile.TemporaryDirectory()
        self._next = self._started()
        self._current: Worker | None = None

    def _started(self) -> Worker:
        return Worker("benchmarks.hostile.worker", self._cache.name, patience=_PATIENCE_S)

    def outcome(self, case: Case, path: Path) -> Outcome:
        if self._current is None:
            self._current, self._next = self._next, self._started()
        for worker in (self._current, self._next):  # no start of a process falls into the time of another
            worker.wait_until_idle()
        answer = self._current.ask([str(path), case.act, case.format])
        if not answer.pop("idle"):
            self._current.close()
            self._current = None
        return Outcome(case, str(answer["code"]), float(answer["seconds"]), float(answer["mb"]))

    def close(self) -> None:
        for worker in (self._current, self._next):
            if worker is not None:
                worker.close()
        self._cache.cleanup()
