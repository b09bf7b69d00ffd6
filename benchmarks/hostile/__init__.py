"""Files made to harm whoever opens them. Each is made in code, in a folder of its own; none of them is stored."""

from __future__ import annotations

from benchmarks.hostile import archives, artefacts, jsons, markup, tables
from benchmarks.hostile.case import Case

CASES: tuple[Case, ...] = (*markup.CASES, *archives.CASES, *tables.CASES, *jsons.CASES, *artefacts.CASES)
