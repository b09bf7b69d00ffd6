"""Reads the first sheet of .xlsx files, and writes rows as cells that are never evaluated as formulas.

An .xlsx file is a zip archive of XML. Before openpyxl reads it row by row, its central directory is checked like that of any
zip archive, and its unpacked size is limited. Formulas are not computed: their last stored value is used.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from onym.errors import ConfigError, InputError, LimitError, missing_extra
from onym.store.files.archives import zip_files
from onym.store.files.stream import open_regular
from onym.store.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from openpyxl.cell import WriteOnlyCell

MAX_ROWS = 1_048_576
"""Maximum number of rows in a sheet, including the header."""
_MAX_LETTERS = 32_767  # maximum characters in a cell
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HIDDEN = re.compile(
    "_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
)  # characters that XML cannot contain, and the `_` of text that looks like an escape
_SHOWN = re.compile("_x([0-9A-Fa-f]{4})_")


def require_xlsx() -> None:
    """Raise ConfigError if openpyxl is not installed."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as e:
        raise missing_extra("a spreadsheet (.xlsx)", "serve") from e


def read_xlsx(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the first sheet as strings, the header first; empty cells are empty strings."""
    for row in read_cells(path, limits):
        yield tuple(map(cell_text, row))


def read_xlsx_bytes(content: bytes, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[str, ...]]:
    """Like `read_xlsx`, but for a workbook given as bytes."""
    with _as_file(content) as path:
        yield from read_xlsx(path, limits)


@contextmanager
def _as_file(content: bytes) -> Iterator[Path]:
    if hasattr(os, "memfd_create"):  # in memory: a killed process leaves no file behind
        with os.fdopen(os.memfd_create("workbook"), "wb", buffering=0) as file:
            file.write(content)
            yield Path(f"/proc/self/fd/{file.fileno()}")
        return
    with tempfile.TemporaryDirectory(prefix="onym-") as folder:
        path = Path(folder) / "workbook.xlsx"
        path.write_bytes(content)
        yield path


def read_cells(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the first sheet as values: strings, numbers, dates, or None for empty cells.

    Rows are padded to the length of the header.
    """
    require_xlsx()
    _require_bounded(path, limits)
    import openpyxl

    width = 0
    try:
        with open_regular(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl warns about unsupported styles and extensions
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True)):
                if number >= MAX_ROWS:  # openpyxl yields an empty row for each number that is skipped
                    raise LimitError("limit-record", f"a sheet has at most {MAX_ROWS:,} rows", where=path.name)
                width = width or len(row)
                cells = [_unescape(cell) if isinstance(cell, str) else cell for cell in row]
                yield tuple(cells + [None] * (width - len(cells)))
    except (GeneratorExit, LimitError):
        raise
    except Exception as e:  # for damaged workbooks, openpyxl raises XML, zip, key, value and type errors
        fix = "open it in a spreadsheet program and save it again, or save it as .csv"
        raise InputError("xlsx-malformed", "damaged workbook", where=path.name, fix=fix) from e


def write_xlsx(rows: Iterable[Sequence[Any]], columns: Sequence[str], file: BinaryIO) -> None:
    """Write a sheet. Strings that look like formulas stay text; raise ConfigError if rows or cells exceed Excel's limits."""
    require_xlsx()
    import openpyxl
    from lxml.etree import SerialisationError

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("onym")
    sheet.freeze_panes = "A2"
    try:
        try:
            for number, row in enumerate(chain([columns], rows)):
                require_few_rows(number)
                sheet.append([_cell(sheet, value) for value in row])
        except BaseException:
            with suppress(SerialisationError):
                sheet.close()  # close the sheet without saving it, because it is incomplete
            raise
        book.save(file)
    except SerialisationError as e:  # lxml's error if the temporary file of the sheet cannot be written
        raise OSError(errno.EIO, "the sheet cannot be written") from e


def require_few_rows(count: int, where: str = "") -> None:
    """Raise ConfigError if a sheet cannot hold this many rows in addition to a header.

    >>> require_few_rows(2_000_000, "mapped.xlsx")
    Traceback (most recent call last):
    onym.errors.ConfigError: [xlsx-limit] a sheet can have at most 1,048,576 rows...
    """
    if count >= MAX_ROWS:
        raise _too_large(f"a sheet can have at most {MAX_ROWS:,} rows", where)


def _require_bounded(path: Path, limits: Limits) -> None:
    """Reject an unsafe archive, or one whose unpacked size exceeds the ratio limit."""
    unpacked = sum(member.size for member in zip_files(path, limits))
    if unpacked > max(limits.ratio_grace_bytes, limits.ratio * path.stat().st_size):
        what = f"unpacks to more than {limits.ratio} times its size, as a decompression bomb does"
        raise LimitError("limit-ratio", what, where=path.name)


def _cell(sheet: Any, value: Any) -> WriteOnlyCell | Any:
    from openpyxl.cell import WriteOnlyCell

    if isinstance(value, float):
        number = WriteOnlyCell(sheet, repr(value))  # as text with all digits: openpyxl would write only 16 digits
        number.data_type = "n"
        return number
    if not isinstance(value, str):
        return value
    if len(value) > _MAX_LETTERS:
        raise _too_large(f"a cell can have at most {_MAX_LETTERS:,} characters")
    cell = WriteOnlyCell(sheet, _escape(value))
    cell.data_type = "s"  # set the type "string": openpyxl treats text that starts with = as a formula
    if value.startswith(_FORMULA):
        cell.quotePrefix = True
    return cell


def _too_large(what: str, where: str = "") -> ConfigError:
    return ConfigError("xlsx-limit", what, where=where, fix="write a .csv, .tsv or .parquet file instead")


def _escape(text: str) -> str:
    """Escape characters that XML cannot contain as `_xHHHH_`, as Excel does.

    >>> _escape("a\\x01_x0041_"), _unescape(_escape("a\\x01_x0041_"))
    ('a_x0001__x005F_x0041_', 'a\\x01_x0041_')
    """
    return _HIDDEN.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def _unescape(text: str) -> str:
    return _SHOWN.sub(lambda found: chr(int(found[1], 16)), text)


def cell_text(value: Any) -> str:
    """Convert the value of a cell to a string.

    >>> cell_text(None), cell_text(3.0), cell_text("fever")
    ('', '3', 'fever')
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
