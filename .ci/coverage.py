"""Print the share of the package's lines that the tests ran, from slipcover's reports; fail where it is below the bound.

A module is imported from `src` by its doctests, or from where it is installed: a line that ran in either counts.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

LEAST = 98.0
"""Per cent. Processes that the tests start are not counted."""


def module_of(path: str) -> str:
    """Return a file's path below the package."""
    parts = Path(path).parts
    return "/".join(parts[len(parts) - parts[::-1].index("onym") :])


Report = dict[str, dict[str, dict[str, list[int]]]]


def coverage(reports: list[Report]) -> tuple[float, dict[str, int]]:
    """Return the per cent of lines that ran, and how many did not in each module."""
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
