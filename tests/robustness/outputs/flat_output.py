"""Write the flat table in every format, read it with the usual libraries, and compare it cell by cell.

rows           rows of the table: abstracts of BC5CDR linked by the starter, and mentions that spreadsheets misread
files          files read: five formats, each by `read_flat`, and by polars, pandas or openpyxl if they support it
differences    cells that changed
formulas       cells that a spreadsheet would evaluate: formulas in .xlsx, and .csv and .tsv texts that begin with = + - @
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import data_folder

from onym.datasets.prepared import open_dataset
from onym.outputs.base import OutputContext
from onym.outputs.rows import WRITERS
from onym.outputs.table import read_flat, write
from onym.packs import load
from onym.types import COLUMNS, Candidate, Document, Link, LinkedDocument, Mention, kinds_of

UPPER_BOUNDS = {"differences": 0, "formulas": 0}
_DOCUMENTS, _QUICK = 1_000, 30
_FORMULA = ("=", "+", "-", "@")
_HOSTILE = (
    *("=1+1", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''", '="a"', "=HYPERLINK(A1)", "-"),
    *(
        "001",
        "1e5",
        "TRUE",
        "2026-01-02",
        "NA",
        "nan",
        "None",
        "null",
        "a,b",
        "a;b",
        "a\tb",
        "a\nb",
        "a\r\nb",
        'a"b',
        " a ",
        "\u00a0",
    ),
    *(" a ", "\u00a0", "_x0041_", "_x005F_", "\x01", "\x1f", "\ufffe", "\U0001f9ec", "e\u0301", "\u202eabc", "x" * 30_000),
)
Cells = list[dict[str, Any]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=_DOCUMENTS, help="number of abstracts to link")


def run(options: argparse.Namespace) -> dict[str, object]:
    linked = [*_abstracts(_QUICK if options.quick else options.documents), *hostile_documents()]
    rows = [row for each in linked for row in each.rows()]
    files = differences = formulas = 0
    with tempfile.TemporaryDirectory() as name:
        for ending in WRITERS:
            path = Path(name) / f"links{ending}"
            with path.open("wb") as file:
                write(linked, file, OutputContext(path))
            for read in (_by_onym, *_READERS[ending]):
                files += 1
                differences += _differences(rows, read(path))
            formulas += _formulas(path)
    return {"rows": len(rows), "files": files, "differences": differences, "formulas": formulas}


def _abstracts(count: int) -> Iterator[LinkedDocument]:
    docs = [
        replace(doc, mentions=()) for split in ("dev", "test") for doc in open_dataset("bc5cdr", data_folder()).documents(split)
    ]
    return load("starter").link_many(docs[:count])


def hostile_documents() -> Iterator[LinkedDocument]:
    for number, text in enumerate(_HOSTILE):
        mention = Mention(0, len(text), text, type=text[:40])
        candidate = Candidate("mesh:D005334", text, number / 7, text, "Disease")
        yield LinkedDocument(Document(text[:40], text, (mention,)), (Link(mention, (candidate,)), Link(mention)))


def _by_onym(path: Path) -> Cells:
    return read_flat(path).to_dicts()


def _by_polars(path: Path) -> Cells:
    import polars as pl

    return pl.read_parquet(path).to_dicts()


def _by_json(path: Path) -> Cells:
    return [json.loads(line) for line in path.read_bytes().decode().split("\n")[:-1]]


def _by_pandas(path: Path) -> Cells:
    import pandas as pd

    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    else:
        kinds = {name: "string" for name, kind in kinds_of().items() if kind is str}
        frame = pd.read_csv(
            path, sep="\t" if path.suffix == ".tsv" else ",", dtype=kinds, keep_default_na=False, na_values=[""],
            float_precision="round_trip", lineterminator="\n",
        )  # fmt: skip
        for name in kinds:
            frame[name] = frame[name].str.replace("^'", "", regex=True)
    return [{name: _plain(value) for name, value in row.items()} for row in frame.to_dict("records")]


def _by_openpyxl(path: Path) -> Cells:
    import openpyxl

    from onym.store.files.xlsx import _unescape

    head, *rows = openpyxl.load_workbook(path, read_only=True).worksheets[0].iter_rows(values_only=True)
    padded = (row + (None,) * (len(head) - len(row)) for row in rows)
    return [
        {str(name): _unescape(cell) if isinstance(cell, str) else cell for name, cell in zip(head, row, strict=True)}
        for row in padded
    ]


def _plain(value: Any) -> Any:
    import pandas as pd

    return None if pd.isna(value) else value


_READERS: dict[str, tuple[Callable[[Path], Cells], ...]] = {
    ".tsv": (_by_pandas,),
    ".csv": (_by_pandas,),
    ".jsonl": (_by_json,),
    ".parquet": (_by_polars, _by_pandas),
    ".xlsx": (_by_openpyxl,),
}


def _differences(rows: Cells, found: Cells) -> int:
    if len(rows) != len(found):
        return len(COLUMNS) * abs(len(rows) - len(found))
    return sum(row[name] != other.get(name) for row, other in zip(rows, found, strict=True) for name in COLUMNS)


def _formulas(path: Path) -> int:
    if path.suffix == ".xlsx":
        import openpyxl

        sheet = openpyxl.load_workbook(path).worksheets[0]
        return sum(cell.data_type == "f" for row in sheet.iter_rows() for cell in row)
    if path.suffix not in (".csv", ".tsv"):
        return 0
    texts = [name for name, kind in kinds_of().items() if kind is str]
    with path.open(encoding="utf-8", newline="") as file:
        cells = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        return sum(row[name].startswith(_FORMULA) for row in cells for name in texts)
