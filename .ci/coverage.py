"""Print the line coverage of the package from slipcover's reports, and fail if it is below the minimum.

Doctests import a module from `src`, other tests from the installed package: a line counts if it ran in either.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

LEAST = 98.0
"""Minimum coverage in percent. Subprocesses of the tests are not measured."""


def module_of(path: str) -> str:
    """Return a file's path below the package."""
    parts = Path(path).parts
    return "/".join(parts[len(parts) - parts[::-1].index("onym") :])


Report = dict[str, dict[str, dict[str, list[int]]]]


def coverage(reports: list[Report]) -> tuple[float, dict[str, int]]:
    """Return the percentage of covered lines, and the number of uncovered lines by module."""
    ran: dict[str, set[int]] = defaultdict(set)
    known: dict[str, set[int]] = defaultdict(set)
    for path, lines in (each for report in reports for each in report["files"].items()):
        ran[module_of(path)] |= set(lines["executed_lines"])
        known[module_of(path)] |= {*lines["executed_lines"], *lines["missing_lines"]}
    missing = {module: len(lines - ran[module]) for module, lines in known.items()}
    total = sum(map(len, known.values()))
    return round(100 * (total - sum(missing.values())) / total, 1), missing


if __name__ == "__main__":
    share, missing = coverage([json.loads(Path(path).read_bytes()) for path in sys.argv[1:]])
    for module, count in sorted(missing.items(), key=lambda item: -item[1])[:10]:
        print(f"{count:6,} lines not run: {module}")
    print(json.dumps({"coverage_pct": share}))
    if share < LEAST:
        sys.exit(f"the tests ran {share} % of the lines, and {LEAST} % is the least")
