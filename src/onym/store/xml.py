"""The only door to XML: a stream of records, one at a time, with everything dangerous refused.

A DOCTYPE is allowed, since genuine MeSH, PubMed and BioC files have one; declaring an entity is not. Nothing outside the
file is ever read. Depth, the length of a text and the bytes of a record are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias, cast

from onym.errors import InputError, LimitError
from onym.store.source import InputFile
from onym.store.stream import InputStream

if TYPE_CHECKING:
    from lxml.etree import XMLPullParser, _Element

    Element: TypeAlias = _Element

_READ = 64 * 1024
_ENCODING = re.compile(rb"""^<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_ENCODINGS = {b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"latin1", b"windows-1252"}
_ROOT = re.compile(rb"<[A-Za-z_]")


def iter_records(file: InputFile, tags: frozenset[str]) -> Iterator[Element]:
    """Yield each element whose tag is in `tags`, complete; it is emptied when the next one is asked for.

    >>> xml = InputFile.from_bytes("a.xml", b"<set><rec>one</rec><rec>two</rec></set>")
    >>> [record.text for record in iter_records(xml, frozenset({"rec"}))]
    ['one', 'two']
    """
    from lxml import etree

    parser = etree.XMLPullParser(
        events=("start", "end"), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    with file.open() as stream:
        try:
            yield from _Records(parser, stream, file, tags)
        except etree.XMLSyntaxError as e:
            what = f"not well-formed XML: {_reason(e.msg)}"
            raise InputError("xml-malformed", what, where=f"{file.name}:{e.lineno}", fix="fetch the file again") from e


class _Records:
    """One pass over one file."""

    def __init__(self, parser: XMLPullParser, stream: InputStream, file: InputFile, tags: frozenset[str]) -> None:
        self._parser, self._stream, self._file, self._tags = parser, stream, file, tags
        self._depth = self._record_depth = 0
        self._since_record = 0

    def __iter__(self) -> Iterator[Element]:
        self._parser.feed(self._prolog())
        yield from self._drain()
        while chunk := self._stream.read(_READ):
            self._since_record += len(chunk)
            if self._since_record > self._file.limits.xml_record_bytes:
                what = f"no record ends within {self._file.limits.xml_record_bytes:,} bytes"
                raise LimitError("limit-xml", what, where=self._file.name)
            self._parser.feed(chunk)
            yield from self._drain()
        self._parser.close()

    def _prolog(self) -> bytes:
        """Read up to the root element and refuse what may not stand before it."""
        head = bytearray()
        while not (root := _ROOT.search(head)):
            chunk = self._stream.read(_READ)
            if not chunk or len(head) > self._file.limits.xml_prolog_bytes:
                raise InputError("xml-malformed", "no root element found", where=self._file.name)
            head += chunk
        declared = _ENCODING.match(head.removeprefix(b"\xef\xbb\xbf"))
        if b"\x00" in head or (declared and declared[1].lower() not in _ENCODINGS):
            what = "an encoding other than UTF-8, ASCII or Latin-1"
            raise InputError("input-encoding", what, where=self._file.name, fix="convert it to UTF-8")
        prolog = bytes(head[: root.start()])
        if b"<!ENTITY" in prolog or b"%" in prolog.partition(b"[")[2]:
            raise InputError("xml-entity", "an entity is declared", where=self._file.name, fix="remove the DOCTYPE")
        return bytes(head)

    def _drain(self) -> Iterator[Element]:
        limits = self._file.limits
        for event, element in cast("Iterator[tuple[str, Element]]", self._parser.read_events()):
            if event == "start":
                self._depth += 1
                if self._depth > limits.xml_depth:
                    raise LimitError("limit-depth", f"nested deeper than {limits.xml_depth}", where=self._file.name)
                if not self._record_depth and element.tag in self._tags:
                    self._record_depth = self._depth
                continue
            if max(len(element.text or ""), len(element.tail or "")) > limits.xml_token_chars:
                what = f"a text longer than {limits.xml_token_chars:,} characters"
                raise LimitError("limit-xml", what, where=self._file.name)
            if self._depth == self._record_depth:
                self._record_depth = 0
                self._since_record = 0
                yield element
            if not self._record_depth:
                _forget(element)
            self._depth -= 1


def _forget(element: Element) -> None:
    """Empty a finished element and drop its finished siblings, so that memory does not grow with the file."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _reason(message: str | None) -> str:
    """Keep libxml2's reason but none of the file's text, which it may quote."""
    return re.sub(r"\s*[:'\"].*", "", message or "unknown", flags=re.DOTALL)[:80]
