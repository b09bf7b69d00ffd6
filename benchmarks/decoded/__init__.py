"""Small corpora that stand for very much. Each is made in code, in a folder of its own; none of them is stored."""

from __future__ import annotations

from benchmarks.decoded import archives, docbins, jsons, lines, markup, parquets
from benchmarks.hostile.case import Case

CASES: tuple[Case, ...] = (*parquets.CASES, *docbins.CASES, *jsons.CASES, *markup.CASES, *lines.CASES, *archives.CASES)
