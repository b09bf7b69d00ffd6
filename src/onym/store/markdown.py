"""Builds Markdown pages: front matter, tables, code blocks and escaped text.

Used for cards (the `README.md` of a model, a pipeline or a pack) and licence pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MARKS = re.compile(r"[\\|`*\[\]<>#]|(?<![^\W_])_|_(?![^\W_])")  # an underscore within a word needs no escape


def page(*blocks: Sequence[str]) -> str:
    r"""Join blocks of lines to a page, with an empty line between blocks.

    >>> page(["# A model"], ["It links."])
    '# A model\n\nIt links.\n'
    """
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def front_matter(values: Mapping[str, Any]) -> list[str]:
    """Return YAML front matter for a card. Values are written as JSON, which is valid YAML.

    >>> front_matter({"tags": ["onym"]})
    ['---', 'tags: ["onym"]', '---']
    """
    return ["---", *(f"{key}: {json.dumps(value)}" for key, value in values.items()), "---"]


def table(header: Mapping[str, str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table with escaped cells. `header` maps each column to its alignment: `---`, or `--:` for numbers.

    >>> table({"corpus": "---", "documents": "--:"}, [("a|b", "1")])
    ['| corpus | documents |', '|---|--:|', '| a\\\\|b | 1 |']
    """
    cells = (f"| {' | '.join(map(escape, row))} |" for row in rows)
    return [f"| {' | '.join(header)} |", f"|{'|'.join(header.values())}|", *cells]


def code(language: str, *lines: str) -> list[str]:
    """Return a code block."""
    return [f"```{language}", *lines, "```"]


def escape(text: str) -> str:
    """Return text on one line, with Markdown and HTML characters escaped.

    >>> escape("a|b <img>")
    'a\\\\|b \\\\<img\\\\>'
    >>> escape("dev_r1 _all_")
    'dev_r1 \\\\_all\\\\_'
    """
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split()))
