"""Reads XML record by record, and rejects dangerous constructs. No other module parses untrusted XML.

A DOCTYPE is allowed, since MeSH, PubMed and BioC files have one, but it must not declare entities or default attributes.
Nothing outside the file is ever read. Limits are checked before a chunk is passed to the parser: on the size of a record, on
its number of tags and attributes, and on the size of a single text or tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, cast

from onym.errors import InputError, LimitError, OnymError
from onym.store.files.source import InputFile
from onym.store.files.stream import InputStream

if TYPE_CHECKING:
    from lxml.etree import XMLPullParser, XMLSyntaxError, XPath, _Element

    Element: TypeAlias = _Element

_READ = 64 * 1024
_ENCODINGS = {b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"latin1", b"windows-1252"}
_OTHER_ENCODING = (b"\xff\xfe", b"\xfe\xff", b"\x4c\x6f\xa7\x94")  # byte order marks of UTF-16 and UTF-32, and <?xm in EBCDIC
_DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*["']1\.[0-9]["']"""
    rb"""(?:\s+encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["'])?(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>"""
)
# Patterns of the text before the root element. Every repetition is possessive, so that matching takes linear time.
_MISC = rb"(?:\s++|<\?(?!xml\s).*?\?>|<!--.*?-->)"
_ELEMENTS = rb"(?:" + _MISC + rb"""|<!ELEMENT\s[^<>"'&%]*+>)*+"""
_OUTSIDE = rb"""<!DOCTYPE\s(?:[^<>\[\]"'&%]|"[^"]*+"|'[^']*+')*+"""
_DOCTYPE = _OUTSIDE + rb"(?:\[" + _ELEMENTS + rb"\]\s*+)?+>"
_PROLOG = re.compile(rb"(?:" + _MISC + rb")*+(" + _DOCTYPE + rb")?+(?:" + _MISC + rb")*+(?=<[A-Za-z_:\x80-\xff])", re.DOTALL)
_DECLARES = re.compile(rb"<!(?:ENTITY|ATTLIST|NOTATION)|" + _OUTSIDE + rb"\[")
_OTHER_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);|#)")  # also matches a standard entity cut off by a chunk


