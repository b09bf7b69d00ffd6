"""Recognises the encoding of text files, and re-encodes files as UTF-8 while they are read.

Text is expected in UTF-8. UTF-16 is recognised by its byte order mark. Windows-1252 (cp1252) has no mark, so it is only assumed
for a file that cannot be anything else: not UTF-8, not even in part, and without bytes that cp1252 does not define.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import BinaryIO, cast

from onym.errors import ConfigError, InputError
from onym.store.files.input_file import InputFile

UTF16, CP1252 = "utf-16", "cp1252"
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # the first one begins like UTF-16
_NOT_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"})
_CHUNK = 64 * 1024
_NOT_CP1252 = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")  # undefined bytes, and controls of binary files
# A UTF-8 character in a file that is not UTF-8: the file is damaged. \xdf is not included, because "ß" before a closing quote
# or an ellipsis is common in German.
_UTF8 = re.compile(rb"[\xc2-\xde][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


def require_encoding(name: str) -> str:
    """Return the normal name of a text encoding; raise ConfigError if it is unknown.

    >>> require_encoding("Windows-1252"), require_encoding("latin1")
    ('cp1252', 'iso8859-1')
    """
    try:
        found = codecs.lookup(name)
        is_text = found.name not in _NOT_CHARSETS and isinstance(codecs.getincrementaldecoder(name)().decode(b""), str)
    except (LookupError, ValueError, TypeError, AttributeError):
        is_text = False
    if not is_text:
        fix = "give a name such as cp1252, latin-1, utf-16-le, cp850, mac-roman or shift_jis"
        raise ConfigError("config-invalid", f"no text encoding is named {name[:40]!r}", fix=fix)
    return found.name


def recognise(file: InputFile, *, may_be_cp1252: bool = False) -> str:
    """Return `utf-16` or `cp1252`, or "" for a file that is UTF-8 or in an encoding that cannot be recognised.

    >>> recognise(InputFile.from_bytes("a.txt", "37 °C".encode("utf-16"))), recognise(InputFile.from_bytes("a.txt", b"37"))
    ('utf-16', '')
    >>> recognise(InputFile.from_bytes("a.txt", "37 °C".encode("cp1252")), may_be_cp1252=True)
    'cp1252'
    """
    head = file.head(4)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not head.startswith(_UTF32):
        return UTF16
    if may_be_cp1252 and not _is_utf8(file) and all(not _NOT_CP1252.search(each) for each in _overlapping(file)):
        return "" if any(_UTF8.search(each) for each in _overlapping(file)) else CP1252
    return ""


def as_utf8(file: InputFile, encoding: str) -> InputFile:
    """Return an input file that yields the content of a file as UTF-8; the file itself if `encoding` is empty.

    >>> as_utf8(InputFile.from_bytes("a.txt", b"caf\\xe9"), "cp1252").head(9).decode()
    'café'
    """
    if not encoding:
        return file
    return InputFile(file.name, lambda: cast("BinaryIO", _Recoded(file, encoding)), -1, file.limits)


def _is_utf8(file: InputFile) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with file.open(peek=True) as stream:
            while chunk := stream.read(_CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _overlapping(file: InputFile) -> Iterator[bytes]:
    """Yield the file in chunks, each after the last three bytes of the previous one, so that no character is cut."""
    rest = b""
    with file.open(peek=True) as stream:
        while chunk := stream.read(_CHUNK):
            yield rest + chunk
            rest = chunk[-3:]


class _Recoded(io.RawIOBase):
    """A stream that re-encodes a decompressed file as UTF-8."""

    def __init__(self, file: InputFile, encoding: str) -> None:
        super().__init__()
        self._file, self._encoding = file, encoding
        self._context = file.open()
        self._stream = self._context.__enter__()
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._waiting, self._count = b"", 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_CHUNK), b""))
        while size and not self._waiting and (data := self._stream.read(_CHUNK)):
            self._waiting = self._recode(data)
        if size and not self._waiting:
            self._waiting = self._recode(b"")
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return data

    def _recode(self, data: bytes) -> bytes:
        """Return the next bytes as UTF-8; no bytes mean the end of the file."""
        self._count += len(data)
        try:
            return self._decoder.decode(data, final=not data).encode()
        except UnicodeError as e:
            where = f"{self._file.name} (before byte {self._count:,})"
            fix = "give its encoding with --encoding, or convert the file to UTF-8"
            raise InputError("input-encoding", f"not valid {self._encoding.upper()}", where=where, fix=fix) from e

    def close(self) -> None:
        if not self.closed:
            self._context.__exit__(None, None, None)
        super().close()
