"""Give small files that decode to gigabytes to every command that reads Parquet, a workbook or a desk.

A `Door` is a command that reads a file; a `Bomb` writes one. Each command runs in a process of its own.
"""

from __future__ import annotations

import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from onym.corpora.formats.parquet import LINKED_SCHEMA, SCHEMA
from onym.datasets import prepare
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.review.audit import create_audit, plan_audit
from onym.types import kinds_of
from tests.datasets.made import write_biosyn
from tests.review.desks import list_documents
from tests.robustness.attacks.of_parquet import forge_rows, forge_run
from tests.robustness.attacks.of_tables import forge_sheet
from tests.robustness.attacks.rows import Outcome, Place
from tests.robustness.files import parquet_bombs

Write = Callable[[Place], Path]
_NAMES = "id\tname\tsynonyms\nmesh:D009203\tMyocardial Infarction\tMI\nmesh:D005334\tFever\t\nmesh:D006973\tHypertension\tMI\n"
_LINKS = pa.schema([(name, pa.int64() if kind is int else pa.string()) for name, kind in kinds_of().items()])
_CELL = '<c r="A{}" t="inlineStr"><is><t>{}</t></is></c>'


@dataclass(frozen=True)
class Door:
    """A command that reads a file; `{file}`, `{kb}` and `{data}` are replaced by paths."""

    words: str

    def open(self, place: Place, path: Path) -> Outcome:
        """Run the command on a file."""
        known = {"file": path, "kb": place.kb_path, "data": place.folder.parent / "data"}
        if self.words == "serve":
            return place.python_apart(_UPLOAD, path)
        return place.onym_apart(*(word.format(**known) for word in self.words.split()))


@dataclass(frozen=True)
class Visit:
    """A bomb that is given to a command."""

    name: str
    write: Write
    door: Door


_UPLOAD = """
import sys
from onym.errors import OnymError
from onym.serve.routes.workbook import _rows
try:
    _rows(open(sys.argv[1], "rb").read())
except OnymError as e:
    sys.exit(print(e, file=sys.stderr) or e.exit_status)
"""


def _write(name: str, content: Callable[[], bytes]) -> Write:
    def write(place: Place) -> Path:
        (place.folder / name).write_bytes(content())
        return place.folder / name

    return write


def _parquet(schema: pa.Schema) -> dict[str, Write]:
    """Return files with the columns of a schema."""
    return {
        "one text for 512 rows": _write("a.parquet", lambda: forge_rows(schema, "text")),
        "two thousand million empty rows": _write("a.parquet", lambda: parquet_bombs.make_file({}, 2**31 - 1, schema=schema)),
        "a page of 500 MB": _write("a.parquet", lambda: parquet_bombs.page_bomb("zstd", 500_000_000, schema)),
    }


def _sheet(rows: Callable[[], Iterable[str]]) -> Write:
    def write(place: Place) -> Path:
        forged, packed = forge_sheet(place.folder / "plain.xlsx", "".join(rows())), place.folder / "a.xlsx"
        with zipfile.ZipFile(forged) as plain, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in plain.namelist():
                archive.writestr(name, plain.read(name))
        forged.unlink()
        return packed

    return write


def _rows(count: int, text: str, first: int = 2) -> Iterable[str]:
    yield f'<row r="1">{_CELL.format(1, "term")}</row>'
    yield from (f'<row r="{number}">{_CELL.format(number, text)}</row>' for number in range(first, first + count))


_SHEETS: dict[str, Write] = {
    "a cell of 60 MB": _sheet(lambda: _rows(1, "fever " * 10_000_000)),
    "a row 9999999999": _sheet(lambda: _rows(1, "fever", 9_999_999_999)),
    "60,000 cells of 1,000 letters": _sheet(lambda: _rows(60_000, "fever " * 160)),
}
_COUNT = "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n WHERE x < {})"


def _desk(statement: str) -> Write:
    def write(place: Place) -> Path:
        path, documents = place.folder / "a.sqlite", list_documents()
        create_audit(path, documents, place.kb, {}, plan=plan_audit(documents))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)
        return path

    return write


