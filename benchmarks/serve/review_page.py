"""Use the page of a review desk in Chromium: decide 50 links by keys alone, and check its states with axe-core."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.robustness.serve.browser import axe_script, missing, open_browser, violations

from benchmarks.serve.running import RunningDesk
from onym.kb import KnowledgeBase
from onym.packs.locate import locate_kb
from onym.review.create import ReviewedDocument, create_desk
from onym.review.desk import open_desk
from onym.types import Candidate, Link, Mention

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_LINKS = 60
_KEYS = ("y", "2", "x", "0", "u", "b", "n", "c", "1", "y") * 5
_VERDICTS = ("right", "concept", "not-a-mention", "no-concept", "unsure", "broader", "narrower", "close", "right", "right") * 5


def use_page() -> dict[str, Any]:
    """Return whether 50 links were decided by keys alone, and the number of rules that states of the page violate."""
    if missing():
        return {"keyboard_only": None, "a11y_violations": None}
    with tempfile.TemporaryDirectory() as name:
        folder, kb = Path(name), locate_kb(Path("starter"))
        _make_desk(folder / "desk.sqlite", KnowledgeBase.open(kb))
        server = RunningDesk(folder / "desk.sqlite", kb, folder / "log.txt", "--drain-delay", "0", patience_s=300)
        try:
            with open_browser() as browser:
                found = sum(_check(browser, server.url))
                _decide_by_keys(browser, server.url)
        finally:
            server.stop()
        with open_desk(folder / "desk.sqlite") as desk:
            verdicts = tuple(each.verdict for each in desk.decisions())
    return {"keyboard_only": verdicts == _VERDICTS, "a11y_violations": found}


def _make_desk(path: Path, kb: KnowledgeBase) -> None:
    ids = [kb.concept_ids[row] for row in range(2 * _LINKS)]

    def documents() -> Iterator[ReviewedDocument]:
        for number in range(_LINKS):
            word = f"term{number}"
            candidates = tuple(Candidate(each, word, 1.0) for each in ids[2 * number : 2 * number + 2])
            link = Link(Mention(7, 7 + len(word), word), candidates, confidence=number / _LINKS)
            yield ReviewedDocument(str(number), f"A note {word} and more text.", (link,))

    create_desk(path, documents(), kb, {})


def _open(browser: Browser, url: str, **options: Any) -> Page:
    page = browser.new_page(**options)
    page.set_default_timeout(120_000)
    page.goto(url)
    page.wait_for_selector("#item:not([hidden])")
    return page


def _decide_by_keys(browser: Browser, url: str) -> None:
    page = _open(browser, url)
    for key in _KEYS:
        shown = page.inner_text("#sentence mark")
        page.keyboard.press(key)
        page.wait_for_function("(old) => document.querySelector('#sentence mark')?.textContent !== old", arg=shown)
    page.close()


def _check(browser: Browser, url: str) -> Iterator[int]:
    """Yield the number of rules that each state of the page violates: an item, a search, a document."""
    script = axe_script()
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        for width in (1_280, 390):
            page = _open(browser, url, color_scheme=scheme, viewport={"width": width, "height": 900})
            yield len(violations(page, script))
            page.keyboard.press("/")
            page.keyboard.type("fever")
            page.keyboard.press("Enter")
            page.wait_for_selector("#hits li")
            yield len(violations(page, script))
            page.keyboard.press("d")
            page.wait_for_selector("#whole:not([hidden])")
            yield len(violations(page, script))
            page.close()