def iter_records(file: InputFile, tags: frozenset[str]) -> Iterator[Element]:
    """Yield each complete element whose tag is in `tags`. Each element is cleared when the next one is requested.

    >>> xml = InputFile.from_bytes("a.xml", b"<set><rec>one</rec><rec>two</rec></set>")
    >>> [record.text for record in iter_records(xml, frozenset({"rec"}))]
    ['one', 'two']
    """
    from lxml import etree

    parser = etree.XMLPullParser(
        events=("start", "end"), tag=sorted(tags), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    with file.open() as stream:
        try:
            yield from _Records(parser, stream, file)
        except etree.XMLSyntaxError as e:
            raise _refusal(e, file) from e


class _Records:
    """Iterates once over the records of a file."""

    def __init__(self, parser: XMLPullParser, stream: InputStream, file: InputFile) -> None:
        self._parser, self._stream, self._file = parser, stream, file
        limits = file.limits
        self._read = min(_READ, limits.xml_record_bytes, limits.xml_token_bytes, limits.xml_record_marks)
        self._nested = 0  # number of records that are open, one inside the other; only the outermost is yielded
        self._bytes = self._marks = self._token = 0
        self._may_hold_entities = False

    def __iter__(self) -> Iterator[Element]:
        for chunk in self._chunks():
            self._count(chunk)
            self._parser.feed(chunk)
            yield from self._iter_finished()
        self._parser.close()

    def _chunks(self) -> Iterator[bytes]:
        head = _require_plain_prolog(self._stream, self._file)
        yield from (head[start : start + self._read] for start in range(0, len(head), self._read))
        while chunk := self._stream.read(self._read):
            yield chunk

    def _count(self, chunk: bytes) -> None:
        """Raise LimitError if the current record exceeds a limit by more than a chunk; counts restart after each record."""
        limits, name = self._file.limits, self._file.name
        self._bytes += len(chunk)
        if self._bytes > limits.xml_record_bytes + self._read:
            raise LimitError("limit-xml", f"no record ends within {limits.xml_record_bytes:,} bytes", where=name)
        self._marks += chunk.count(b"<") + chunk.count(b"=")
        if self._marks > limits.xml_record_marks + self._read:
            raise LimitError("limit-xml", f"a record has more than {limits.xml_record_marks:,} tags and attributes", where=name)
        last = chunk.rfind(b"<")
        self._token = self._token + len(chunk) if last < 0 else len(chunk) - last
        if self._token > limits.xml_token_bytes + self._read:
            raise LimitError("limit-xml", f"a text or a tag is longer than {limits.xml_token_bytes:,} bytes", where=name)
        if not self._may_hold_entities:
            self._may_hold_entities = _OTHER_ENTITY.search(chunk) is not None

    def _iter_finished(self) -> Iterator[Element]:
        for event, element in cast("Iterator[tuple[str, Element]]", self._parser.read_events()):
            self._nested += 1 if event == "start" else -1
            if not self._nested:
                self._require_sound(element)
                self._bytes = self._marks = 0
                yield element
                _forget(element)

    def _require_sound(self, record: Element) -> None:
        limits = self._file.limits
        if _deeper_than(limits.xml_depth)(record):
            raise LimitError("limit-depth", f"nested more than {limits.xml_depth} levels deep", where=self._file.name)
        if self._may_hold_entities and _holds_entity(record):
            what = "an entity is used that is declared only in a DTD"
            raise InputError("xml-entity", what, where=self._file.name, fix="replace the entity with its characters")


def _require_plain_prolog(stream: InputStream, file: InputFile) -> bytes:
    """Read up to the root element; raise unless only a declaration, comments and a simple DOCTYPE precede it."""
    head = b""
    while len(head) <= file.limits.xml_prolog_bytes:
        chunk = stream.read(_READ)
        head += chunk
        if _PROLOG.match(head, _after_declaration(head, file)):
            return head
        if not chunk:
            break
    if _DECLARES.search(head):
        what = "the DOCTYPE declares an entity, an attribute or a notation"
        raise InputError("xml-entity", what, where=file.name, fix="remove the DOCTYPE")
    if len(head) > file.limits.xml_prolog_bytes:
        what = f"no root element within {file.limits.xml_prolog_bytes:,} bytes"
        raise LimitError("limit-xml", what, where=file.name)
    raise InputError("xml-malformed", "the XML has no root element", where=file.name, fix="fetch the file again")


def _after_declaration(head: bytes, file: InputFile) -> int:
    """Return the end offset of the XML declaration; reject encodings in which markup could be hidden from our checks."""
    start = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    declared = _DECLARATION.match(head, start)
    name = (declared[1] if declared else None) or b"utf-8"
    if head.startswith(_OTHER_ENCODING) or b"\x00" in head or name.lower() not in _ENCODINGS:
        what = "the encoding is not UTF-8, ASCII or Latin-1"
        raise InputError("input-encoding", what, where=file.name, fix="convert the file to UTF-8")
    return declared.end() if declared else start


@lru_cache(maxsize=8)
def _deeper_than(depth: int) -> XPath:
    """Return an XPath test for elements nested more than `depth` levels below a record; libxml2 allows 256 in total."""
    from lxml import etree

    return etree.XPath(f"boolean({'/'.join('*' * (depth + 1))})")


def _holds_entity(record: Element) -> bool:
    from lxml import etree

    return next(record.iter(etree.Entity), None) is not None


def _forget(element: Element) -> None:
    """Clear a processed element and drop its preceding siblings, so that memory does not grow with the file."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _refusal(error: XMLSyntaxError, file: InputFile) -> OnymError:
    """Convert a libxml2 error to an OnymError. Use the name of its code, not its message, because that quotes the file."""
    from lxml import etree

    where = f"{file.name}:{error.lineno}"
    if getattr(error, "code", None) == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
        code = "limit-depth" if "depth" in (error.msg or "") else "limit-xml"
        return LimitError(code, "nested too deeply" if code == "limit-depth" else "a text is too long", where=where)
    names = {number: name for name, number in vars(etree.ErrorTypes).items() if isinstance(number, int)}
    reason = names.get(getattr(error, "code", -1), "ERR_UNKNOWN").removeprefix("ERR_").replace("_", " ").lower()
    return InputError("xml-malformed", f"not well-formed XML: {reason}", where=where, fix="fetch the file again")
