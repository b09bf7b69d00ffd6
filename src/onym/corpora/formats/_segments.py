"""Splits files into segments: the bytes of one document each, and the bytes between documents.

Joined, the segments are the file. A format whose reader yields its documents in the same order has the optional member
`iter_segments`, so that a file can be changed document by document, and all other bytes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from onym.corpora.base import Segment
from onym.corpora.formats._files import find_json_layout
from onym.store.files.lines import iter_raw_lines
from onym.store.files.source import InputFile

_CHUNK = 64 * 1024
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}"]', re.DOTALL)
_OPENS, _CLOSES = (b"[", b"{"), (b"]", b"}")


def iter_line_segments(file: InputFile, *, skip_blank: bool) -> Iterator[Segment]:
    """Yield each line as a document. With `skip_blank`, blank lines are between documents.

    >>> [each.is_document for each in iter_line_segments(InputFile.from_bytes("a.jsonl", b"{}\\n\\n{}"), skip_blank=True)]
    [True, False, True]
    """
    return (Segment(not skip_blank or bool(line.strip()), line) for line in iter_raw_lines(file))


def iter_block_segments(
    file: InputFile, is_blank: Callable[[bytes], bool], is_first: Callable[[bytes], bool] = lambda _: False
) -> Iterator[Segment]:
    """Yield blocks of lines as documents. A blank line, or the first line of the next document, ends a block.

    >>> file = InputFile.from_bytes("a.txt", b"1|t|Fever\\n1|a|\\n\\n2|t|Chill\\n")
    >>> [each.data for each in iter_block_segments(file, lambda line: not line.strip())]
    [b'1|t|Fever\\n1|a|\\n', b'\\n', b'2|t|Chill\\n']
    """
    block = b""
    for line in iter_raw_lines(file):
        if block and (is_blank(line) or is_first(line)):
            yield Segment(True, block)
            block = b""
        if is_blank(line):
            yield Segment(False, line)
        else:
            block += line
    if block:
        yield Segment(True, block)


def iter_json_segments(file: InputFile, lists: tuple[str, ...] = ()) -> Iterator[Segment]:
    """Yield the JSON objects that `iter_objects` reads from the file.

    >>> file = InputFile.from_bytes("a.json", b'{"key": {}, "documents": [{"id": 1}, {"id": 2}], "more": [{}]}')
    >>> [each.data for each in iter_json_segments(file, ("documents",)) if each.is_document]
    [b'{"id": 1}', b'{"id": 2}']
    """
    layout = find_json_layout(file, lists)
    if layout is None:
        return iter_line_segments(file, skip_blank=True)
    return _iter_members(file, layout.rpartition(".")[0].encode(), len(layout.split(".")) if layout else 0)


def iter_element_segments(file: InputFile, tag: str) -> Iterator[Segment]:
    """Yield the XML elements with a tag.

    >>> file = InputFile.from_bytes("a.xml", b"<all><document>1</document>\\n<document>2</document></all>")
    >>> [each.data for each in iter_element_segments(file, "document")][1:4]
    [b'<document>1</document>', b'\\n', b'<document>2</document>']
    """
    first, last = re.compile(rf"<{tag}[\s>]".encode()), f"</{tag}>".encode()
    buffer, is_inside, searched = b"", False, 0
    for chunk in _iter_chunks(file):
        buffer += chunk
        while True:
            found = (
                buffer.find(last, searched)
                if is_inside
                else next((m.start() for m in [first.search(buffer, searched)] if m), -1)
            )
            if found < 0:
                searched = max(0, len(buffer) - len(last))
                break
            cut = found + len(last) if is_inside else found
            yield from [Segment(is_inside, buffer[:cut])] * bool(cut)
            buffer, is_inside, searched = buffer[cut:], not is_inside, 0
    yield from [Segment(False, buffer)] * bool(buffer)


def _iter_members(file: InputFile, key: bytes, depth: int) -> Iterator[Segment]:
    """Yield the objects of the list under a key of the top-level object, of the top-level list, or that object itself."""
    buffer, at, level, name, is_listed = b"", 0, 0, b"", depth == 0
    for chunk in _iter_chunks(file):
        buffer += chunk
        start = 0
        for token in _TOKEN.finditer(buffer, at):
            mark = token[0]
            if mark == b'"':  # a string that ends in a later chunk
                at = token.start()
                break
            at = token.end()
            if mark in _OPENS:
                if level == depth and is_listed and mark == b"{":
                    yield from [Segment(False, buffer[start : token.start()])] * (token.start() > start)
                    start = token.start()
                level += 1
                is_listed = is_listed or (level == depth and mark == b"[" and name == key)
            elif mark in _CLOSES:
                level -= 1
                if level == depth and is_listed and mark == b"}":
                    yield Segment(True, buffer[start:at])
                    start = at
                is_listed = is_listed and level >= depth
            elif level == depth - 1:
                name = mark[1:-1]
        else:
            at = max(at, 0) if level > depth else len(buffer)
        buffer, at = buffer[start:], at - start
    yield from [Segment(False, buffer)] * bool(buffer)


def _iter_chunks(file: InputFile) -> Iterator[bytes]:
    with file.open() as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk
