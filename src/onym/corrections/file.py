"""Reads and writes corrections: a table with a row for each rule.

    .onymc, .tsv   separated by tabs, in UTF-8; leading lines that begin with # are comments
    .csv, .xlsx    as spreadsheets write them

`# kb: DIGEST` in a comment says which knowledge base the rules were made with. The columns `surface` and `meaning` are
required; the others (`document`, `expansion`, `start`, `end`, `digest`, `add`, `author`, `comment`) may be missing or empty.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from onym.corrections.corrections import Corrections
from onym.corrections.rules import CASE_SENSITIVE_BELOW, Rule
from onym.errors import InputError, LimitError
from onym.kb import KnowledgeBase
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, header, iter_table, sniff_format
from onym.store.files.xlsx import cell_text, read_cells

ENDING = ".onymc"
COLUMNS = tuple(each.name for each in fields(Rule) if each.name != "line")
MAX_RULES = 1_000_000
_REQUIRED = ("surface", "meaning")
_NUMBERS = ("start", "end")
_KB = re.compile(rb"#\s*kb:\s*([0-9a-f]{8,64})\s*$", re.MULTILINE)
_TRUE, _FALSE = ("yes", "true", "1", "x"), ("", "no", "false", "0")
_NUMBER = re.compile(r"[0-9]{1,9}")
_HEAD = 4_096  # bytes in which the comments are searched


def read_corrections(path: Path | str, kb: KnowledgeBase, *, case_sensitive_below: int = CASE_SENSITIVE_BELOW) -> Corrections:
    """Read a file of corrections and check it: ids must be known, and rules must not contradict each other.

    >>> path = getfixture("tmp_path") / "mine.onymc"
    >>> _ = path.write_text("surface\\tmeaning\\nMI\\tmesh:D006973\\n")
    >>> len(read_corrections(path, KnowledgeBase.open(getfixture("tiny_kb"))).rules)
    1
    """
    path = Path(path)
    made_with = "" if path.suffix == ".xlsx" else _find_digest(InputFile.from_path(path))
    return Corrections(read_rules(path), kb, case_sensitive_below=case_sensitive_below, made_with=made_with, where=path.name)


def read_rules(path: Path) -> Iterator[Rule]:
    """Yield the rules of a file; raise InputError with the number of the line for a malformed rule."""
    for number, (line, row) in enumerate(_rows(path), 1):
        if number > MAX_RULES:
            raise LimitError("limit-corrections", f"the file has more than {MAX_RULES:,} rules", where=path.name)
        if any(value.strip() for value in row.values()):
            yield _rule(row, line, path.name)


def write_rules(rules: Iterable[Rule], file: BinaryIO, *, kb: str) -> int:
    """Write rules as .onymc, and return their number. `kb` is the digest of the knowledge base.

    >>> file = io.BytesIO()
    >>> write_rules([Rule("MI", "mesh:D006973", comment="in our notes")], file, kb="5a67d9669e0d46d0")
    1
    >>> file.getvalue().splitlines()[-1]
    b'MI\\tmesh:D006973\\t\\t\\t\\t\\t\\t\\t\\tin our notes'
    """
    count = 0
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    text.write(f"# corrections of Onym\n# kb: {kb}\n")
    rows = csv.writer(text, delimiter="\t", lineterminator="\n")
    rows.writerow(COLUMNS)
    for count, rule in enumerate(rules, 1):  # noqa: B007 - its last value is returned
        rows.writerow([_cell(getattr(rule, name)) for name in COLUMNS])
    text.detach()
    return count


def _cell(value: str | int | bool | None) -> str:
    """Return a value as a cell on one line: rules ignore how white space is written."""
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else " ".join(str(value).replace("\x00", " ").split())


def _find_digest(file: InputFile) -> str:
    found = _KB.search(b"\n".join(_comments(file)))
    return found[1].decode() if found else ""


def _comments(file: InputFile) -> list[bytes]:
    """Return the comments before the header."""
    return list(takewhile(lambda line: line.startswith(b"#"), file.head(_HEAD).splitlines()))


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield each row as text by column, with its number; the header is row 1 after the comments."""
    file = InputFile.from_path(path)
    if path.suffix == ".xlsx":
        rows = (tuple(map(cell_text, row)) for row in read_cells(path))
        columns = _require_columns(list(next(rows, ())), file)
        for number, row in enumerate(rows, 2):
            yield number, dict(zip(columns, row, strict=False))
        return
    form = sniff_format(file, COLUMNS) if path.suffix == ".csv" else TableFormat(quoted=True, comment="#")
    columns = _require_columns(header(file, form), file)
    number = 1 + len(_comments(file))
    for batch in iter_table(file, form, columns):
        for row in batch.to_pylist():
            number += 1
            yield number, row


def _require_columns(columns: Sequence[str], file: InputFile) -> list[str]:
    columns = [name.strip() for name in columns]
    # Column names are not quoted: without a header, they would be surfaces.
    problems = [f"the column {name} is missing, or there are two" for name in _REQUIRED if columns.count(name) != 1]
    problems += [f"column {at} is unknown" for at, name in enumerate(columns, 1) if name not in COLUMNS]
    problems += ["two columns have the same name"] * (len(set(columns)) < len(columns))
    if problems:
        fix = f"the first row has the names of the columns: {', '.join(COLUMNS)}"
        raise InputError("corrections-malformed", problems[0], where=file.name, fix=fix)
    return columns


def _rule(row: Mapping[str, str], line: int, name: str) -> Rule:
    values = {column: value.strip() for column, value in row.items()}
    numbers = {column: values.pop(column, "") for column in _NUMBERS}
    add = values.pop("add", "").lower()
    if add not in _TRUE + _FALSE or not all(value == "" or _NUMBER.fullmatch(value) for value in numbers.values()):
        what = "start and end are whole numbers, and add is yes or empty"
        raise InputError("corrections-malformed", what, where=f"{name}:{line}", fix="correct this line")
    bounds = {column: int(value) if value else None for column, value in numbers.items()}
    try:
        return Rule(**values, start=bounds["start"], end=bounds["end"], add=add in _TRUE, line=line)
    except InputError as e:
        raise InputError("corrections-malformed", e.what, where=f"{name}:{line}", fix="correct this line") from e
