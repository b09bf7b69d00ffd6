"""Hostile XML, JSON, tables and line formats. XML: entity expansion, external entities, unusual encodings, deep nesting."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable

from tests.robustness.files.case import MB, Case, Content, file
from tests.robustness.files.hostile_archives import ROW

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
    """Encode every markup character in UTF-7's base64, so that a byte search does not find it."""
    return "".join(c if c.isalnum() or c in " \n/" else _encode_utf7(c) for c in text).encode()


def _encode_utf7(character: str) -> str:
    return "+" + base64.b64encode(character.encode("utf-16-be")).decode().rstrip("=") + "-"


def _xml(name: str, code: str, content: Content) -> Case:
    return Case(f"xml {name}", code, file("desc.xml", content), format="mesh_xml")


def _text(name: str, code: str, text: str) -> Case:
    return _xml(name, code, text.encode)


_OPEN = b"<DescriptorRecordSet>"
_RECORD_OPEN = b"<DescriptorRecordSet><DescriptorRecord>"


def _repeat_text(head: bytes, part: bytes, count: int, tail: bytes = b"") -> Content:
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

MARKUP = (
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
    _xml("nested 200,000 deep", "limit-depth", _repeat_text(_OPEN, b"<a>", 200_000)),
    _xml("nested 200,000 deep in a record", "limit-depth", _repeat_text(_RECORD_OPEN, b"<a>", 200_000)),
    _xml("a text of 20 MB", "limit-xml", _repeat_text(_RECORD_OPEN + b"<a>", b"abcdefghij" * 2, MB, b"</a>")),
    _xml("a CDATA section of 20 MB", "limit-xml", _repeat_text(_RECORD_OPEN + b"<a><![CDATA[", b"abcdefghij" * 2, MB)),
    _xml("a comment of 20 MB", "limit-xml", _repeat_text(_RECORD_OPEN + b"<!--", b"abcdefghij" * 2, MB)),
    _xml("an attribute of 20 MB", "limit-xml", _repeat_text(_RECORD_OPEN + b'<a b="', b"abcdefghij" * 2, MB, b'"/>')),
    _xml("a tag of 20 MB", "limit-xml", _repeat_text(_RECORD_OPEN + b"<", b"abcdefghij" * 2, MB, b"/>")),
    _xml("800,000 attributes in a tag", "limit-xml", lambda: _attributes(800_000)),
    _xml("100,000 attributes in a tag, then cut off", "xml-malformed", lambda: _attributes(100_000, b"/>")),
    _xml("100,000 tags with attributes, then cut off", "xml-malformed", _repeat_text(_RECORD_OPEN, b"<a b='c'/>", 99_000)),
    _xml("a prolog without end", "limit-xml", _repeat_text(_DECLARED.encode() + b"<!--", b"abcdefghij" * 2, MB)),
    _xml("spaces without end", "limit-xml", _repeat_text(_DECLARED.encode(), b" " * 20, MB)),
    _xml("a record without end", "limit-xml", _repeat_text(_RECORD_OPEN, b"<a>some text in it</a>", MB)),
    _xml("a record of a million elements", "limit-xml", _repeat_text(_RECORD_OPEN, b"<a/>", MB, b"</DescriptorRecord>")),
    _xml("no record at all", "limit-xml", _repeat_text(_OPEN, b"<a>some text in it</a>", MB)),
    _text("cut off", "xml-malformed", _document(_DECLARED, "a")[:-30]),
    _text("tags that cross", "xml-malformed", _document(_DECLARED, "<b><i></b></i>")),
    _text("a second root", "xml-malformed", _document(_DECLARED, "a") + "<b/>"),
    _text("no root", "xml-malformed", _DECLARED),
    _xml("a picture", "xml-malformed", lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(1, 256)) * 100),
)  # fmt: skip


# JSON that is deeply nested, has one huge value, is truncated, has the wrong structure, or contains invalid text.

_LIST = b'[{"id": "MONDO:1", "name": "Fever", "synonyms": []}, '
_OBJECT = b'{"MONDO:1": {"label": "Fever", "synonyms": []}, "MONDO:2": '
_JSON_ENTITY = b'{"concept_id": "C1", "canonical_name": "Fever", "aliases": []}\n'
_GRAPH = b'{"graphs": [{"nodes": [{"id": "HP:1", "lbl": "Fever"}, '


