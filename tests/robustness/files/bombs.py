"""Decompression bombs: small files of each format that decode to very large data, also inside gzip, zstd, zip and tar."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import srsly
from spacy.attrs import IDS
from spacy.strings import get_string_id

from tests.robustness.files.case import MB, Case, file
from tests.robustness.files.parquet_bombs import share_text

_DOCUMENTS = {
    "jsonl": ("a.jsonl", b'{"id":"1","text":"{text}"}\n'),
    "bioc_json": ("a.json", b'{"id":"1","infons":{},"passages":[{"offset":0,"infons":{},"text":"{text}"}]}\n'),
    "pubtator": ("a.pubtator", b"1|t|{text}\n1|a|\n\n"),
    "bioc_xml": ("a.xml", b"<document><id>1</id><passage><offset>0</offset><text>{text}</text></passage></document>"),
    "cometa": ("a.tsv", b"1\tfever\ta\t1\tb\t2\t{text}\n"),
    "text": ("a.txt", b"{text} "),
    "medline": ("a.nbib", b"PMID- 1\nTI  - {text}\n\n"),
    "ris": ("a.ris", b"TY  - JOUR\nTI  - {text}\nER  - \n"),
    "table": ("a.csv", b"{text}\n"),
    "records": ("b.jsonl", b'{"title":"{text}"}\n'),
}
_HEADS = {
    "table": b"text\n",
    "bioc_xml": b"<collection>",
    "cometa": b"ID\tTerm\tGeneral SNOMED Label\tGeneral SNOMED ID\tSpecific SNOMED Label\tSpecific SNOMED ID\tExample\n",
}
_SIZE = 12 * MB


def _content(form: str) -> bytes:
    document = _DOCUMENTS[form][1].replace(b"{text}", b"high fever " * 100)
    return _HEADS.get(form, b"") + document * (_SIZE // len(document))


def _zip(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


def _tar(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


_PACKERS: dict[str, Callable[[str, bytes], bytes]] = {
    ".gz": lambda _, data: gzip.compress(data, 6, mtime=0),
    ".zst": lambda _, data: bytes(pa.compress(data, codec="zstd", asbytes=True)),
    ".zip": _zip,
    ".tar.gz": _tar,
}


def _pack_documents(form: str, suffix: str) -> bytes:
    return _PACKERS[suffix](_DOCUMENTS[form][0], _content(form))


def _parquet(suffix: str, size: int, rows: int) -> bytes:
    return _PACKERS[suffix]("a.parquet", share_text(size, rows))


def _archive(form: str, name: str, suffix: str, content: Callable[[], bytes]) -> Case:
    file_name = _DOCUMENTS[form][0] if form in _DOCUMENTS else "a.parquet"
    path = f"{file_name}{suffix}" if suffix in (".gz", ".zst") else f"a{suffix}"
    return Case(f"{form}{suffix}: {name}", "", file(path, content), act="corpus", format=form)


_ARCHIVES = (
    *(
        _archive(form, "12 MB of one document", suffix, partial(_pack_documents, form, suffix))
        for number, form in enumerate(_DOCUMENTS)
        for suffix in [".gz", *([".zst"], [".zip"], [".tar.gz"])[number % 3]]
    ),
    *(_archive("parquet", "one text for 512 rows", suffix, partial(_parquet, suffix, 20 * MB, 512)) for suffix in _PACKERS),
    _archive("parquet", "one text of 7 MB for 512 rows", ".zip", partial(_parquet, ".zip", 7 * MB, 512)),
)


# spaCy's DocBin: endless compressed data, words and strings shared by many tokens, millions of documents and values.

_WORD = "fever"


def _docbin(name: str, content: Callable[[], bytes]) -> Case:
    return Case(f"docbin: {name}", "", file("a.spacy", content), act="corpus", format="docbin")


def _make_file(sizes: list[int], word: str = _WORD, attrs: int = 1, **more: Any) -> bytes:
    """Return a DocBin file of documents that repeat one word."""
    count = sum(sizes)
    tokens = np.zeros((count, attrs), "uint64")
    tokens[:, 0] = get_string_id(word)
    message = {
        "version": "0.1", "attrs": [IDS["ORTH"], IDS["ENT_IOB"], IDS["ENT_TYPE"], IDS["ENT_KB_ID"], IDS["ENT_ID"]][:attrs],
        "tokens": tokens.tobytes(), "spaces": b"\x01" * count, "lengths": np.array(sizes, "int32").tobytes(),
        "strings": [word], "cats": [{}] * len(sizes), "flags": [{}] * len(sizes),
    }  # fmt: skip
    return _docbin_bytes(message | more)


def _docbin_bytes(message: Any) -> bytes:
    return zlib.compress(srsly.msgpack_dumps(message), 1)


def _entities(count: int) -> bytes:
    tokens = np.zeros((count, 5), "uint64")
    tokens[:] = [get_string_id(_WORD), 3, get_string_id(_WORD), get_string_id(_WORD), 0]
    return _make_file([count], attrs=5, tokens=tokens.tobytes())


def _mix_words(count: int) -> bytes:
    """Return a document of random words, which compresses badly."""
    rng = np.random.default_rng(13)
    words = [f"w{number}" for number in range(200)]
    tokens = rng.choice(np.array([get_string_id(word) for word in words], "uint64"), count)
    spaces = rng.integers(0, 2, count).astype(bool)
    return _make_file([count // 4] * 4, tokens=tokens.tobytes(), spaces=spaces.tobytes(), strings=words)


_DOCBINS = (
    _docbin("zeros without end", lambda: zlib.compress(bytes(600 * MB), 9)),
    _docbin("150 MB of random strings", lambda: _docbin_bytes(["x" * 1000] * 150_000)),
    _docbin("a million strings", lambda: _make_file([1], strings=[f"{n}" for n in range(MB)])),
    _docbin("400,000 strings", lambda: _make_file([1], strings=[_WORD, *(f"{n}" for n in range(400_000))])),
    _docbin("a long word, a thousand times", partial(_make_file, [1000], "x" * 100_000)),
    _docbin("a long word in 10,000 documents", partial(_make_file, [10] * 10_000, "x" * 100_000)),
    _docbin("three million words", partial(_make_file, [1_000_000] * 3)),
    _docbin("three million random words", partial(_mix_words, 3_000_000)),
    _docbin("50,000 empty documents", partial(_make_file, [0] * 50_000)),
    _docbin("a million documents by their lengths", lambda: _make_file([1], lengths=bytes(4 * MB))),
    _docbin("a million entities", partial(_entities, MB)),
    _docbin("values inside of values", lambda: zlib.compress(b"\x91" * MB)),
    _docbin("a list that says that it is long", lambda: zlib.compress(b"\xdd\xff\xff\xff\xff" * 64)),
    _docbin("a record of a million values", lambda: _make_file([1], user_data=[srsly.msgpack_dumps([None] * MB)])),
)


# JSON of every format: long texts and numbers, millions of values, escapes, long white space, and mentions that repeat a text.

_LONG = "a" * (20 * MB)
_FITS = "fever " * (MB // 6)


def _line(**values: Any) -> bytes:
    return json.dumps({"id": "1", "text": "high fever", **values}).encode() + b"\n"


def _bioc_json(passages: list[dict[str, Any]], **values: Any) -> bytes:
    document = {"id": "1", "infons": {}, "passages": passages, **values}
    return json.dumps({"source": "", "infons": {}, "documents": [document]}).encode()


def _json_passage(offset: int, text: str, **values: Any) -> dict[str, Any]:
    return {"offset": offset, "infons": {}, "text": text, "annotations": [], **values}


def _bigbio(**values: Any) -> bytes:
    passage = {"id": "p", "type": "a", "text": ["high fever"], "offsets": [[0, 10]]}
    return json.dumps({"id": "1", "document_id": "1", "passages": [passage], "entities": [], **values}).encode() + b"\n"


def _pubannotation(**values: Any) -> bytes:
    return json.dumps([{"sourceid": "1", "text": _FITS, "denotations": [], **values}]).encode()


def _spans(count: int) -> list[dict[str, Any]]:
    """Return denotations that each cover the whole text of a million letters."""
    return [{"span": {"begin": 0, "end": len(_FITS)}, "obj": "a"}] * count


def _jsonl(name: str, content: Callable[[], bytes], act: Literal["corpus", "linked"] = "corpus") -> Case:
    return Case(f"jsonl: {name}", "", file("a.jsonl", content), act=act, format="jsonl")


def _json(form: str, name: str, content: Callable[[], bytes]) -> Case:
    return Case(f"{form}: {name}", "", file("a.json", content), act="corpus", format=form)


def _many(part: bytes, count: int) -> bytes:
    return part * (count - 1) + part.rstrip(b",")


def _pairs(count: int) -> bytes:
    return b",".join(b'"%x":1' % number for number in range(count))


_JSONS = (
    _jsonl("a text of 20 MB", lambda: _line(text=_LONG)),
    _jsonl("a text of 20 MB, linked", lambda: _line(text=_LONG), "linked"),
    _jsonl("a text of 7 MB", lambda: _line(text="a" * (7 * MB))),
    _jsonl("a text of a million escapes", lambda: b'{"id":"1","text":"' + b"\\u00e9" * MB + b'"}\n'),
    _jsonl("a million empty lists", lambda: b'{"id":"1","text":"a","x":[' + _many(b"[],", MB) + b"]}\n"),
    _jsonl("800,000 objects", lambda: b'{"id":"1","text":"a","x":[' + _many(b'{"a":1},', MB * 8 // 10) + b"]}\n"),
    _jsonl("500,000 keys", lambda: b'{"id":"1","text":"a","x":{' + _pairs(500_000) + b"}}\n"),
    _jsonl("nested 100,000 deep", lambda: b'{"id":"1","text":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    _jsonl("a number of 7 million digits", lambda: b'{"id":"1","text":"a","x":' + b"1" * (7 * MB) + b"}\n"),
    _jsonl("a fraction of a million digits", lambda: b'{"id":"1","text":"a","x":0.' + b"1" * MB + b"e9}\n"),
    _jsonl("mentions of a whole text", lambda: _line(text=_FITS, mentions=[{"start": 0, "end": len(_FITS)}] * 20_000)),
    _jsonl("parts of a whole text",
           lambda: _line(text=_FITS, mentions=[{"start": 0, "end": 99, "surface": "x", "parts": [[0, 99]] * 50_000}] * 2)),
    _jsonl("two million empty lines", lambda: b"\n" * (2 * MB) + _line()),
    _jsonl("50,000 lines that are no objects", lambda: b"1\n" * 50_000),
    _json("bioc_json", "a text of 20 MB", lambda: _bioc_json([_json_passage(0, _LONG)])),
    _json("bioc_json", "100 gaps of 8 MB", lambda: _bioc_json([_json_passage(n * 8 * MB, "a") for n in range(100)])),
    _json("bioc_json", "a gap of a thousand million", lambda: _bioc_json([_json_passage(10**9, "a")])),
    _json("bioc_json", "a million infons",
          lambda: _bioc_json([_json_passage(0, "a", infons={f"{n:x}": "" for n in range(MB)})])),
    _json("bioc_json", "200,000 passages", lambda: _bioc_json([_json_passage(n, "a") for n in range(200_000)])),
    _json("bioc_json", "an item that never ends", lambda: b'{"documents":[{"infons":{},"passages":[' + b"1," * (10 * MB)),
    _json("label_studio", "a million results",
          lambda: b'[{"id":1,"data":{"text":"a"},"predictions":[{"result":[' + b"{}," * MB + b"{}]}]}]"),
    _json("doccano", "a million labels", lambda: b'{"text":"a","label":[' + b'[0,1,"b"],' * MB + b'[0,1,"b"]]}'),
    _json("bigbio", "a text of 20 MB", lambda: _bigbio(passages=[{"text": [_LONG], "offsets": [[0, 9]]}])),
    _json("bigbio", "100 gaps of 8 MB",
          lambda: _bigbio(passages=[{"text": ["a"], "offsets": [[n * 8 * MB, 0]]} for n in range(100)])),
    _json("bigbio", "events by the million", lambda: _bigbio(events=[{}] * 400_000)),
    _json("pubannotation", "mentions of a whole text", lambda: _pubannotation(denotations=_spans(10_000))),
    _json("pubannotation", "a text of 20 MB", lambda: _pubannotation(text=_LONG)),
    _json("pubannotation", "attributes by the million", lambda: _pubannotation(attributes=[{"subj": "T1"}] * 500_000)),
)  # fmt: skip


# Line formats, tables and plain text: long lines, endless documents, spans that repeat a text, many small cells.

_TEXT = "fever " * (MB // 6)
_COMETA = "ID\tTerm\tGeneral SNOMED Label\tGeneral SNOMED ID\tSpecific SNOMED Label\tSpecific SNOMED ID\tExample\n"


def _text(form: str, name: str, content: Callable[[], bytes], file_name: str = "a.txt") -> Case:
    return Case(f"{form}: {name}", "", file(file_name, content), act="corpus", format=form)


def _folder(contents: dict[str, Callable[[], str]], folder: Path) -> Path:
    for name, content in contents.items():
        (folder / name).write_text(content())
    return folder


def _files(form: str, name: str, contents: dict[str, Callable[[], str]]) -> Case:
    return Case(f"{form}: {name}", "", partial(_folder, contents), act="corpus", format=form)


def _brat(name: str, annotations: Callable[[], str], text: str = "high fever") -> Case:
    return _files("brat", name, {"a.txt": lambda: text, "a.ann": annotations})


def _genbioel(name: str, context: Callable[[], str]) -> Case:
    contents = {"a.source": lambda: json.dumps([context()]) + "\n", "a.target": lambda: '["a is", "a"]\n'}
    return _files("genbioel", name, contents)


def _cometa(name: str, rows: Callable[[], str]) -> Case:
    def content() -> bytes:
        return (_COMETA + rows()).encode()

    return _text("cometa", name, content, "a.tsv")


def _pubtator(lines: str, count: int) -> bytes:
    return ("1|t|high fever\n1|a|\n" + lines * count).encode()


def _mix_lines(count: int) -> bytes:
    """Return a PubTator document with alternating mention and relation lines."""
    line = "1\t5\t10\tfever\tDisease\tD{0}\n1\tCID\tD{0}\tD{0}\n"
    return ("1|t|high fever\n1|a|\n" + "".join(line.format(number) for number in range(count))).encode()


_READ_AS_TABLES = (
    _text("table", "a cell of 20 MB", lambda: b"id,text\n1," + b"a" * (20 * MB) + b"\n", "a.csv"),
    _text("table", "a million columns", lambda: b"text" + b",a" * MB + b"\nfever" + b"," * MB + b"\n", "a.csv"),
    _text("records", "a text of 20 MB", lambda: b'[{"text": "' + b"a" * (20 * MB) + b'"}]', "a.json"),
    _text("records", "a million fields", lambda: b'[{"text": "a"' + b', "a": 1' * MB + b"}]", "a.json"),
    _text("medline", "an abstract of a million lines", lambda: b"PMID- 1\nTI  - a\nAB  - a\n" + b"      a\n" * MB, "a.nbib"),
    _text("medline", "a title of 20 MB", lambda: b"PMID- 1\nTI  - " + b"a" * (20 * MB) + b"\n", "a.nbib"),
    _text("ris", "a million titles", lambda: b"TY  - JOUR\n" + b"TI  - a\n" * MB + b"ER  - \n", "a.ris"),
    _text("ris", "an abstract of 20 MB", lambda: b"TY  - JOUR\nAB  - " + b"a" * (20 * MB) + b"\nER  - \n", "a.ris"),
)
_LINES = (
    _text("text", "20 MB", lambda: b"fever " * (20 * MB // 6)),
    _text("text", "7 MB", lambda: b"fever " * (7 * MB // 6)),
    _text("text", "7 MB of emoji", lambda: "\U0001f9ec".encode() * (7 * MB // 4)),
    _text("pubtator", "a line of 20 MB", lambda: b"1|t|" + b"a" * (20 * MB)),
    _text("pubtator", "a title and an abstract of 900 KB", lambda: b"1|t|" + b"a" * 900_000 + b"\n1|a|" + b"a" * 900_000),
    _text("pubtator", "mentions and relations in turn", partial(_mix_lines, 5_000)),
    _text("pubtator", "a document of a million lines", partial(_pubtator, "1\t5\t10\tfever\tDisease\tD005334\n", MB)),
    _text("pubtator", "an id of 50,000 ids", lambda: _pubtator("1\t5\t10\tfever\tDisease\t" + "D1|" * 50_000 + "D2\n", 1)),
    _text("pubtator", "a line of a million tabs", lambda: _pubtator("1\t5\t10\tfever" + "\t" * 900_000 + "\n", 1)),
    _text("pubtator", "100,000 titles", lambda: b"1|t|a\n" * 100_000),
    _brat("100,000 notes", lambda: "#1\tnote\n" * 99_000),
    _brat("a million notes", lambda: "#1\tnote\n" * MB),
    _brat("spans of a whole text", lambda: f"T1\tA {';'.join(['0 999996'] * 100_000)}\tx\n", _TEXT),
    _brat("mentions of a whole text", lambda: "".join(f"T{n}\tA 0 999996\t\n" for n in range(50_000)), _TEXT),
    _brat("a mention of 300,000 ids", lambda: "T1\tA 5 10\tfever\n" + "N1\tReference T1 a:1\tb\n" * 300_000),
    _files("brat", "a text of 20 MB", {"a.txt": lambda: "fever " * (20 * MB // 6), "a.ann": str}),
    _text("biosyn", "a million rows of an id", lambda: b"1||0|1||A||b||D1\n" * MB, "a.concept"),
    _text("biosyn", "a row of 300,000 bars", lambda: b"1||0|1||A||" + b"|" * 300_000 + b"\n", "a.concept"),
    _genbioel("starts without an end", lambda: "START a " * 120_000),
    _genbioel("a text of 20 MB", lambda: "START a END " + "a" * (20 * MB)),
    _text("hpo_gsc", "a document of a million lines", lambda: b"1\nhigh fever\n" + b"5\t10\tfever\tHP:0001945\n" * MB),
    _text("hpo_gsc", "a line of 20 MB", lambda: b"1\n" + b"a" * (20 * MB)),
    _cometa("a row of 20 MB", lambda: f"1\tfever\ta\t1\tb\t2\t{'a' * (20 * MB)}\n"),
    _cometa("a quote that never ends", lambda: '1\tfever\ta\t1\tb\t2\t"' + "a line\n" * MB),
    _cometa("100,000 rows of nothing", lambda: "\t\t\t\t\t\t\n" * 100_000),
    _cometa("a row of 100,000 columns", lambda: "\ta" * 100_000),
    _text("askapatient", "a line of 20 MB", lambda: b"123456789\tfever\t" + b"\xe9" * (20 * MB)),
    _text("askapatient", "100,000 empty lines", lambda: b"123456789\tfever\tfever\n" + b"\n" * 100_000),
)


# XML of BioC and PubMed: long texts, thousands of attributes and namespaces, nesting, white space, many empty elements.

_OPEN = b"<collection><document><id>1</id>"
_CLOSE = b"</document></collection>"
_LETTERS = b"abcdefghi "


def _bioc(inside: bytes) -> bytes:
    return _OPEN + inside + _CLOSE


def _passage(offset: int, text: bytes) -> bytes:
    return b"<passage><offset>%d</offset><text>%s</text></passage>" % (offset, text)


def _pubmed(title: bytes, abstract: bytes = b"") -> bytes:
    article = b"<Article><ArticleTitle>" + title + b"</ArticleTitle><Abstract>" + abstract + b"</Abstract></Article>"
    return (
        b"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID>"
        + article
        + b"</MedlineCitation></PubmedArticle></PubmedArticleSet>"
    )


def _attributes(count: int, form: bytes) -> bytes:
    return b" ".join(form % number for number in range(count))


def _xml(name: str, content: Callable[[], bytes], form: str = "bioc_xml") -> Case:
    return Case(f"{form}: {name}", "", file("a.xml", content), act="corpus", format=form)


_MARKUP = (
    _xml("a text of 20 MB", lambda: _bioc(_passage(0, _LETTERS * (2 * MB)))),
    _xml("a text of 7 MB", lambda: _bioc(_passage(0, _LETTERS * (7 * MB // 10)))),
    _xml("a text of a million references", lambda: _bioc(_passage(0, b"&#233;" * MB))),
    _xml("a CDATA section of 20 MB", lambda: _bioc(_passage(0, b"<![CDATA[" + _LETTERS * (2 * MB) + b"]]>"))),
    _xml("a text cut by 150,000 comments", lambda: _bioc(_passage(0, b"a<!---->" * 150_000))),
    _xml("100 gaps of 8 MB", lambda: _bioc(b"".join(_passage(n * 8 * MB, b"a") for n in range(100)))),
    _xml("190,000 empty elements", lambda: _bioc(b"<a/>" * 190_000)),
    _xml("100,000 attributes", lambda: _bioc(b"<passage " + _attributes(100_000, b'a%x=""') + b"/>")),
    _xml("50,000 namespaces", lambda: _bioc(b"<passage " + _attributes(50_000, b'xmlns:a%x="b"') + b"/>")),
    _xml("namespaces on nested elements",
          lambda: _bioc(b"".join(b"<a %s>" % _attributes(1000, b'xmlns:a%x="b"') for _ in range(60)) + b"</a>" * 60)),
    _xml("nested 200 deep, a thousand times", lambda: _bioc((b"<a>" * 200 + b"</a>" * 200) * 450)),
    _xml("nested 200,000 deep", lambda: _bioc(b"<a>" * 200_000)),
    _xml("40,000 infons", lambda: _bioc(b'<infon key="a">b</infon>' * 40_000)),
    _xml("20,000 documents of nothing", lambda: b"<collection>" + b"<document/>" * 20_000 + b"</collection>"),
    _xml("a title of 20 MB", lambda: _pubmed(_LETTERS * (2 * MB)), "pubmed"),
    _xml("60,000 sections", lambda: _pubmed(b"a", b'<AbstractText Label="b">c</AbstractText>' * 60_000), "pubmed"),
    _xml("a title in 90,000 tags", lambda: _pubmed(b"<i>a</i>" * 90_000), "pubmed"),
    _xml("a label of 7 MB", lambda: _pubmed(b"a", b'<AbstractText Label="' + b"b" * (7 * MB) + b'"/>'), "pubmed"),
)  # fmt: skip

CASES: tuple[Case, ...] = (*_DOCBINS, *_JSONS, *_MARKUP, *_LINES, *_READ_AS_TABLES, *_ARCHIVES)
