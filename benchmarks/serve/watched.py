"""A page of a browser with witnesses: scripts that ran, dialogs, requests, and answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

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
    """A page that counts what should not happen."""

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

    def executed(self) -> int:
        """Return how often a script ran, a dialog came, or the page went elsewhere."""
        ran = self.evaluate(_SETTLED)
        return int(ran or 0) + self.dialogs + (self.page.url.rstrip("/") != self.url)

    def evaluate(self, script: str) -> Any:
        """Return what a script of the debugger gives. The page's policy lets no other one run, and holds for what it does."""
        session = self.page.context.new_cdp_session(self.page)
        wanted = {"expression": script, "awaitPromise": True, "returnByValue": True, "allowUnsafeEvalBlockedByCSP": False}
        answer = session.send("Runtime.evaluate", wanted)
        session.detach()
        return answer["result"].get("value")

    def injected(self, area: str) -> int:
        """Return how many elements there are in an area that a page of text nodes has not."""
        return self.page.locator(area).locator(_MADE).count()

    def wait(self) -> None:
        """Wait until the page knows its pipelines."""
        self.page.wait_for_selector(_READY)

    def link(self, text: str, pipeline: str) -> None:
        self.page.select_option("#pipeline", pipeline)
        self.page.fill("#text", text)
        with self.page.expect_response("**/link"):
            self.page.click("#link")
        self.page.wait_for_selector("#linked:not([hidden])")

    def marked_text(self) -> str:
        """Return the text with marks as it is shown, without the types."""
        return str(self.page.locator("#marked").evaluate(_WITHOUT_TYPES))

    def look_at_all(self) -> str:
        """Select all mentions and all their candidates, and return what was shown."""
        shown = [self.page.inner_text("main")]
        for number in range(self.page.locator("#marked button").count()):
            self.page.locator("#marked button").nth(number).click()
            self.page.locator(".concept dl").wait_for()
            shown.append(self.page.locator("#details").evaluate("each => each.textContent"))
        return "\n".join(shown)

    def map(self, content: str, name: str, pipeline: str) -> str:
        """Map the last column of a table, and return what was shown."""
        self.page.click("#tab-table")
        self.page.select_option("#pipeline", pipeline)
        self.page.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": content.encode()})
        self.page.wait_for_selector("#table-options:not([hidden])")
        self.page.select_option("#column", index=self.page.locator("#column option").count() - 1)
        self.page.click("#map")
        self.page.wait_for_selector("#mapped:not([hidden])")
        return str(self.page.locator("main").evaluate("each => each.textContent"))

    def careless(self, text: str) -> None:
        """Hand a text to the control page."""
        self.evaluate(f"careless({json.dumps(text)})")

    def close(self) -> None:
        self.page.close()