def _json(label: str, code: str, content: Callable[[], bytes], name: str = "ontology.json") -> Case:
    return Case(label, code, file(name, content))


def _lines(label: str, code: str, content: Callable[[], bytes]) -> Case:
    return _json(f"JSONL {label}", code, content, "entities.jsonl")


JSONS = (
    _json("JSON of a million brackets", "limit-depth", lambda: _LIST + b"[" * MB),
    _json("JSON of a million objects", "limit-depth", lambda: _LIST + b'{"a":' * MB),
    _json("JSON of brackets behind closed ones in a text", "limit-depth",
          lambda: _LIST + b'{"id": "' + b"]" * MB + b'", "a": ' + b"[" * MB),
    _json("JSON of brackets behind an escaped quote", "limit-depth",
          lambda: _LIST + rb'{"id": "\\\"' + b"]" * MB + b'", "a": ' + b"[" * MB),
    _json("JSON with a text of 20 MB", "limit-json", lambda: _LIST + b'{"id": "' + b"a" * 20 * MB + b'"}]'),
    _json("JSON with a key of 20 MB", "limit-json", lambda: _OBJECT + b'{"' + b"a" * 20 * MB + b'": 1}}'),
    _json("JSON with a number of 20 MB", "limit-json", lambda: _LIST + b'{"id": ' + b"1" * 20 * MB + b"}]"),
    _json("JSON with an item of 4 million lists", "limit-json", lambda: _LIST + b'{"id": [' + b"[]," * 4 * MB + b"[]]}]"),
    _json("JSON with an item of a million objects", "limit-json", lambda: _LIST + b'{"a": [' + b'{"b":1},' * MB + b"1]}]"),
    _json("JSON with spaces without end", "limit-json", lambda: _LIST + b" " * 20 * MB),
    _json("JSON with a huge node", "limit-json", lambda: _GRAPH + b'{"id": "' + b"a" * 20 * MB + b'"}]}]}'),
    _json("JSON cut off", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "na'),
    _json("JSON with two values", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": "b"}] []'),
    _json("JSON with NaN", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": NaN}]'),
    _json("JSON with Infinity", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": -Infinity}]'),
    _json("JSON with bytes that are not UTF-8", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": "\xff"}]'),
    _json("JSON with encoded surrogates", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": "\xed\xa0\x80"}]'),
    _json("JSON with a high surrogate alone", "input-encoding", lambda: _LIST + rb'{"id": "MONDO:2", "name": "a\ud800b"}]'),
    _json("JSON with a low surrogate alone", "input-encoding", lambda: _LIST + rb'{"id": "MONDO:2", "name": "a\uDC00b"}]'),
    _json("JSON with a surrogate in a key", "input-encoding", lambda: _OBJECT + rb'{"a\ud83d": 1}}'),
    _json("JSON with a surrogate across two reads", "input-encoding",
          lambda: _LIST.ljust(65_536 - 25) + rb'{"id": "MONDO:2", "name":"\ud800"}]'),
    _json("JSON with a number for a name", "json-shape", lambda: _LIST + b'{"id": "MONDO:2", "name": 7}]'),
    _json("JSON with an object for a name", "json-shape", lambda: _LIST + b'{"id": "MONDO:2", "name": {}}]'),
    _json("JSON with a text for a list", "json-shape", lambda: _LIST + b'{"id": "MONDO:2", "synonyms": "abc"}]'),
    _json("JSON with a number among objects", "json-shape", lambda: _LIST + b"7]"),
    _json("JSON in UTF-16", "format-unknown", lambda: (_LIST + b"1]").decode().encode("utf-16")),
    _lines("cut off", "json-malformed", lambda: _JSON_ENTITY + _JSON_ENTITY[:30]),
    _lines("with a line of 50 MB", "limit-line", lambda: _JSON_ENTITY + b'{"concept_id": "' + b"a" * 50 * MB),
    _lines("of brackets", "limit-depth", lambda: _JSON_ENTITY + b"[" * 1_000_000 + b"\n"),
    _lines("with brackets in an entity", "limit-depth",
           lambda: _JSON_ENTITY + _JSON_ENTITY.replace(b"[]", b"[" * 20_000 + b"]" * 20_000)),
    _lines("with bytes that are not UTF-8", "input-encoding", lambda: _JSON_ENTITY + _JSON_ENTITY.replace(b"Fever", b"\xff")),
    _lines("with a NUL", "input-encoding", lambda: _JSON_ENTITY + _JSON_ENTITY.replace(b"Fever", b"\x00")),
    _lines("with a surrogate alone", "input-encoding", lambda: _JSON_ENTITY + _JSON_ENTITY.replace(b"Fever", rb"\ud800")),
    _lines("with a surrogate in an id", "input-encoding", lambda: _JSON_ENTITY + _JSON_ENTITY.replace(b"C1", rb"C\udfff")),
    _lines("with NaN", "json-malformed", lambda: _JSON_ENTITY + _JSON_ENTITY.replace(b"[]", b"NaN")),
    _lines("with a number of a million digits", "json-malformed",
           lambda: _JSON_ENTITY + _JSON_ENTITY.replace(b"[]", b"1" * MB)),
    _lines("with a number for a name", "json-shape", lambda: _JSON_ENTITY + _JSON_ENTITY.replace(b'"Fever"', b"7")),
    _lines("with a list for an entity", "json-shape", lambda: _JSON_ENTITY + b"[1, 2]\n"),
    _lines("with an entity without an id", "json-shape", lambda: _JSON_ENTITY + b'{"canonical_name": "Fever"}\n'),
)  # fmt: skip


# Tables and line formats with broken encodings, rows of the wrong width, or endless lines and records.

_OBO = b"format-version: 1.2\n\n[Term]\nid: HP:1\nname: Fever\n\n"
_MESH = b"*NEWRECORD\nRECTYPE = D\nMH = Fever\nUI = D005334\n\n"
_BIOSYN = b"D005334||fever\nD006261||headache\n"
_CSV = b"id,name\nD005334,fever\n"
_CTD = b"\t".join([b"Fever", b"MESH:D005334", b"", b"", b"", b"", b"", b"Pyrexia", b""]) + b"\n"
_RF2 = "sct2_Concept_Snapshot_INT_20240101.txt"
_BROKEN = {
    "not UTF-8": b"\xff\xfe\xfa",
    "in Latin-1": "Ménière".encode("latin-1"),
    "with surrogates": b"\xed\xa0\x80\xed\xb0\x80",
    "with an overlong NUL": b"\xc0\x80",
    "with a NUL": b"\x00",
}
_FORMATS = {
    "RRF": ("MRCONSO.RRF", ROW, b"Fever"),
    "OBO": ("hp.obo", _OBO, b"Fever"),
    "MeSH ASCII": ("d2024.bin", _MESH, b"Fever"),
    "BioSyn": ("dictionary.txt", _BIOSYN, b"fever"),
    "csv": ("table.csv", _CSV, b"fever"),
}


def _iter_broken() -> Iterable[Case]:
    for label, (name, good, word) in _FORMATS.items():
        for how, wrong in _BROKEN.items():
            data = good + good.replace(word, wrong)
            yield Case(f"{label} {how}", "input-encoding", file(name, lambda data=data: data))  # type: ignore[misc]


def _utf16() -> Iterable[Case]:
    known = {"RRF": "umls", "OBO": "obo", "MeSH ASCII": "mesh_ascii", "BioSyn": "biosyn", "csv": "table"}
    for label, (name, good, _) in _FORMATS.items():
        content = file(name, lambda good=good: (good * 3).decode().encode("utf-16"))  # type: ignore[misc]
        yield Case(f"{label} in UTF-16", "input-encoding", content, format=known[label])


def _endless(head: bytes, part: bytes) -> Content:
    """Return 50 MB of repeated bytes."""

    def content() -> Iterable[bytes]:
        yield head
        for _ in range(50):
            yield (part * (MB // len(part) + 1))[:MB] if b"\n" not in part else part * (MB // len(part))

    return content


def _table(label: str, code: str, name: str, content: Content, format_name: str = "") -> Case:
    return Case(label, code, file(name, content), format=format_name)


TABLES = (
    *_iter_broken(),
    *_utf16(),
    _table("RRF with too few fields", "table-fields", "MRCONSO.RRF", lambda: ROW + ROW[20:]),
    _table("RRF with too many fields", "table-fields", "MRCONSO.RRF", lambda: ROW + b"a|" + ROW),
    _table("RRF cut in a row", "table-fields", "MRCONSO.RRF", lambda: ROW * 100 + ROW[:30]),
    _table("RRF with a wrong row after many", "table-fields", "MRCONSO.RRF", lambda: ROW * 100_000 + ROW[20:]),
    _table("RRF with short rows and a wrong one", "table-fields", "MRCONSO.RRF",
           lambda: (b"|" * 18 + b"\n") * 500_000 + b"|\n"),
    _table("RRF of one line of 50 MB", "limit-line", "MRCONSO.RRF", _endless(ROW, b"a")),
    _table("RRF of one line of bars", "limit-line", "MRCONSO.RRF", _endless(b"", b"|")),
    _table("RRF of binary", "input-encoding", "MRCONSO.RRF", lambda: b"\x7fELF" + bytes(range(256)) * 1000),
    _table("CTD with too few fields", "table-fields", "CTD_diseases.tsv", lambda: _CTD + b"Fever\tMESH:D1\n"),
    _table("CTD of comments without end", "limit-line", "CTD_diseases.tsv", _endless(b"", b"# a comment\n")),
    _table("csv of one line of 50 MB", "limit-line", "table.csv", _endless(b"id,name\n", b"a,")),
    _table("csv with a header of 50 MB", "limit-line", "table.csv", _endless(b"id,name", b",a")),
    _table("csv with a quote that never ends", "table-quote", "table.csv", _endless(b'id,name\n1,"', b"a line\n")),
    _table("csv with 20,000 columns", "table-columns", "table.csv",
          lambda: b"id,name" + b"," * 20_000 + b"\n" + (b"1,a" + b"," * 20_000 + b"\n") * 200),
    _table("csv with two columns of one name", "table-columns", "table.csv", lambda: b"id,name,name\n1,a,b\n"),
    _table("RF2 without its columns", "table-columns", _RF2, lambda: b"id\tname\n1\ta\n"),
    _table("RF2 with a short row", "table-fields", _RF2, lambda: b"id\tactive\n1\t1\n2\n"),
    _table("OBO with a malformed stanza", "obo-malformed", "hp.obo", lambda: _OBO + b"[Term]\nid: HP:2\nsynonym: no quotes\n"),
    _table("OBO with a term without an id", "obo-malformed", "hp.obo", lambda: _OBO + b"[Term]\nname: Nobody\n"),
    _table("OBO of one line of 50 MB", "limit-line", "hp.obo", _endless(_OBO + b"[Term]\nid: HP:2\nname: ", b"a")),
    _table("OBO with a stanza without end", "limit-record", "hp.obo",
          _endless(_OBO + b"[Term]\nid: HP:2\n", b'synonym: "a" EXACT []\n')),
    _table("MeSH ASCII with a record without UI", "mesh-record", "d2024.bin", lambda: _MESH + b"*NEWRECORD\nMH = Nobody\n"),
    _table("MeSH ASCII with a record without end", "limit-record", "d2024.bin", _endless(_MESH, b"ENTRY = a|b\n")),
    _table("MeSH ASCII of one line of 50 MB", "limit-line", "d2024.bin", _endless(_MESH + b"MH = ", b"a")),
    _table("BioSyn with a line of one field", "table-fields", "dictionary.txt", lambda: _BIOSYN + b"D1 fever\n"),
    _table("BioSyn of one line of 50 MB", "limit-line", "dictionary.txt", _endless(_BIOSYN + b"D1||", b"a")),
    _table("BioSyn of short lines and a wrong one", "table-fields", "dictionary.txt", lambda: b"1||a\n" * 400_000 + b"1\n"),
)  # fmt: skip
