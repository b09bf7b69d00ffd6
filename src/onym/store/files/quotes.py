"""Checks the quotes of a delimited table while it is read: an unclosed quote would swallow the following rows."""

from __future__ import annotations

import re

from onym.errors import InputError

_RUN = re.compile(rb'"+')
_BOM = b"\xef\xbb\xbf"


class QuoteCheck:
    """Tracks quoted cells across the blocks of a file, by the rules of Arrow's parser.

    A quote at the start of a cell opens it, a doubled quote is an escaped quote, and a single quote closes it.

    >>> check = QuoteCheck("t.csv", ",")
    >>> check.feed(b'id,name\\n1,"fever\\n2,cough\\n')
    >>> check.close()
    Traceback (most recent call last):
    onym.errors.InputError: [table-quote] a quote is not closed...
    """

    def __init__(self, name: str, delimiter: str) -> None:
        self._name = name
        ends = re.escape(delimiter.encode()) + rb"\r\n"
        opening = rb"(?<=[" + ends + rb'])"'
        self._opening = re.compile(opening)
        closed = opening + rb'[^"]*+(?:""[^"]*+)*+"(?=[' + ends + rb"])"
        self._closed_cells = re.compile(rb'(?:[^"]++|' + closed + rb")*+")  # matches most of a file at once
        self._allowed = frozenset(delimiter.encode() + b"\r\n ")
        self._line = 1
        self._opened = 0  # line number of the open quote; 0 if no quote is open
        self._rest = b"\n"  # the last byte of the previous block, or the run of quotes at its end
        self._is_first = True

    def feed(self, block: bytes) -> None:
        """Check the next block; raise if a quote that spans lines is closed in the middle of a cell."""
        if self._is_first:
            block, self._is_first = block.removeprefix(_BOM), False
        self._follow(self._rest + block, 0 if self._opened else len(self._rest))

    @property
    def is_open(self) -> bool:
        """True while a quote is open."""
        return bool(self._opened) and len(self._rest) % 2 == 0

    def close(self) -> None:
        """Raise if a quote is still open at the end of the file."""
        if self.is_open:
            raise self._error()

    def _follow(self, data: bytes, at: int) -> None:
        while True:
            start = at if self._opened else self._closed_cells.match(data, at).end()  # type: ignore[union-attr]
            found = (_RUN if self._opened else self._opening).search(data, start)
            end = found.end() if found else len(data)
            self._line += data.count(b"\n", at, end)
            if found is None:
                break
            if not self._opened:
                self._opened = self._line
            elif end == len(data):  # the next block decides whether they close the cell
                self._rest = found[0]
                return
            elif len(found[0]) % 2:
                self._require_end(data[end])
                self._opened = 0
            at = end
        self._rest = b"" if self._opened else data[-1:]

    def _require_end(self, following: int) -> None:
        if self._line > self._opened and following not in self._allowed:
            raise self._error()

    def _error(self) -> InputError:
        fix = "close the quote in that line, or double it if it belongs to the text"
        return InputError("table-quote", "a quote is not closed", where=f"{self._name}:{self._opened}", fix=fix)
