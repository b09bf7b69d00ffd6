"""Migrates tables with a column of ids: mapping tables, tables of links, SSSOM mapping sets, and files of corrections.

A table gets three more columns: the old id of each row that changed, what became of its ids, and suggestions. SSSOM and
corrections have fixed columns, so the ids and labels are replaced in place and the audit table has the old ids; their unchanged
rows keep their bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from onym.corpora.ids import parse_ids, replace_ids
from onym.corrections.file import COLUMNS, ENDING
from onym.corrections.rules import NO_CONCEPT, NOT_A_MENTION
from onym.errors import ConfigError, InputError, OnymError
from onym.kb.replacements import name_of
from onym.migrate.audit import Migrated
from onym.migrate.links import Fate, LinkMigrator, LinkRecord
from onym.outputs.sssom import ENDING as SSSOM
from onym.outputs.sssom import is_sssom
from onym.store.files.json import parse_line
from onym.store.files.lines import iter_raw_lines
from onym.store.files.parquet import iter_parquet, parquet_schema
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, header, require_columns, sniff_format
from onym.store.files.xlsx import cell_text, read_cells, write_xlsx
from onym.store.output import whole_file
from onym.types import style_id

CONCEPT_COLUMN = "concept_id"
ADDED = ("old_id", "change", "suggested")
"""The columns that are added to a table."""
_SSSOM_COLUMNS = {"subject_id": "subject_label", "object_id": "object_label"}
_LABELS = {CONCEPT_COLUMN: "preferred_name"}
_SURFACE, _MEANING = "surface", "meaning"  # the required columns of corrections
Row = list[Any]


@dataclass(frozen=True)
class TableMigration:
    """Migrates one table. `columns` are the columns with ids; a table with `has_fixed_columns` gets no others."""

    path: Path
    out: Path
    columns: Sequence[str]
    migrator: LinkMigrator
    result: Migrated
    force: bool = False
    has_fixed_columns: bool = False

    @classmethod
    def of(
        cls, path: Path, out: Path, column: str, migrator: LinkMigrator, result: Migrated, *, force: bool = False
    ) -> TableMigration:
        """Open a table; without `column`, take the columns with ids of SSSOM or corrections, or the column `concept_id`."""
        require_table(path, out)
        columns = find_columns(path, column)
        return cls(path, out, columns, migrator, result, force, is_sssom(path) or columns == [_MEANING])

    def iter_records(self) -> Iterator[LinkRecord]:
        """Write the table, and yield what became of every id. The output appears when the iterator is exhausted."""
        kind = self.path.suffix.lower()
        write = {".parquet": self._write_parquet, ".xlsx": self._write_xlsx, ".jsonl": self._write_lines}
        with whole_file(self.out, force=self.force) as file:
            yield from write.get(kind, self._write_separated)(file)

    def _write_separated(self, file: BinaryIO) -> Iterator[LinkRecord]:
        """Keep the bytes of cells that do not change."""
        source = InputFile.from_path(self.path)
        form = _form_of(source, self.columns)
        names: list[str] = []
        for raw, cells in iter_raw_rows(source, form):
            ending = raw[len(raw.rstrip("\r\n")) :]
            if not names and cells:
                names = [name.strip().removeprefix("\ufeff") for name in cells]
                added = "".join(form.delimiter + name for name in self._name_columns(names))
                file.write((raw.rstrip("\r\n") + added + ending).encode())
            elif not cells:
                file.write(raw.replace(self.migrator.found.old.digest, self.migrator.found.new.digest).encode())
            else:
                new, fates = self._migrate_row(names, cells)
                line = raw.rstrip("\r\n") if new == cells else _join(new, form)
                more = "" if self.has_fixed_columns else form.delimiter + _join(self._describe(fates), form)
                file.write((line + more + ending).encode())
                yield from self._records(fates, names, cells)

    def _write_lines(self, file: BinaryIO) -> Iterator[LinkRecord]:
        for number, line in enumerate(_text_lines(InputFile.from_path(self.path)), 1):
            where = f"{self.path.name}:{number}"
            plain = parse_line(line.encode(), where)
            if not isinstance(plain, dict):
                fix = "write the table again with Onym"
                raise InputError("table-malformed", "a line is not a JSON object", where=where, fix=fix)
            new, fates = self._migrate_row(list(plain), list(plain.values()))
            added = dict(zip(self._name_columns(list(plain)), self._describe(fates), strict=True))
            file.write(json.dumps(dict(zip(plain, new, strict=True)) | added, ensure_ascii=False).encode() + b"\n")
            yield from self._records(fates, list(plain), list(plain.values()))

    def _write_xlsx(self, file: BinaryIO) -> Iterator[LinkRecord]:
        rows = read_cells(self.path)
        names = [cell_text(name) for name in next(rows, ())]
        records: list[LinkRecord] = []

        def iter_rows() -> Iterator[Row]:
            for values in rows:
                if any(map(cell_text, values)):
                    own = list(values[: len(names)])
                    new, fates = self._migrate_row(names, own)
                    records.extend(self._records(fates, names, own))
                    yield [*new, *self._describe(fates)]

        write_xlsx(iter_rows(), [*names, *self._name_columns(names)], file)
        yield from records

    def _write_parquet(self, file: BinaryIO) -> Iterator[LinkRecord]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        source = InputFile.from_path(self.path)
        schema = parquet_schema(source)
        names = schema.names
        added = [pa.field(name, pa.string()) for name in self._name_columns(names)]
        whole = pa.schema([*schema, *added])
        with pq.ParquetWriter(file, whole) as writer:
            for batch in iter_parquet(source, schema):
                rows = []
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    new, fates = self._migrate_row(names, list(values))
                    rows.append([*new, *(each or None for each in self._describe(fates))])
                    yield from self._records(fates, names, values)
                columns = zip(*rows, strict=True) if rows else [()] * len(whole)
                writer.write_batch(
                    pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, whole, strict=True)], schema=whole)
                )

    def _migrate_row(self, names: Sequence[str], cells: Row) -> tuple[Row, list[Fate]]:
        """Return the cells with new ids and labels, and what became of each id."""
        self.result.documents += 1
        new, fates = list(cells), []
        for column in self.columns:
            at = names.index(column)
            text = cell_text(cells[at]) if at < len(cells) else ""
            own = [self.migrator.decide(each) for each in self._ids_in(text)]
            fates += own
            moves = {fate.old: fate.new for fate in own if fate.new != fate.old}
            if moves:
                new[at] = replace_ids(text, moves)
                self._rename(names, new, column, own)
        self.result.changed += new != cells
        return new, fates

    def _rename(self, names: Sequence[str], new: Row, column: str, fates: Sequence[Fate]) -> None:
        """Replace the preferred name beside an id, if it is that of the old release."""
        label = {**_SSSOM_COLUMNS, **_LABELS}.get(column)
        found, own = self.migrator.found, fates[0]
        if label in names and len(fates) == 1 and new[names.index(label)] == name_of(found.old, own.old):
            new[names.index(label)] = name_of(found.new, own.new)

    def _ids_in(self, text: str) -> tuple[str, ...]:
        """Return the ids in a cell; an id without a prefix is looked up in the old release, then in the new one."""
        if self.columns == [_MEANING] and text in (NOT_A_MENTION, NO_CONCEPT):
            return ()
        ids = parse_ids(text)
        return tuple(self._resolve(each) for each in ids)

    def _resolve(self, concept_id: str) -> str:
        if not concept_id.startswith("local:"):
            return concept_id
        bare = concept_id.partition(":")[2]
        found = (kb.resolve(bare) for kb in (self.migrator.found.old, self.migrator.found.new))
        return next((each.matched for each in found if each.how != "unknown"), concept_id)

    def _records(self, fates: Iterable[Fate], names: Sequence[str], cells: Sequence[Any]) -> Iterator[LinkRecord]:
        number = self.result.documents
        own = tuple(zip(names, map(cell_text, cells), strict=False))
        return (LinkRecord(self.path.name, number, "", "row", None, None, fate, own) for fate in fates)

    def _name_columns(self, names: Sequence[str]) -> list[str]:
        """Return the names of the added columns; a name that is already used gets a number."""
        return (
            [] if self.has_fixed_columns else [next(each for each in _iter_names(name) if each not in names) for name in ADDED]
        )

    def _describe(self, fates: Sequence[Fate]) -> list[str]:
        """Return the cells of the added columns for a row."""
        if self.has_fixed_columns:
            return []
        old = "|".join(style_id(fate.old) for fate in fates if fate.new != fate.old)
        change = "|".join(dict.fromkeys(fate.outcome for fate in fates))
        suggested = "|".join(style_id(each) for fate in fates if fate.outcome == "suggested" for each in fate.suggested)
        return [old, change, suggested]


def find_columns(path: Path, column: str = "") -> list[str]:
    """Return the columns with ids; raise an error if there is none."""
    names = _names_of(path)
    if column:
        require_columns(names, [column], InputFile.from_path(path))
        return [column]
    if _are_rules(path, names):
        require_columns(names, [_SURFACE, _MEANING], InputFile.from_path(path))
        return [_MEANING]
    found = [each for each in (_SSSOM_COLUMNS if is_sssom(path) else (CONCEPT_COLUMN,)) if each in names]
    if not found:
        raise ConfigError("config-invalid", "no column of ids is known", where=str(path), fix="name it with --column")
    return found


def is_table_of_links(path: Path) -> bool:
    """Return whether a file is a table of links as Onym writes it, or of corrections, and no corpus."""
    if path.suffix == ENDING:
        return True
    if path.suffix.lower() not in (".tsv", ".csv", ".jsonl", ".parquet"):
        return False
    try:
        names = _names_of(path)
    except (OnymError, ValueError):
        return False
    return (CONCEPT_COLUMN in names and "mentions" not in names) or _are_rules(path, names)


def _are_rules(path: Path, names: Sequence[str]) -> bool:
    """Return whether a table has the columns of corrections."""
    return path.suffix == ENDING or ({_SURFACE, _MEANING} <= set(names) and set(names) <= set(COLUMNS))


def require_table(path: Path, out: Path) -> None:
    """Raise ConfigError if the output has another extension than the table."""
    if path.suffix.lower() != out.suffix.lower():
        what = f"the table is {path.suffix}, but the output is {out.suffix or 'without an extension'}"
        raise ConfigError("config-invalid", what, where=str(out), fix=f"use a name that ends in {path.suffix}")


def iter_raw_rows(file: InputFile, form: TableFormat) -> Iterator[tuple[str, Row]]:
    """Yield each row of a delimited table as written, and its cells; comments and blank lines have no cells.

    >>> file = InputFile.from_bytes("a.csv", b'# note\\nid,name\\r\\n1,"high\\nfever"\\n')
    >>> [cells for _, cells in iter_raw_rows(file, TableFormat(",", quoted=True, comment="#"))]
    [[], ['id', 'name'], ['1', 'high\\nfever']]
    """
    read: list[str] = []
    lines = _text_lines(file)
    width = 0

    def take() -> Iterator[str]:
        for line in lines:
            read.append(line)
            yield line

    source = take()
    for line in source:
        is_comment = bool(form.comment) and not width and line.removeprefix("\ufeff").startswith(form.comment)
        if is_comment or not line.strip():
            yield line, []
            read.clear()
            continue
        try:
            cells = next(csv.reader(_Joined(line, source), delimiter=form.delimiter))
        except csv.Error as e:
            raise InputError("table-malformed", "not a well-formed table", where=file.name, fix="check the quotes") from e
        if width and len(cells) != width:
            what = f"a row has {len(cells)} fields, expected {width}"
            raise InputError("table-fields", what, where=file.name, fix="fetch the file again")
        width = width or len(cells)
        yield "".join(read), cells
        read.clear()


class _Joined:
    """Iterates over a line, and then over the lines after it."""

    def __init__(self, first: str, rest: Iterator[str]) -> None:
        self._first: str | None = first
        self._rest = rest

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line, self._first = self._first, None
        return next(self._rest) if line is None else line


def _text_lines(file: InputFile) -> Iterator[str]:
    for number, line in enumerate(iter_raw_lines(file), 1):
        try:
            yield line.decode()
        except UnicodeDecodeError as e:
            where = f"{file.name}:{number}"
            raise InputError("input-encoding", "not valid UTF-8", where=where, fix="convert the file to UTF-8") from e


def _names_of(path: Path) -> list[str]:
    file = InputFile.from_path(path)
    kind = path.suffix.lower()
    if kind == ".parquet":
        return list(parquet_schema(file).names)
    if kind == ".xlsx":
        return [cell_text(name) for name in next(read_cells(path), ())]
    if kind == ".jsonl":
        first = parse_line(next(_text_lines(file), "{}").encode(), file.name)
        return list(first) if isinstance(first, dict) else []  # a corpus may be one list
    return [name.strip() for name in header(file, _form_of(file, (CONCEPT_COLUMN, *_SSSOM_COLUMNS, *COLUMNS)))]


def _form_of(file: InputFile, columns: Sequence[str]) -> TableFormat:
    if file.name.endswith((SSSOM, ENDING)):
        return TableFormat("\t", quoted=True, comment="#")
    return sniff_format(file, columns)


def _join(cells: Iterable[Any], form: TableFormat) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=form.delimiter, lineterminator="").writerow(cells)
    return file.getvalue()


def _iter_names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in range(2, 1_000))
