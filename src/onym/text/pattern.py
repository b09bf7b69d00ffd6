"""Patterns of many characters, for what `re` has no class of."""

from __future__ import annotations

import re
from collections.abc import Collection


def any_of(chars: Collection[str]) -> str:
    """Return a pattern that matches one of the characters; there must be some.

    Those beyond the first 65,536 stand apart, behind a test of their range: `re` has a table of the others, but tries these one
    after the other, for every character of a text.

    >>> re.findall(any_of("b\U0001f9ec"), "abc\U0001f9ec")
    ['b', '🧬']
    """
    near = "".join(sorted(re.escape(char) for char in chars if char <= "\uffff"))
    far = "".join(sorted(char for char in chars if char > "\uffff"))
    pieces = [f"[{near}]"] if near else []
    if far:
        pieces.append(f"(?=[\U00010000-\U0010ffff])[{far}]")
    return f"(?:{'|'.join(pieces)})"
