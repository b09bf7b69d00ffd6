"""Makes the pictures of the page in docs/images, in a headless Chromium: `python docs/screenshots.py`.

A service with the starter runs for it, and servers of two review desks. The texts and the table were written for the pictures:
no patient is meant.
It needs Chromium, playwright and Pillow.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.serve.running import Running, RunningDesk
from PIL import Image
from tests.robustness.serve.browser import open_browser

from onym.outputs import map_table
from onym.packs import load
from onym.packs.locate import locate_kb
from onym.review.create import DeskOptions, ReviewedDocument, create_desk, read_mapped_table
from onym.types import Document

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = Path(__file__).parent / "images"
TEXT = """\
A 54-year-old man with type 2 diabetes mellitus (T2DM) and gout was seen for cough and fever. He takes metformin and aspirin. \
T2DM had been complicated by diabetic retinopathy. His sister has multiple sclerosis. Tuberculosis was excluded; pneumonia was \
treated at home with amoxicillin."""
TABLE = """\
visit,diagnosis
101,breast cancer
102,T2DM
103,juvenile idiopathic arthritis
104,Crohn's disease
105,shortness of breath
106,chronic obstructive lung disease
"""
TERMS = """\
visit,diagnosis
101,CD
102,CD
103,MI
104,CD
"""
_SIZES = {"page-light": (1040, 1180), "page-dark": (1040, 780), "page-table": (1040, 900), "page-phone": (390, 780)}
_DESK_SIZES = {"page-review": (1040, 900), "page-term": (1040, 900)}
_COLOURS = 128  # enough for text and plain areas, and small


def take_pictures(folder: Path) -> None:
    """Write all pictures."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        service = Running("starter", Path(scratch) / "log.txt")
        try:
            service.wait_until_ready()
            with open_browser() as browser:
                _take_all(browser, service.url, folder)
        finally:
            service.stop()
        with open_browser() as browser:
            for name in _DESK_SIZES:
                _take_desk(browser, name, Path(scratch), folder)


def _take_desk(browser: Browser, name: str, scratch: Path, folder: Path) -> None:
    """Take the picture of a review desk: of links in a note, or of mapped terms."""
    pipeline, desk = load("starter"), scratch / f"{name}.sqlite"
    if name == "page-review":
        create_desk(desk, [ReviewedDocument.of(pipeline.link(Document("note-17", TEXT)))], pipeline.kb, {})
    else:
        (scratch / "diagnoses.csv").write_text(TERMS)
        map_table(scratch / "diagnoses.csv", "diagnosis", pipeline, scratch / "mapped.csv", force=True)
        rows = read_mapped_table(scratch / "mapped.csv", "diagnosis", pipeline.kb)
        create_desk(desk, rows, pipeline.kb, {}, DeskOptions(are_terms=True))
    server = RunningDesk(desk, locate_kb(Path("starter")), scratch / f"{name}.txt", "--drain-delay", "0", patience_s=300)
    try:
        width, height = _DESK_SIZES[name]
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(server.url)
        page.wait_for_selector("#item:not([hidden]) #candidates li")
        _save(page, folder / f"{name}.png")
    finally:
        server.stop()


def _save(page: Page, path: Path) -> None:
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(_COLOURS).save(path, optimize=True)
    page.close()


def _take_all(browser: Browser, url: str, folder: Path) -> None:
    for name, (width, height) in _SIZES.items():
        scheme: Literal["light", "dark"] = "dark" if name == "page-dark" else "light"
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
        page.goto(url)
        if name == "page-table":
            _show_table(page)
        else:
            _show_links(page, is_whole=name == "page-light")
        _save(page, folder / f"{name}.png")


def _show_links(page: Page, *, is_whole: bool) -> None:
    """Link the text and select an abbreviation; where not the whole page is shown, begin with the links."""
    page.fill("#text", TEXT)
    page.click("#link")
    page.locator("#marked button", has_text="T2DM").first.click()
    page.wait_for_selector(".concept dl")
    if not is_whole:
        page.locator("#linked").evaluate("each => each.scrollIntoView({behavior: 'instant'})")


def _show_table(page: Page) -> None:
    """Map the column of the table, and sort the rows by confidence."""
    page.click("#tab-table")
    page.set_input_files("#file", {"name": "diagnoses.csv", "mimeType": "text/csv", "buffer": TABLE.encode()})
    page.wait_for_selector("#table-options:not([hidden])")
    page.click("#map")
    page.wait_for_selector("#mapped:not([hidden])")
    page.click("#row-heads th:last-child button")


if __name__ == "__main__":
    take_pictures(FOLDER)
