"""Headless Chromium driven by playwright; it connects to nothing but the pages it is sent to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onym.store.cache import cache_folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_INSTALL = "install it with `apt-get install -y chromium` or name another one by ONYM_CHROMIUM, and `pip install playwright`"


def chromium() -> Path:
    """Return the path of Chromium: `ONYM_CHROMIUM`, or Debian's by default."""
    return Path(os.environ.get("ONYM_CHROMIUM") or "/usr/bin/chromium")


def missing() -> str:
    """Return what is missing to run a browser and how to install it, or an empty string."""
    if not chromium().exists():
        return f"there is no Chromium at {chromium()}: {_INSTALL}"
    return "" if find_spec("playwright") else f"playwright is not installed: {_INSTALL}"


@contextmanager
def open_browser(*flags: str) -> Iterator[Browser]:
    """Run a browser within the block."""
    if missing():
        raise SystemExit(missing())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*_FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


# A browser page that records executed scripts, dialogs, requests and responses.

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

_WITNESS = "window.ran = 0; window.pwned = () => { window.ran += 1; };"
_SETTLED = "new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(window.ran)), 50))"
_MADE = (
    "script, img, svg, math, iframe, object, embed, link, meta, base, form, style, template, video, audio, marquee, a, "
    "[onerror], [onload], [onfocus], [onmouseover]"
)
_WITHOUT_TYPES = """(marked) => {
  const copy = marked.cloneNode(true);
  copy.querySelectorAll(".kind").forEach((each) => each.remove());
  return copy.textContent;
}"""
_READY = "#release:not(:empty), #token-form:not([hidden])"


class Watched:
    """A browser page that counts forbidden events."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.page: Page = browser.new_page(**options)
        self.dialogs = 0
        self.external: list[str] = []
        self.answers: list[Response] = []
        self.page.add_init_script(_WITNESS)
        self.page.on("dialog", self._dialog)
        self.page.context.on("request", lambda request: self._request(request.url))
        self.page.context.on("response", self._response)
        self.page.goto(url)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs += 1
        dialog.dismiss()

    def _response(self, response: Response) -> None:
        self.answers.append(response)

    def _request(self, url: str) -> None:
        if not url.startswith((f"{self.url}/", f"blob:{self.url}/")):
            self.external.append(url)

    def count_executed(self) -> int:
        """Return how often a script ran, a dialog opened, or the page navigated away."""
        ran = self.evaluate(_SETTLED)
        return int(ran or 0) + self.dialogs + (self.page.url.rstrip("/") != self.url)

    def evaluate(self, script: str) -> Any:
        """Evaluate a script through the debugger. The page's policy blocks any other script, and still applies to this one."""
        session = self.page.context.new_cdp_session(self.page)
        wanted = {"expression": script, "awaitPromise": True, "returnByValue": True, "allowUnsafeEvalBlockedByCSP": False}
        answer = session.send("Runtime.evaluate", wanted)
        session.detach()
        return answer["result"].get("value")

    def count_injected(self, area: str) -> int:
        """Count the elements in an area that should hold only text nodes."""
        return self.page.locator(area).locator(_MADE).count()

    def wait(self) -> None:
        """Wait until the page has loaded the list of pipelines."""
        self.page.wait_for_selector(_READY)

    def link(self, text: str, pipeline: str) -> None:
        self.page.select_option("#pipeline", pipeline)
        self.page.fill("#text", text)
        with self.page.expect_response("**/link"):
            self.page.click("#link")
        self.page.wait_for_selector("#linked:not([hidden])")

    def read_marked_text(self) -> str:
        """Return the marked text as displayed, without the types."""
        return str(self.page.locator("#marked").evaluate(_WITHOUT_TYPES))

    def look_at_all(self) -> str:
        """Select every mention and candidate, and return the displayed text."""
        shown = [self.page.inner_text("main")]
        for number in range(self.page.locator("#marked button").count()):
            self.page.locator("#marked button").nth(number).click()
            self.page.locator(".concept dl").wait_for()
            shown.append(self.page.locator("#details").evaluate("each => each.textContent"))
        return "\n".join(shown)

    def map(self, content: str, name: str, pipeline: str) -> str:
        """Map the last column of a table, and return the displayed text."""
        self.page.click("#tab-table")
        self.page.select_option("#pipeline", pipeline)
        self.page.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": content.encode()})
        self.page.wait_for_selector("#table-options:not([hidden])")
        self.page.select_option("#column", index=self.page.locator("#column option").count() - 1)
        self.page.click("#map")
        self.page.wait_for_selector("#mapped:not([hidden])")
        return str(self.page.locator("main").evaluate("each => each.textContent"))

    def careless(self, text: str) -> None:
        """Pass a text to the control page."""
        self.evaluate(f"careless({json.dumps(text)})")

    def close(self) -> None:
        self.page.close()


# axe-core checks the accessibility of a page (screen readers, keyboard only); downloaded with npm.

if TYPE_CHECKING:
    from playwright.sync_api import Page

VERSION = "4.14.0"
_RUN = """axe.run(document, {resultTypes: ["violations"]})
  .then((found) => found.violations.map((each) => [each.id, each.nodes.length]))"""


def axe_script() -> str:
    """Return the axe-core script: the file `ONYM_AXE`, or the pinned version, which is downloaded once."""
    if named := os.environ.get("ONYM_AXE"):
        return Path(named).read_text("utf-8")
    kept = cache_folder() / "benchmarks" / f"axe-{VERSION}.js"
    if not kept.exists():
        _fetch(kept)
    return kept.read_text("utf-8")


def violations(page: Page, script: str) -> list[tuple[str, int]]:
    """Return the rules that a page violates, each with the number of violating elements.

    The script is injected by the debugger, because the page's Content-Security-Policy blocks it otherwise.
    """
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": script})
    answer: dict[str, Any] = session.send("Runtime.evaluate", {"expression": _RUN, "awaitPromise": True, "returnByValue": True})
    session.detach()
    if "value" not in answer["result"]:
        raise RuntimeError(f"axe-core did not run: {answer}")
    return [(str(rule), int(count)) for rule, count in answer["result"]["value"]]


def _fetch(kept: Path) -> None:
    if shutil.which("npm") is None:
        raise SystemExit("axe-core needs npm: run `apt-get install -y npm`, or set ONYM_AXE to the path of axe.min.js")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", f"axe-core@{VERSION}", "--silent"]
        name = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=300).stdout.split()[-1]
        with tarfile.open(Path(folder) / name) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            content = member.read()
        whole = kept.with_suffix(f".{os.getpid()}")
        whole.write_bytes(content)
        whole.replace(kept)
