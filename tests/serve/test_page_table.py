"""Browser tests of the table tab: upload, mapping and downloads."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest

from onym.outputs.mapping import MAPPED_COLUMNS, map_to_rows
from onym.outputs.rows import read_rows
from onym.packs import load
from onym.store.files.xlsx import read_cells, write_xlsx
from tests.serve.conftest import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.browser
TABLE = "code;diagnosis;n\n1;fever;3\n2;=fever;4\n3;xyz;5\n4;;6\n5;+aspirin;7\n6;fever;8\n"
TABLES: list[tuple[str, str, Any]] = [
    ("a,b\n1,2\n", "t.csv", [["a", "b"], ["1", "2"]]),
    ("a;b\r\n1;2,5\r\n", "t.csv", [["a", "b"], ["1", "2,5"]]),
    ('a,b\n"1,""x""\n2",\n', "t.csv", [["a", "b"], ['1,"x"\n2', ""]]),
    ("a\tb\n1\t\n", "t.csv", [["a", "b"], ["1", ""]]),
    ("a,b\tc\n1,2\t3\n", "t.tsv", [["a,b", "c"], ["1,2", "3"]]),
    ("a,b\n1\n\n2,3", "t.csv", [["a", "b"], ["1", ""], ["2", "3"]]),
    (",b\n1,2", "t.csv", [["column 1", "b"], ["1", "2"]]),
    ("a\r1\r2", "t.csv", [["a"], ["1"], ["2"]]),
    ('a,"x;y;z"\n1,2\n', "t.csv", [["a", "x;y;z"], ["1", "2"]]),
    ('a;b\n"1;2";3\n', "t.csv", [["a", "b"], ["1;2", "3"]]),
    ("a,b\n1,2,3\n", "t.csv", "Row 1 has more cells than the header."),
    ('a\n"1', "t.csv", "A quotation mark is not closed."),
    ("", "t.csv", "The table is empty."),
]
CELLS = [line.split(";") for line in TABLE.splitlines()]


def test_maps_a_column(visit: Visit, pipeline_folder: Path) -> None:
    visit.upload(TABLE.encode())
    assert visit.page.locator("#column option:checked").inner_text() == "diagnosis"
    visit.map_column()
    shown = [row.split("\t") for row in visit.texts("#rows tbody tr")]
    expected = map_to_rows([cells[1] for cells in CELLS[1:]], load(pipeline_folder))
    assert [row[1] for row in shown] == [cells[1] or "empty" for cells in CELLS[1:]]
    assert [row[3] for row in shown] == [row["preferred_name"] or "" for row in expected]
    sent = [json.loads(request.post_data)["terms"] for request in visit.requests if request.url.endswith("/map")]
    assert sent == [["fever", "=fever", "xyz", "+aspirin"]]  # only distinct values that are not empty are sent
    assert visit.complaints == []


def test_service_reads_uploaded_workbook(visit: Visit) -> None:
    book = io.BytesIO()
    write_xlsx([("1", "fever"), ("", ""), (None, "=xyz")], ("code", "diagnosis"), book)
    visit.upload(book.getvalue(), "terms.xlsx")
    visit.page.get_by_text("terms.xlsx: 2 rows, 2 columns").wait_for()
    visit.map_column("diagnosis")
    assert [row.split("\t")[1] for row in visit.texts("#rows tbody tr")] == ["fever", "=xyz"]
    assert visit.complaints == []


def test_damaged_workbook_shows_error_code(visit: Visit) -> None:
    visit.upload(b"PK not a workbook", "terms.xlsx")
    visit.page.locator("#error code").wait_for()
    assert visit.page.is_hidden("#table-options")


def test_row_candidates_expand_with_keyboard(visit: Visit) -> None:
    visit.upload(b"term\nbreast cancer\n")
    visit.map_column(pipeline="diseases")
    button = visit.page.get_by_role("button", name="Candidates of row 1")
    button.focus()
    visit.page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    items = visit.texts("#rows .candidates li")
    assert 1 < len(items) <= 5
    assert items[0].startswith(visit.texts("#rows tbody tr:first-child td")[1])
    visit.page.keyboard.press("Enter")
    assert visit.texts("#rows .candidates li") == []
    assert visit.complaints == []


def test_row_candidates_show_their_parents(visit: Visit) -> None:
    visit.upload(b"term\nfever\naspirin\n")
    visit.map_column()
    for row in (1, 2):
        visit.page.get_by_role("button", name=f"Candidates of row {row}").click()
    assert visit.texts("#rows .candidates .parents") == ["Parents: Sign of <i>heat</i>"]
    assert visit.complaints == []


def test_confidence_filter_does_not_affect_downloads(visit: Visit) -> None:
    visit.upload(b"term\nbreast cancer\nkidney stuff\nzzzzqqqq\nT2DM\n")
    visit.map_column(pipeline="diseases")
    assert len(visit.texts("#rows tbody tr")) == 4
    visit.page.locator("#row-threshold").fill("0.9")
    shown = [float(text) for text in visit.texts("#rows tbody td:last-child")]
    assert 0 < len(shown) < 4
    assert min(shown) >= 0.9
    assert len(visit.download("#save-csv")[1].decode().splitlines()) == 5


def test_sorts_rows_by_confidence(visit: Visit) -> None:
    visit.upload(b"term\nbreast cancer\nkidney stuff\n\nzzzzqqqq\nT2DM\n")
    visit.map_column(pipeline="diseases")
    head = visit.page.locator("#row-heads th").last
    head.locator("button").click()
    falling = [float(text) for text in visit.texts("#rows tbody td:last-child") if text]
    assert falling == sorted(falling, reverse=True)
    assert len(falling) > 1
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert [float(text) for text in visit.texts("#rows tbody td:last-child") if text] == falling[::-1]
    assert visit.page.evaluate("document.activeElement.textContent").startswith("Confidence")


def test_downloads_contain_no_formulas(visit: Visit, pipeline_folder: Path, tmp_path: Path) -> None:
    visit.upload(TABLE.encode(), "my terms.csv")
    visit.map_column()
    mapped = map_to_rows([cells[1] or None for cells in CELLS[1:]], load(pipeline_folder))
    expected = [[*cells, *(row[name] for name in MAPPED_COLUMNS)] for cells, row in zip(CELLS[1:], mapped, strict=True)]
    columns = [*CELLS[0], *MAPPED_COLUMNS]
    for button, ending in (("#save-csv", "csv"), ("#save-xlsx", "xlsx")):
        name, content = visit.download(button)
        assert name == f"my terms.mapped.{ending}"
        path = tmp_path / f"mapped.{ending}"
        path.write_bytes(content)
        frame = read_rows(path, {"score": float, "confidence": float})
        assert frame.columns == columns
        assert frame.rows() == [tuple(cell if cell != "" else None for cell in row) for row in expected]
    cells = [row[1] for row in csv.reader(io.StringIO((tmp_path / "mapped.csv").read_text("utf-8")))]
    assert cells == ["diagnosis", "fever", "'=fever", "xyz", "", "'+aspirin", "fever"]
    sheet = openpyxl.load_workbook(tmp_path / "mapped.xlsx").worksheets[0]
    assert [sheet.cell(row, 2).data_type for row in (3, 6)] == ["s", "s"]
    assert all(sheet.cell(row, 2).quotePrefix for row in (3, 6))


def test_workbook_preserves_special_characters(visit: Visit, tmp_path: Path) -> None:
    odd = ["=1+1", "@x", "\t-2", "<&>\"'", "a\x01_x0041_", "é😀", " space ", "line\nbreak", "-3", "]]>"]
    script = """async ([columns, rows]) => {
        const { workbook } = await import(new URL("page/xlsx.js", location.href));
        return Array.from(new Uint8Array(await new Blob(workbook(columns, rows)).arrayBuffer()));
    }"""
    (tmp_path / "odd.xlsx").write_bytes(bytes(visit.page.evaluate(script, [["a", "b"], [[text, 0.5] for text in odd]])))
    assert list(read_cells(tmp_path / "odd.xlsx")) == [("a", "b"), *((text, 0.5) for text in odd)]


def test_reads_tables(visit: Visit) -> None:
    script = """async (tables) => {
        const { parseTable } = await import(new URL("page/csv.js", location.href));
        return tables.map(([text, name]) => {
          try { const { columns, rows } = parseTable(text, name); return [columns, ...rows]; }
          catch (error) { return error.message; }
        });
    }"""
    found = visit.page.evaluate(script, [case[:2] for case in TABLES])
    assert found == [case[2] for case in TABLES]


def test_accepts_dropped_file(visit: Visit) -> None:
    visit.page.click("#tab-table")
    script = """(text) => { const data = new DataTransfer(); data.items.add(new File([text], "dropped.csv")); return data; }"""
    data = visit.page.evaluate_handle(script, "\ufeffterm\nfever\n")
    visit.page.dispatch_event("#drop", "drop", {"dataTransfer": data})
    visit.page.get_by_text("dropped.csv: 1 row, 1 column").wait_for()
    assert visit.page.locator("#column option").all_inner_texts() == ["term"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"term\nf\xe4ver\n", "not text in UTF-8"),
        (b"term\n", "a header and no rows"),
        (b"", "The table is empty"),
    ],
)
def test_rejects_files_that_are_not_tables(visit: Visit, content: bytes, said: str) -> None:
    visit.upload(content)
    visit.page.locator("#error", has_text=said).wait_for()
    assert visit.page.is_hidden("#table-options")


def test_splits_terms_into_requests_and_skips_long_ones(visit: Visit) -> None:
    terms = [f"term {number}" for number in range(450)]
    visit.upload("\n".join(["term", *terms, "x" * 1_001]).encode())
    visit.map_column()
    parts = [json.loads(request.post_data)["terms"] for request in visit.requests if request.url.endswith("/map")]
    assert [len(part) for part in parts] == [200, 200, 50]
    assert [term for part in parts for term in part] == terms
    assert visit.page.inner_text("#page-number") == "Page 1 of 5"
    for _ in range(4):
        visit.page.click("#next")
    assert "more than 1,000 characters" in visit.texts("#rows tbody tr")[-1]
    assert visit.page.is_disabled("#next")


def test_stopped_or_failed_mapping_keeps_finished_rows(visit: Visit) -> None:
    answered: list[int] = []

    def fail_second(route: Route) -> None:
        if answered:
            route.fulfill(status=500, json={"error": {"code": "internal-error", "what": "broken", "where": "", "fix": ""}})
        else:
            answered.append(1)
            route.continue_()

    visit.page.route("**/map", fail_second)
    visit.upload("\n".join(["term", "fever", *(f"term {number}" for number in range(250))]).encode())
    visit.map_column()
    visit.page.locator("#error", has_text="broken").wait_for()
    assert "Fever" in visit.texts("#rows tbody tr")[0]
    visit.page.unroute("**/map")
    visit.page.route("**/map", lambda route: None)  # this request is never answered
    visit.page.click("#map")
    visit.page.click("#stop")
    visit.page.get_by_text("Stopped after 0 terms").wait_for()
    assert visit.page.is_enabled("#map")
