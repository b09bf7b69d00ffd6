"""XML that expands, reaches outside, hides in other encodings, nests without end or never ends."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from benchmarks.hostile.case import MB, Case, Content, file

_DECLARED = '<?xml version="1.0"?>\n'
_RECORD = "<DescriptorRecord><DescriptorUI>D1</DescriptorUI><ConceptList><Concept><TermList><Term><String>{}</String></Term>"
_END = "</TermList></Concept></ConceptList></DescriptorRecord>"


def _document(prolog: str, text: str, attribute: str = "") -> str:
    record = _RECORD.format(text) + _END
    return f"{prolog}<DescriptorRecordSet{attribute}>{record}</DescriptorRecordSet>"


def _doctype(subset: str, outside: str = "") -> str:
    return f"{_DECLARED}<!DOCTYPE DescriptorRecordSet {outside}[{subset}]>"


def _laughs(levels: int = 10) -> str:
    first = '<!ENTITY e0 "ha ha ha ha">'
    return first + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, levels))


def _utf7(text: str) -> bytes:
    """Write every markup character in UTF-7's base 64, which no search for bytes finds."""
    return "".join(c if c.isalnum() or c in " \n/" else _shifted(c) for c in text).encode()


def _shifted(character: str) -> str:
    return "+" + base64.b64encode(character.encode("utf-16-be")).decode().rstrip("=") + "-"


def _xml(name: str, code: str, content: Content) -> Case:
    return Case(f"xml {name}", code, file("desc.xml", content), format="mesh_xml")


def _text(name: str, code: str, text: str) -> Case:
    return _xml(name, code, text.encode)


_OPEN = b"<DescriptorRecordSet>"
_RECORD_OPEN = b"<DescriptorRecordSet><DescriptorRecord>"


