"""Fixtures for browser tests: a browser, and a real service with the starter and a small pipeline with two types."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.serve.running import Running

from onym.kb import Recipe, build_kb
from onym.pipeline import build_pipeline
from tests.robustness.serve.browser import missing, open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

MADE = """id\tname\tsynonyms\tdefinition\ttypes\tparents
made:1\tFever\tPyrexia|=fever\tA raised <b>temperature</b>.\tDisease\tmade:4
made:2\tHeart attack\tMyocardial infarction\tNecrosis of the myocardium.\tDisease\t
made:3\tAspirin\tAcetylsalicylic acid\tAn analgesic.\tChemical\t
made:4\tSign of <i>heat</i>\t\t\tDisease\t
"""


@pytest.fixture(scope="session")
def pipeline_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "made.tsv").write_text(MADE)
    build_kb(Recipe.of({"sources": [{"path": "made.tsv"}]}), folder / "kb", root=folder)
    build_pipeline(folder / "kb", folder / "pipeline")
    return folder / "pipeline"


@pytest.fixture(scope="session")
def service(pipeline_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(f"made={pipeline_folder}", tmp_path_factory.mktemp("log") / "log.txt", "--pipeline", "diseases=starter")
    running.wait_until_ready()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a browser. If none is installed, the test is skipped, or fails in CI."""
    if why := missing():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    with open_browser() as chromium:
        yield chromium


class Visit:
    """A page, with its requests, console errors and dialogs."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.requests: list[Any] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.goto(url)
        page.wait_for_selector("#release:not(:empty), #token-form:not([hidden])")

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append("a dialog")
        dialog.dismiss()

    def link(self, text: str, pipeline: str = "made") -> None:
        """Link a text and wait for the links."""
        self.page.select_option("#pipeline", pipeline)
        self.page.fill("#text", text)
        with self.page.expect_response("**/link"):
            self.page.click("#link")
        self.page.wait_for_selector("#linked:not([hidden])")

    def upload(self, content: bytes, name: str = "terms.csv") -> None:
        """Choose a file on the table tab."""
        self.page.click("#tab-table")
        self.page.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": content})

    def map_column(self, column: str = "", pipeline: str = "made") -> None:
        """Map a column and wait for the rows."""
        self.page.select_option("#pipeline", pipeline)
        if column:
            self.page.select_option("#column", label=column)
        self.page.click("#map")
        self.page.wait_for_selector("#mapped:not([hidden])")

    def download(self, button: str) -> tuple[str, bytes]:
        """Click a download button, and return the file's name and content."""
        with self.page.expect_download() as waiting:
            self.page.click(button)
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()


@pytest.fixture
def visit(browser: Browser, service: Running) -> Iterator[Visit]:
    page = browser.new_page()
    yield Visit(page, service.url)
    page.close()
