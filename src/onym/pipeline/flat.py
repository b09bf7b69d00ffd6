"""Files of the flat table: a row for each mention, for people and dataframes, in any format of `onym.predictions.rows`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from onym.predictions.rows import read_rows, write_rows
from onym.types import LinkedDocument
from onym.views import COLUMNS, IdStyle, kinds_of

if TYPE_CHECKING:
    import polars as pl

TEXT = "text"
_TABLES = (".tsv", ".csv", ".xlsx")


def is_table(path: Path) -> bool:
    """Tell whether a file's name says that it is a flat table: .jsonl and .parquet may be corpora too.

    >>> is_table(Path("links.csv")), is_table(Path("links.jsonl"))
    (True, False)
    """
    return path.suffix in _TABLES


def write_flat(
    linked: Iterable[LinkedDocument], path: Path, file: BinaryIO, *, text: bool = True, style: IdStyle = "obo"
) -> None:
    """Write the rows of linked documents one by one; without `text`, the column of mentions' texts is left out."""
    columns = kinds_of([name for name in COLUMNS if text or name != TEXT])
    write_rows(([row[name] for name in columns] for each in linked for row in each.rows(style)), columns, path, file)


def read_flat(path: Path) -> pl.DataFrame:
    """Read a flat table that was written here.

    >>> from onym.types import Candidate, Document, Link, Mention
    >>> doc = Document("1", "=SUM(1)", (Mention(0, 7, "=SUM(1)"),))
    >>> linked = LinkedDocument(doc, (Link(doc.mentions[0], (Candidate("hp:0001945", "fever", 1.0),)),))
    >>> path = getfixture("tmp_path") / "links.csv"
    >>> with path.open("wb") as file:
    ...     write_flat([linked], path, file)
    >>> "'=SUM(1)" in path.read_text(), read_flat(path)["text"].to_list()
    (True, ['=SUM(1)'])
    """
    return read_rows(path, kinds_of())
