"""Offsets in other units: UTF-8 bytes and UTF-16 code units, as some formats and programs count them."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Literal

from onym.errors import InputError

Unit = Literal["utf8", "utf16"]


class Units:
    """A text's code points counted in another unit, both ways.

    >>> units = Units("TNF-\\u03b1 \\U0001f9ec", "utf8")
    >>> units.of(5), units.code_point(6)
    (6, 5)
    """

    def __init__(self, text: str, unit: Unit) -> None:
        self._unit = unit
        self._is_plain = text.isascii()
        self._length = len(text)
        self._ends = [] if self._is_plain else [0, *accumulate(_sizes(text, unit))]

    def of(self, offset: int) -> int:
        """Return an offset, given in code points, in this unit."""
        if not 0 <= offset <= self._length:
            raise InputError("offset-unit", f"no offset {offset} in a text of {self._length} code points")
        return offset if self._is_plain else self._ends[offset]

    def code_point(self, offset: int) -> int:
        """Return an offset, given in this unit, in code points; one inside a character is refused."""
        if self._is_plain:
            return self._length if offset == self._length else self.of(offset)
        found = bisect_left(self._ends, offset)
        if found >= len(self._ends) or self._ends[found] != offset:
            raise InputError("offset-unit", f"{offset} is no boundary of a character in {self._unit}")
        return found


def _sizes(text: str, unit: Unit) -> list[int]:
    if unit == "utf16":
        return [2 if char > "\uffff" else 1 for char in text]
    return [1 if char < "\x80" else 2 if char < "\u0800" else 3 if char < "\U00010000" else 4 for char in text]
