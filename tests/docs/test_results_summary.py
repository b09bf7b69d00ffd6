"""Tests that all figures in the summary of results are also in the full tables, which `python -m benchmarks` recomputes."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_figures_of_the_summary_are_in_the_full_tables() -> None:
    summary = (ROOT / "docs" / "reference" / "results.md").read_text("utf-8")
    rows = [line for line in summary.splitlines() if line.startswith("|")]
    figures = set(re.findall(r"\d+\.\d", "\n".join(rows)))
    assert len(figures) > 40
    assert figures <= set(re.findall(r"\d+\.\d", (ROOT / "results" / "tables.md").read_text("utf-8")))
