"""Pages of Markdown for people: front matter, tables and code blocks, and text of others made harmless.

Cards (the `README.md` of a model, a pipeline or a pack) and pages of licences are made of these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MARKS = re.compile(r"[\\|`*\[\]<>#]|(?<![^\W_])_|_(?![^\W_])")  # within a word, `_` is no mark


def page(*blocks: Sequence[str]) -> str:
    r"""Return a page of blocks of lines, with an empty line between them.

    >>> page(["# A model"], ["It links."])
    '# A model\n\nIt links.\n'
    """
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def front_matter(values: Mapping[str, Any]) -> list[str]:
    """Return the lines of YAML at the beginning of a card. Values are written as JSON, which is YAML as well.

    >>> front_matter({"tags": ["onym"]})
    ['---', 'tags: ["onym"]', '---']
    """
    return ["---", *(f"{key}: {json.dumps(value)}" for key, value in values.items()), "---"]


def table(header: Mapping[str, str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table. The header has the alignment of each column: `---`, or `--:` for numbers; cells are escaped.

    >>> table({"corpus": "---", "documents": "--:"}, [("a|b", "1")])
    ['| corpus | documents |', '|---|--:|', '| a\\\\|b | 1 |']
    """
    cells = (f"| {' | '.join(map(escape, row))} |" for row in rows)
    return [f"| {' | '.join(header)} |", f"|{'|'.join(header.values())}|", *cells]


def code(language: str, *lines: str) -> list[str]:
    """Return a code block."""
    return [f"```{language}", *lines, "```"]


def escape(text: str) -> str:
    """Return text on one line, with the marks of Markdown and HTML escaped.

    >>> escape("a|b <img>")
    'a\\\\|b \\\\<img\\\\>'
    >>> escape("dev_r1 _all_")
    'dev_r1 \\\\_all\\\\_'
    """
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split()))