_DESKS: dict[str, Write] = {
    "a text of 200 MB": _desk("UPDATE document SET text = hex(zeroblob(100000000)) WHERE number = 1"),
    "a link with a million candidates": _desk(
        f"UPDATE link SET candidates = (SELECT '[' || group_concat(c, ',') || ']' FROM ({_COUNT.format(1_000_000)} SELECT "
        "substr(o.candidates, 2, length(o.candidates) - 2) AS c FROM n, (SELECT candidates FROM link WHERE number = 1) AS o)) "
        "WHERE number = 1"
    ),
    "facts of 60 MB": _desk("UPDATE desk SET value = hex(zeroblob(30000000))"),
    "100,000 links of one surface": _desk(
        f"{_COUNT.format(100_000)} INSERT INTO link SELECT x, document, cluster, start, end, surface, type, concept_id, "
        "nil_reason, confidence, stage, candidates, before, after, is_queued FROM link, n WHERE number = 1"
    ),
}
_DOORS: Sequence[tuple[dict[str, Write], Sequence[str]]] = (
    (
        _parquet(_LINKS),
        (
            "review create {file} --kb {kb} -o new.sqlite",
            "audit plan {file} --kb {kb} -o new.sqlite",
            "map {file} --column text --kb {kb} -o new.csv",
            "migrate {file} --column concept_id --from {kb} --to {kb} -o new.parquet",
        ),
    ),
    (
        _parquet(SCHEMA),
        (
            "link {file} --kb {kb} -o new.jsonl",
            "corpus check {file}",
            "corpus stats {file}",
            "corpus convert {file} new.jsonl --to jsonl",
            "migrate {file} --format parquet --from {kb} --to {kb} -o new.parquet",
            "evaluate {file} --dataset {data}",
        ),
    ),
    (_parquet(LINKED_SCHEMA), ("show {file} -o new.html", "corpus stats {file}")),
    (
        {"one text for 512 rows": forge_run},
        (
            "batch status {file}",
            "batch verify {file}",
            "batch export {file} -o new.jsonl",
            "batch export {file} -o new.xlsx",
            "batch compact {file} -o new.parquet",
            "migrate {file} --from {kb} --to {kb} -o new",
            "review create {file} --kb {kb} -o new.sqlite",
        ),
    ),
    (
        _SHEETS,
        (
            "serve",
            "map {file} --column term --kb {kb} -o new.csv",
            "link {file} --text-column term --kb {kb} -o new.jsonl",
            "corpus stats {file} --text-column term",
            "migrate {file} --column term --from {kb} --to {kb} -o new.xlsx",
            "review create {file} --column term --kb {kb} -o new.sqlite",
            "kb build {file} -o new",
        ),
    ),
    (
        _DESKS,
        (
            "review show {file}",
            "review export {file} -o new.csv",
            "review merge {file} {file} -o new.sqlite",
            "review agreement {file}",
            "review purge {file} --yes",
            "audit report {file}",
            "migrate {file} --from {kb} --to {kb} -o new.sqlite",
        ),
    ),
)
VISITS = tuple(
    Visit(f"{door.split(' {')[0]}: {name}", write, Door(door))
    for bombs, doors in _DOORS
    for name, write in bombs.items()
    for door in doors
)


def visit_all(visits: Sequence[Visit]) -> list[tuple[Visit, Outcome]]:
    """Give each bomb to its command, in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small.tsv").write_text(_NAMES)
        build_kb(Recipe.of({"sources": [{"path": "small.tsv"}]}), folder / "kb", root=folder)
        prepare("ncbi-disease-biosyn", write_biosyn(folder), folder / "data")
        kb = KnowledgeBase.open(folder / "kb")
        found = []
        for visit in visits:
            with tempfile.TemporaryDirectory(dir=folder) as own:
                place = Place(Path(own), kb)
                found.append((visit, visit.door.open(place, visit.write(place))))
        return found
