"""Formats of lines, tables and plain text: long lines, documents that never end, spans that repeat a text, many small cells."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.hostile.case import MB, Case, file

_TEXT = "fever " * (MB // 6)
_COMETA = "ID\tTerm\tGeneral SNOMED Label\tGeneral SNOMED ID\tSpecific SNOMED Label\tSpecific SNOMED ID\tExample\n"


def _case(form: str, name: str, content: Callable[[], bytes], file_name: str = "a.txt") -> Case:
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

    return _case("cometa", name, content, "a.tsv")


def _pubtator(lines: str, count: int) -> bytes:
    return ("1|t|high fever\n1|a|\n" + lines * count).encode()


def _mixed(count: int) -> bytes:
    """Return mentions and relations in turn."""
    line = "1\t5\t10\tfever\tDisease\tD{0}\n1\tCID\tD{0}\tD{0}\n"
    return ("1|t|high fever\n1|a|\n" + "".join(line.format(number) for number in range(count))).encode()


CASES = (
    _case("text", "20 MB", lambda: b"fever " * (20 * MB // 6)),
    _case("text", "7 MB", lambda: b"fever " * (7 * MB // 6)),
    _case("text", "7 MB of emoji", lambda: "\U0001f9ec".encode() * (7 * MB // 4)),
    _case("pubtator", "a line of 20 MB", lambda: b"1|t|" + b"a" * (20 * MB)),
    _case("pubtator", "a title and an abstract of 900 KB", lambda: b"1|t|" + b"a" * 900_000 + b"\n1|a|" + b"a" * 900_000),
    _case("pubtator", "mentions and relations in turn", partial(_mixed, 5_000)),
    _case("pubtator", "a document of a million lines", partial(_pubtator, "1\t5\t10\tfever\tDisease\tD005334\n", MB)),
    _case("pubtator", "an id of 50,000 ids", lambda: _pubtator("1\t5\t10\tfever\tDisease\t" + "D1|" * 50_000 + "D2\n", 1)),
    _case("pubtator", "a line of a million tabs", lambda: _pubtator("1\t5\t10\tfever" + "\t" * 900_000 + "\n", 1)),
    _case("pubtator", "100,000 titles", lambda: b"1|t|a\n" * 100_000),
    _brat("100,000 notes", lambda: "#1\tnote\n" * 99_000),
    _brat("a million notes", lambda: "#1\tnote\n" * MB),
    _brat("spans of a whole text", lambda: f"T1\tA {';'.join(['0 999996'] * 100_000)}\tx\n", _TEXT),
    _brat("mentions of a whole text", lambda: "".join(f"T{n}\tA 0 999996\t\n" for n in range(50_000)), _TEXT),
    _brat("a mention of 300,000 ids", lambda: "T1\tA 5 10\tfever\n" + "N1\tReference T1 a:1\tb\n" * 300_000),
    _files("brat", "a text of 20 MB", {"a.txt": lambda: "fever " * (20 * MB // 6), "a.ann": str}),
    _case("biosyn", "a million rows of an id", lambda: b"1||0|1||A||b||D1\n" * MB, "a.concept"),
    _case("biosyn", "a row of 300,000 bars", lambda: b"1||0|1||A||" + b"|" * 300_000 + b"\n", "a.concept"),
    _genbioel("starts without an end", lambda: "START a " * 120_000),
    _genbioel("a text of 20 MB", lambda: "START a END " + "a" * (20 * MB)),
    _case("hpo_gsc", "a document of a million lines", lambda: b"1\nhigh fever\n" + b"5\t10\tfever\tHP:0001945\n" * MB),
    _case("hpo_gsc", "a line of 20 MB", lambda: b"1\n" + b"a" * (20 * MB)),
    _cometa("a row of 20 MB", lambda: f"1\tfever\ta\t1\tb\t2\t{'a' * (20 * MB)}\n"),
    _cometa("a quote that never ends", lambda: '1\tfever\ta\t1\tb\t2\t"' + "a line\n" * MB),
    _cometa("100,000 rows of nothing", lambda: "\t\t\t\t\t\t\n" * 100_000),
    _cometa("a row of 100,000 columns", lambda: "\ta" * 100_000),
    _case("askapatient", "a line of 20 MB", lambda: b"123456789\tfever\t" + b"\xe9" * (20 * MB)),
    _case("askapatient", "100,000 empty lines", lambda: b"123456789\tfever\tfever\n" + b"\n" * 100_000),
)
