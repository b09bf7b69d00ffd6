"""The names that users import from `onym`, and whether the reference describes them."""

from __future__ import annotations

import re
from pathlib import Path

import onym


def public_names() -> list[str]:
    return sorted(onym.__all__)


def documented(page: Path, names: list[str]) -> list[str]:
    """Return the names that have a heading or a table row of their own on a page.

    A heading may name several: `## KnowledgeBase, build_kb`. A row names one in code, with or without `onym.` before it.
    """
    text = page.read_text("utf-8")
    headings = " ".join(re.findall(r"(?m)^#+ (.*)$", text))
    rows = " ".join(re.findall(r"(?m)^\| *(`[^|]*`) *\|", text))
    return [name for name in names if re.search(rf"(?<![\w.])(?:onym\.)?{re.escape(name)}(?!\w)", f"{headings} {rows}")]
