"""Attacks by tables: formulas, numbers of rows that nothing can have, markup, broken cells."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.outputs.rows import read_rows, write_rows
from onym.review.create import ReviewedDocument, create_desk
from onym.review.desk import open_desk
from tests.review.desks import FEVER, decide, link_at
from tests.robustness.attacks.rows import Place, attack

_SCRIPT = "<script>alert(1)</script>"


def _rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@attack("a table of terms has plain numbers that begin with a sign, and formulas in cells and names of columns")
def formulas_and_numbers_of_a_table(place: Place) -> None:
    rows = [["term", "change", "=1+1"], ["fever", "-5.2", "=cmd"], ["fever", "+3e-4", "-1+2"], ["fever", "-7%", "@A1"]]
    with (place.folder / "terms.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    done = place.onym("map", "terms.csv", "--column", "term", "--kb", place.kb_path, "-o", "mapped.csv")
    assert done.status == 0, done
    head, *found = [row[:3] for row in _rows_of(place.folder / "mapped.csv")]
    assert head == ["term", "change", "'=1+1"]
    assert [row[1] for row in found] == ["-5.2", "+3e-4", "-7%"]
    assert [row[2] for row in found] == ["'=cmd", "'-1+2", "'@A1"]


@attack("names of columns and cells that begin with = or an apostrophe are written and read back", has_succeeded=False)
def formulas_are_read_back(place: Place) -> None:
    path, values = place.folder / "rows.csv", [("=1", "-1"), ("'x", "-x")]
    with path.open("wb") as file:
        write_rows(values, {"=a": str, "b": str}, path, file)
    frame = read_rows(path, {})
    assert frame.columns == ["=a", "b"]
    assert frame.rows() == values


@attack("surfaces that begin with = are exported as synonyms")
def formulas_as_synonyms(place: Place) -> None:
    text = "=HYPERLINK(1) and fever."
    links = (link_at(text, "=HYPERLINK(1)", FEVER), link_at(text, "fever", FEVER))
    create_desk(place.folder / "desk.sqlite", [ReviewedDocument("1", text, links)], place.kb, {})
    with open_desk(place.folder / "desk.sqlite") as desk:
        for number in (1, 2):
            desk.decide(decide(number, "right", link=number, concept_id=FEVER.concept_id))
    assert place.onym("review", "export", "desk.sqlite", "-o", "a.names.csv").status == 0
    assert _rows_of(place.folder / "a.names.csv")[1:] == [[FEVER.concept_id, "fever", ""]]


def _release(place: Place, name: str, rows: str) -> KnowledgeBase:
    (place.folder / f"{name}.tsv").write_text(f"id\tname\n{rows}")
    build_kb(Recipe.of({"sources": [{"path": f"{name}.tsv"}]}), place.folder / name, root=place.folder)
    return KnowledgeBase.open(place.folder / name)


@attack("names of a release are scripts, images and links: onym kb diff as Markdown")
def markup_in_a_difference(place: Place) -> None:
    hostile = f"x:1\t{_SCRIPT}\nx:2\t![a](http://evil/a.png)\nx:3\t[b](javascript:b)\nx:4\tFever\n"
    _release(place, "old", hostile)
    _release(place, "new", "x:4\tFever\n")
    done = place.onym("kb", "diff", "old", "new", "-o", "diff.md")
    assert done.status == 0, done
    text = (place.folder / "diff.md").read_text()
    assert "alert(1)" in text
    assert not any(part in text for part in ("<script", "![a]", "[b](")), text


def forge_sheet(path: Path, rows: str) -> Path:
    """Write the smallest workbook, with these rows of XML."""
    head = '<?xml version="1.0"?>'
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    of_package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{of_package}/content-types"><Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType='
        f'"{kinds}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{of_package}/relationships"><Relationship Id="a" Type="{office}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="s" sheetId="1" r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{of_package}/relationships"><Relationship Id="a" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, head + text)
    return path


_HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>term</t></is></c></row>'


@attack("a workbook has a row 9999999999, or a cell in a column that no sheet has")
def rows_and_columns_beyond_a_sheet(place: Place) -> None:
    cell = '<c r="{}" t="inlineStr"><is><t>fever</t></is></c>'
    sheets = (
        _HEAD + f'<row r="9999999999">{cell.format("A9999999999")}</row>',
        _HEAD + f'<row r="2">{cell.format("ZZZ2")}</row>',
        f'<row r="9999999999">{cell.format("A9999999999")}</row>',
    )
    for number, rows in enumerate(sheets):
        path = forge_sheet(place.folder / f"{number}.xlsx", rows)
        done = place.onym_apart("map", path, "--column", "term", "--kb", place.kb_path, "-o", f"{number}.csv", seconds=20)
        done.require_told()
        assert done.mb < 600, done


_GOOD = {"document": "1", "start": 0, "end": 5, "text": "fever", "type": "", "concept_id": "MESH:D005334", "score": 0.9}
_BROKEN: tuple[object, ...] = (None, "", "x", -1, 2**70, 1e400, [], {}, "9" * 5_000, "=1", True)


@attack("tables of links have missing columns, other types and cells that are no numbers: onym review create")
def broken_tables_of_links(place: Place) -> None:
    number = 0
    for name in _GOOD:
        rows = [{key: value for key, value in _GOOD.items() if key != name}]
        rows += [_GOOD | {name: value} for value in _BROKEN]
        for row in rows:
            number += 1
            lines, cells = place.folder / f"{number}.jsonl", place.folder / f"{number}.csv"
            lines.write_text(json.dumps(row) + "\n")
            cells.write_text(f"{','.join(row)}\n{','.join(str(value) for value in row.values())}\n")
            for path in (lines, cells):
                done = place.onym("review", "create", path, "--kb", place.kb_path, "-o", f"{path.name}.sqlite")
                done.require_told()


@attack("tables are no text, empty, or have rows of other lengths: onym review create")
def broken_bytes_of_tables(place: Place) -> None:
    for number, content in enumerate((b"", b"\xff\xfe", b"document\n1,2\n", b"{}\n[]\n", b"[1]\n", b'"\n', b"{", b"\x00" * 9)):
        for ending in ("csv", "tsv", "jsonl", "xlsx", "parquet"):
            path = place.folder / f"{number}.{ending}"
            path.write_bytes(content)
            place.onym("review", "create", path, "--kb", place.kb_path, "-o", f"{path.name}.sqlite").require_told()


@attack("a file of corrections has no column meaning: onym migrate")
def corrections_without_a_meaning(place: Place) -> None:
    kb = place.kb_path
    for number, content in enumerate(("surface\nfever\n", "surface\tcomment\nMI\tx\n", "", "\n", "x\n")):
        path = place.folder / f"{number}.onymc"
        path.write_text(content)
        place.onym("migrate", path, "--from", kb, "--to", kb, "-o", f"new{number}.onymc").require_refused()


@attack("lines of a table of links or of a corpus are no JSON objects: onym migrate")
def lines_that_are_no_objects(place: Place) -> None:
    kb, link = place.kb_path, json.dumps(_GOOD)
    for number, lines in enumerate(("null", "[]", "5", '"x"', f"[{link}]", f"{link}\nnull", f"{link}\n[]", f"{link}\n5")):
        path = place.folder / f"{number}.jsonl"
        path.write_text(f"{lines}\n")
        place.onym("migrate", path, "--from", kb, "--to", kb, "-o", f"new{number}.jsonl").require_told()


@attack(
    "an integer of a JSON file has 5,000 digits, at which the parser ends the process (SIGSEGV): link, migrate, corpus check"
)
def integers_of_5000_digits(place: Place) -> None:
    digits, kb = "9" * 5_000, place.kb_path
    for number, text in enumerate(
        (f'{{"n": {digits}, "text": "fever"}}', f'[{{"n": -{digits}}}]', digits, f'{{"a": [{digits}.5]}}')
    ):
        for ending in ("json", "jsonl"):
            path = place.folder / f"{number}.{ending}"
            path.write_text(f"{text}\n")
            place.onym("link", path, "--kb", kb, "-o", f"{path.name}.links.jsonl").require_told()
            place.onym("corpus", "check", path).require_told()
            place.onym("migrate", path, "--from", kb, "--to", kb, "-o", f"{path.name}.new.{ending}").require_told()