def _repeated(head: bytes, part: bytes, count: int, tail: bytes = b"") -> Content:
    def content() -> Iterable[bytes]:
        yield head
        for _ in range(count // 1000):
            yield part * 1000
        yield tail

    return content


def _attributes(count: int, tail: bytes = b"/></DescriptorRecord></DescriptorRecordSet>") -> bytes:
    return _RECORD_OPEN + b"<a " + b" ".join(b'a%x=">"' % n for n in range(count)) + tail


_ENTITY = _document(_doctype(_laughs()), "&e9;")
_SMALL = _document(_doctype('<!ENTITY a "b">'), "&a;")

CASES = (
    _text("billion laughs", "xml-entity", _ENTITY),
    _text("billion laughs in an attribute", "xml-entity", _document(_doctype(_laughs()), "x", ' a="&e9;"')),
    _text("quadratic blow-up", "xml-entity", _document(_doctype(f'<!ENTITY a "{"a" * 50_000}">'), "&a;" * 50_000)),
    _text("parameter entities", "xml-entity", _document(_doctype('<!ENTITY % a "<!ENTITY b \'c\'>"> %a;'), "&b;")),
    _text("entity after a comment with a tag", "xml-entity",
          _document(f"{_DECLARED}<!-- <a> --><!DOCTYPE a [{_laughs()}]>", "&e9;")),
    _text("entity after an instruction with a tag", "xml-entity",
          _document(f"{_DECLARED}<?a <b> ?><!DOCTYPE a [{_laughs()}]>", "&e9;")),
    _text("entity after a quoted bracket", "xml-entity",
          _document(f"{_DECLARED}<!DOCTYPE a SYSTEM \"]><b>\" [{_laughs()}]>", "&e9;")),
    _text("default attribute, many times", "xml-entity",
          _document(_doctype(f'<!ATTLIST b c CDATA "{"x" * 30_000}">'), "<b/>" * 20_000)),
    _text("external entity of a file", "xml-entity", _document(_doctype('<!ENTITY a SYSTEM "file:///etc/passwd">'), "&a;")),
    _text("external entity of the network", "xml-entity",
          _document(_doctype('<!ENTITY a SYSTEM "http://127.0.0.1:9/a">'), "&a;")),
    _text("external DTD and an entity", "xml-entity",
          _document(_doctype('<!ENTITY a "b">', 'SYSTEM "http://127.0.0.1:9/a.dtd" '), "&a;")),
    _text("external parameter entity", "xml-entity",
          _document(_doctype('<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;'), "x")),
    _text("entity of an external DTD", "xml-entity",
          _document(f'{_DECLARED}<!DOCTYPE DescriptorRecordSet SYSTEM "file:///etc/passwd">', "a &b; c")),
    _text("entity that nobody declares", "xml-malformed", _document(_DECLARED, "a &b; c")),
    _xml("entities in UTF-16 with a mark", "input-encoding", lambda: _SMALL.encode("utf-16")),
    _xml("entities in UTF-16 without a mark", "input-encoding", lambda: _SMALL.encode("utf-16-be")),
    _xml("entities in UTF-32", "input-encoding", lambda: _SMALL.encode("utf-32")),
    _xml("entities in UTF-7", "input-encoding", lambda: b'<?xml version="1.0" encoding="UTF-7"?>' + _utf7(_SMALL[22:])),
    _xml("entities in UTF-7, named far away", "input-encoding",
         lambda: b'<?xml version="1.0" ' + b" " * 300 + b'encoding="UTF-7"?>' + _utf7(_SMALL[22:])),
    _xml("entities in EBCDIC", "input-encoding",
         lambda: _SMALL.replace('"1.0"', '"1.0" encoding="cp037"', 1).encode("cp037")),
    _xml("an encoding nobody knows", "input-encoding",
         lambda: _document('<?xml version="1.0" encoding="x-user-defined"?>', "a").encode()),
    _xml("bytes that are not UTF-8", "xml-malformed", lambda: _document(_DECLARED, "\xff\xfe").encode("latin-1")),
    _xml("nested 200,000 deep", "limit-depth", _repeated(_OPEN, b"<a>", 200_000)),
    _xml("nested 200,000 deep in a record", "limit-depth", _repeated(_RECORD_OPEN, b"<a>", 200_000)),
    _xml("a text of 20 MB", "limit-xml", _repeated(_RECORD_OPEN + b"<a>", b"abcdefghij" * 2, MB, b"</a>")),
    _xml("a CDATA section of 20 MB", "limit-xml", _repeated(_RECORD_OPEN + b"<a><![CDATA[", b"abcdefghij" * 2, MB)),
    _xml("a comment of 20 MB", "limit-xml", _repeated(_RECORD_OPEN + b"<!--", b"abcdefghij" * 2, MB)),
    _xml("an attribute of 20 MB", "limit-xml", _repeated(_RECORD_OPEN + b'<a b="', b"abcdefghij" * 2, MB, b'"/>')),
    _xml("a tag of 20 MB", "limit-xml", _repeated(_RECORD_OPEN + b"<", b"abcdefghij" * 2, MB, b"/>")),
    _xml("800,000 attributes in a tag", "limit-xml", lambda: _attributes(800_000)),
    _xml("100,000 attributes in a tag, then cut off", "xml-malformed", lambda: _attributes(100_000, b"/>")),
    _xml("100,000 tags with attributes, then cut off", "xml-malformed", _repeated(_RECORD_OPEN, b"<a b='c'/>", 99_000)),
    _xml("a prolog without end", "limit-xml", _repeated(_DECLARED.encode() + b"<!--", b"abcdefghij" * 2, MB)),
    _xml("spaces without end", "limit-xml", _repeated(_DECLARED.encode(), b" " * 20, MB)),
    _xml("a record without end", "limit-xml", _repeated(_RECORD_OPEN, b"<a>some text in it</a>", MB)),
    _xml("a record of a million elements", "limit-xml", _repeated(_RECORD_OPEN, b"<a/>", MB, b"</DescriptorRecord>")),
    _xml("no record at all", "limit-xml", _repeated(_OPEN, b"<a>some text in it</a>", MB)),
    _text("cut off", "xml-malformed", _document(_DECLARED, "a")[:-30]),
    _text("tags that cross", "xml-malformed", _document(_DECLARED, "<b><i></b></i>")),
    _text("a second root", "xml-malformed", _document(_DECLARED, "a") + "<b/>"),
    _text("no root", "xml-malformed", _DECLARED),
    _xml("a picture", "xml-malformed", lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(1, 256)) * 100),
)  # fmt: skip
