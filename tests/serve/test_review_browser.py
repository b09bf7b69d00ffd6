"""Browser tests of the review page: decisions by keyboard, scopes, undo, documents, hostile text, accessibility."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.serve.running import RunningDesk

from onym.kb import KnowledgeBase
from onym.review.create import ReviewedDocument, create_desk
from onym.review.decisions import Decision
from onym.review.desk import open_desk
from tests.review.desks import FEVER, INFARCT, PRESSURE, link_at
from tests.robustness.serve.browser import axe_script, violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
HOSTILE = '<img src=x onerror="window.pwned=1"> MI </mark><script>window.pwned=1</script>'
FEW, MANY = 2, 60


def write_desk(path: Path, kb: KnowledgeBase, notes: int) -> None:
    """Write a desk of notes with different surfaces, and two documents with hostile text."""
    documents = []
    for number in range(notes):
        text = f"Note {number}: high fever{number} and MI."
        links = (link_at(text, f"fever{number}", FEVER, PRESSURE, confidence=number / notes),)
        documents.append(ReviewedDocument(str(number), text, links))
    for number in (100, 101):
        links = (link_at(HOSTILE, "MI", INFARCT, PRESSURE, confidence=0.99),)
        documents.append(ReviewedDocument(str(number), HOSTILE, links))
    create_desk(path, documents, kb, {})


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path, tiny_kb: Path) -> Iterator[RunningDesk]:
    write_desk(tmp_path / "desk.sqlite", KnowledgeBase.open(tiny_kb), getattr(request, "param", FEW))
    running = RunningDesk(tmp_path / "desk.sqlite", tiny_kb, tmp_path / "log.txt", "--drain-delay", "0", patience_s=300)
    yield running
    assert running.stop() == 0


class Reviewer:
    """The page, used by its keys only."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.page: Page = browser.new_page()
        self.page.set_default_timeout(120_000)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda each: self.complaints.append(each.text) if each.type == "error" else None)
        self.page.goto(url)
        self.page.wait_for_selector("#item:not([hidden])")

    def decide(self, key: str) -> None:
        """Press a key, and wait until the decision is stored and the next link is shown."""
        with self.page.expect_response("**/decisions") as answer:
            self.page.keyboard.press(key)
        assert answer.value.status == 200, answer.value.text()
        self.page.wait_for_function("!document.querySelector('#status').textContent.includes('…')")

    def sentence(self) -> str:
        return self.page.inner_text("#sentence mark")

    def wait_for_another(self, sentence: str) -> None:
        self.page.wait_for_function("(old) => document.querySelector('#sentence mark')?.textContent !== old", arg=sentence)


@pytest.fixture
def reviewer(browser: Browser, server: RunningDesk) -> Iterator[Reviewer]:
    found = Reviewer(browser, server.url)
    yield found
    found.page.close()
    assert found.complaints == []


def decisions(server: RunningDesk) -> list[Decision]:
    folder = server.log.parent
    with open_desk(folder / "desk.sqlite") as desk:
        return list(desk.decisions())


@pytest.mark.parametrize("server", [MANY], indirect=True)
def test_fifty_links_are_decided_by_keys_alone(reviewer: Reviewer, server: RunningDesk) -> None:
    pressed = [("y", "right"), ("2", "concept"), ("x", "not-a-mention"), ("0", "no-concept"), ("u", "unsure")] * 9
    pressed += [("b", "broader"), ("n", "narrower"), ("c", "close"), ("1", "right"), ("y", "right")]
    for key, _ in pressed:
        sentence = reviewer.sentence()
        reviewer.decide(key)
        reviewer.wait_for_another(sentence)
    assert [each.verdict for each in decisions(server)] == [verdict for _, verdict in pressed]
    assert reviewer.page.inner_text("#progress") == "50 of 62 links decided"
    assert reviewer.page.evaluate("document.activeElement.id") == "main"


def test_scope_search_and_undo_by_keys(reviewer: Reviewer, server: RunningDesk) -> None:
    page = reviewer.page
    for _ in range(FEW):
        sentence = reviewer.sentence()
        reviewer.decide("u")
        reviewer.wait_for_another(sentence)
    assert reviewer.sentence() == "MI"
    page.keyboard.press("s")
    page.keyboard.press("s")
    assert page.inner_text("#status") == "For everywhere: 2 links."
    page.keyboard.press("/")
    page.keyboard.type("pressure")
    page.keyboard.press("Enter")
    page.wait_for_selector("#hits li")
    assert len(decisions(server)) == FEW  # Enter in the search field searches, and decides nothing
    reviewer.decide("Enter")
    page.wait_for_selector("#done:not([hidden])")
    last = decisions(server)[-1]
    assert (last.verdict, last.scope, last.concept_id) == ("concept", "everywhere", PRESSURE.concept_id)
    reviewer.decide("z")
    page.wait_for_selector("#item:not([hidden])")
    assert page.inner_text("#progress") == "2 of 4 links decided"
    assert decisions(server)[-1].undoes == last.id


def test_bounds_and_missed_mentions_by_keys(reviewer: Reviewer, server: RunningDesk) -> None:
    page, before = reviewer.page, reviewer.sentence()
    page.keyboard.press("/")
    page.keyboard.type("heart attack")
    page.keyboard.press("Enter")
    page.wait_for_selector("#hits li")
    page.keyboard.press("d")
    page.wait_for_selector("#whole:not([hidden])")
    page.keyboard.press("End")
    page.keyboard.type("changed")
    assert page.input_value("#text").endswith("MI.")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    reviewer.decide("m")
    page.keyboard.press("Escape")
    page.wait_for_selector("#item:not([hidden])")
    assert reviewer.sentence() == before
    (missed,) = decisions(server)
    text = f"Note {missed.document and missed.document - 1}: high fever0 and MI."
    assert text[missed.start : missed.end] == "MI"
    assert (missed.verdict, missed.concept_id) == ("missed", INFARCT.concept_id)


def test_hostile_text_is_shown_as_text(reviewer: Reviewer, server: RunningDesk) -> None:
    page = reviewer.page
    for _ in range(FEW):
        sentence = reviewer.sentence()
        reviewer.decide("u")
        reviewer.wait_for_another(sentence)
    assert page.inner_text("#sentence") == HOSTILE
    page.keyboard.press("d")
    page.wait_for_selector("#whole:not([hidden])")
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img, main script").count() == 0


def test_page_is_accessible(reviewer: Reviewer) -> None:
    script = axe_script()
    assert violations(reviewer.page, script) == []
    reviewer.page.keyboard.press("d")
    reviewer.page.wait_for_selector("#whole:not([hidden])")
    assert violations(reviewer.page, script) == []


def test_page_fits_a_phone(browser: Browser, server: RunningDesk) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 720})
    page.goto(server.url)
    page.wait_for_selector("#item:not([hidden])")
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.locator(".definition").evaluate_all("all => all.forEach((each) => each.append(' and more'.repeat(50)))")
    page.close()
