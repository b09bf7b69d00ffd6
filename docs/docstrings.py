"""Shows the examples and the small tables of docstrings as they stand, as code; plain Markdown would make quotes of them."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ALIGNED = re.compile(r"\S {2,}\S")


class Verbatim(griffe.Extension):
    """Put a fence around every paragraph that is an example or whose lines are all aligned."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = "\n\n".join(_fenced(part) for part in obj.docstring.value.split("\n\n"))


def _fenced(paragraph: str) -> str:
    if paragraph.startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    if all(_ALIGNED.search(line) for line in paragraph.splitlines()) and not paragraph.startswith(" "):
        return f"```text\n{paragraph}\n```"
    return paragraph
