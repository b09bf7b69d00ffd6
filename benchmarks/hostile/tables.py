"""Tables and line formats in broken encodings, with rows of the wrong width, or with lines and records without end."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.hostile.archives import ROW
from benchmarks.hostile.case import MB, Case, Content, file

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


def _broken() -> Iterable[Case]:
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
    """Return 50 MB of the same."""

    def content() -> Iterable[bytes]:
        yield head
        for _ in range(50):
            yield (part * (MB // len(part) + 1))[:MB] if b"\n" not in part else part * (MB // len(part))

    return content


def _case(label: str, code: str, name: str, content: Content, format_name: str = "") -> Case:
    return Case(label, code, file(name, content), format=format_name)


CASES = (
    *_broken(),
    *_utf16(),
    _case("RRF with too few fields", "table-fields", "MRCONSO.RRF", lambda: ROW + ROW[20:]),
    _case("RRF with too many fields", "table-fields", "MRCONSO.RRF", lambda: ROW + b"a|" + ROW),
    _case("RRF cut in a row", "table-fields", "MRCONSO.RRF", lambda: ROW * 100 + ROW[:30]),
    _case("RRF with a wrong row after many", "table-fields", "MRCONSO.RRF", lambda: ROW * 100_000 + ROW[20:]),
    _case("RRF with short rows and a wrong one", "table-fields", "MRCONSO.RRF", lambda: (b"|" * 18 + b"\n") * 500_000 + b"|\n"),
    _case("RRF of one line of 50 MB", "limit-line", "MRCONSO.RRF", _endless(ROW, b"a")),
    _case("RRF of one line of bars", "limit-line", "MRCONSO.RRF", _endless(b"", b"|")),
    _case("RRF of binary", "input-encoding", "MRCONSO.RRF", lambda: b"\x7fELF" + bytes(range(256)) * 1000),
    _case("CTD with too few fields", "table-fields", "CTD_diseases.tsv", lambda: _CTD + b"Fever\tMESH:D1\n"),
    _case("CTD of comments without end", "limit-line", "CTD_diseases.tsv", _endless(b"", b"# a comment\n")),
    _case("csv of one line of 50 MB", "limit-line", "table.csv", _endless(b"id,name\n", b"a,")),
    _case("csv with a header of 50 MB", "limit-line", "table.csv", _endless(b"id,name", b",a")),
    _case("csv with a quote that never ends", "limit-line", "table.csv", _endless(b'id,name\n1,"', b"a line\n")),
    _case("csv with 20,000 columns", "table-columns", "table.csv",
          lambda: b"id,name" + b"," * 20_000 + b"\n" + (b"1,a" + b"," * 20_000 + b"\n") * 200),
    _case("csv with two columns of one name", "table-columns", "table.csv", lambda: b"id,name,name\n1,a,b\n"),
    _case("RF2 without its columns", "table-columns", _RF2, lambda: b"id\tname\n1\ta\n"),
    _case("RF2 with a short row", "table-fields", _RF2, lambda: b"id\tactive\n1\t1\n2\n"),
    _case("OBO with a malformed stanza", "obo-malformed", "hp.obo", lambda: _OBO + b"[Term]\nid: HP:2\nsynonym: no quotes\n"),
    _case("OBO with a term without an id", "obo-malformed", "hp.obo", lambda: _OBO + b"[Term]\nname: Nobody\n"),
    _case("OBO of one line of 50 MB", "limit-line", "hp.obo", _endless(_OBO + b"[Term]\nid: HP:2\nname: ", b"a")),
    _case("OBO with a stanza without end", "limit-record", "hp.obo",
          _endless(_OBO + b"[Term]\nid: HP:2\n", b'synonym: "a" EXACT []\n')),
    _case("MeSH ASCII with a record without UI", "mesh-record", "d2024.bin", lambda: _MESH + b"*NEWRECORD\nMH = Nobody\n"),
    _case("MeSH ASCII with a record without end", "limit-record", "d2024.bin", _endless(_MESH, b"ENTRY = a|b\n")),
    _case("MeSH ASCII of one line of 50 MB", "limit-line", "d2024.bin", _endless(_MESH + b"MH = ", b"a")),
    _case("BioSyn with a line of one field", "table-fields", "dictionary.txt", lambda: _BIOSYN + b"D1 fever\n"),
    _case("BioSyn of one line of 50 MB", "limit-line", "dictionary.txt", _endless(_BIOSYN + b"D1||", b"a")),
    _case("BioSyn of short lines and a wrong one", "table-fields", "dictionary.txt", lambda: b"1||a\n" * 400_000 + b"1\n"),
)  # fmt: skip
