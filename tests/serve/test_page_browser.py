"""Browser tests of the text tab and of the parts that both tabs share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.serve.running import Running

from onym.corpora import write_corpus
from onym.corpora.plain import with_answers
from onym.packs import load
from onym.types import Document
from tests.serve.conftest import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.browser
TEXT = "Fever and a heart attack; aspirin."
TOKEN = "0123456789abcdef"
HOSTILE = '<img src=x onerror="window.pwned=1"> fever <script>window.pwned=1</script> aspirin </div>'


def test_mentions_are_marked_with_their_types(visit: Visit) -> None:
    visit.link(TEXT)
    assert visit.texts("#marked .kind") == ["Disease", "Disease", "Chemical"]
    assert visit.texts("#links tbody th") == ["Fever", "heart attack", "aspirin"]
    assert "made:1" in visit.texts("#links tbody tr")[0].lower()
    assert visit.page.inner_text("#status") == "3 mentions found, 3 linked."
    assert visit.complaints == []


def test_negated_mentions_are_struck_through_and_marked(visit: Visit) -> None:
    visit.link("Fever, no heart attack.")
    assert visit.texts("#marked .kind") == ["Disease", "Disease, negated"]
    assert visit.texts("#marked s") == ["heart attack"]
    assert visit.texts("#links .marks") == ["negated"]
    visit.page.locator("#marked button").nth(1).click()
    assert "In this text: negated" in visit.page.inner_text("#details")
    assert visit.page.inner_text("#status").endswith(", negated.")
    visit.download("#save-pubtator")
    assert "PubTator cannot store marks" in visit.page.inner_text("#status")


def test_selected_mention_shows_explanation(visit: Visit) -> None:
    visit.link("A heart attack. Type 2 diabetes mellitus (T2DM) and no T2DM.", "diseases")
    visit.page.locator("#marked button", has_text="T2DM").first.click()
    details = visit.page.locator("#details")
    details.locator(".concept dl").wait_for()
    shown = details.inner_text()
    assert "Abbreviation: in this text it stands for" in shown
    assert "Matched synonym" in shown
    assert details.locator("q").all_inner_texts() == ["Type 2 diabetes mellitus", "type 2 diabetes mellitus"]
    assert "Runner-up" in shown
    assert "behind." in shown
    assert details.locator("meter").count() == 1
    assert details.locator("table").last.locator("tbody tr").count() == 5
    details.get_by_text("Show all").click()
    assert details.locator("table").last.locator("tbody tr").count() > 5
    assert "MONDO:0005148" in visit.page.inner_text("#status")


def test_lists_names_not_taken_as_mentions(visit: Visit) -> None:
    visit.link("No leukemia.", "diseases")
    details = visit.page.locator("#details details")
    assert details.locator("summary").inner_text() == "Not taken as mentions: 1"
    assert (details.locator("li").first.text_content() or "").startswith("leukemia: too general")


def test_definitions_are_escaped(visit: Visit) -> None:
    visit.link(TEXT)
    visit.page.locator("#marked button").first.click()
    visit.page.locator(".concept dd", has_text="A raised <b>temperature</b>.").wait_for()
    assert visit.page.locator("#details b").count() == 0


def test_candidates_show_their_parents(visit: Visit) -> None:
    visit.link(TEXT)
    visit.page.locator("#marked button").first.click()
    visit.page.locator(".concept dd", has_text="Sign of <i>heat</i>").wait_for()
    assert visit.texts("#details .parents") == ["Parents: Sign of <i>heat</i>"]
    visit.page.locator("#marked button").nth(1).click()
    visit.page.locator(".concept dd", has_text="Necrosis").wait_for()
    assert visit.texts("#details .parents") == []
    assert visit.complaints == []


def test_filters_by_type_and_by_confidence(visit: Visit) -> None:
    visit.link(TEXT)
    assert visit.page.is_disabled("#threshold")
    visit.page.uncheck("#types label:has-text('Disease') input")
    assert visit.texts("#marked .mention") == ["aspirinChemical"]
    assert visit.page.inner_text("#shown-count") == "1 of 3 mentions shown"
    assert visit.page.locator("#marked").evaluate("each => each.textContent").replace("Chemical", "") == TEXT
    visit.link("Breast cancer and chronic kidney disease and tuberculosis.", "diseases")
    links = _answer(visit, "Breast cancer and chronic kidney disease and tuberculosis.", "diseases")["links"]
    cut = sorted(link["confidence"] for link in links)[1]
    visit.page.locator("#threshold").fill(f"{cut:.2f}")
    expected = [link["text"] for link in links if link["confidence"] >= round(cut, 2)]
    assert visit.texts("#links tbody th") == expected
    assert 0 < len(expected) < len(links)


def test_downloads_contain_only_shown_links(visit: Visit, pipeline_folder: Path, tmp_path: Path) -> None:
    text = "😀 Fever\nand 🩺 aspirin, heart attack."
    visit.link(text)
    name, found = visit.download("#save-json")
    assert (name, json.loads(found)) == ("links.json", load(pipeline_folder).link(text).to_dict())
    name, found = visit.download("#save-pubtator")
    linked = load(pipeline_folder).link(Document("1", text))
    write_corpus([with_answers(linked)], tmp_path / "links.pubtator", "pubtator")
    assert (name, found.decode()) == ("links.pubtator", (tmp_path / "links.pubtator").read_text("utf-8"))
    visit.page.uncheck("#types label:has-text('Disease') input")
    assert [link["text"] for link in json.loads(visit.download("#save-json")[1])["links"]] == ["aspirin"]


def test_text_is_never_in_a_url_or_sent_to_another_host(visit: Visit) -> None:
    visit.link("Fever of Smith", "made")
    visit.page.locator("#marked button").first.click()
    visit.page.locator(".concept dl").wait_for()
    visit.download("#save-json")
    assert all(request.url.startswith((visit.url, f"blob:{visit.url}")) for request in visit.requests)
    assert not any("smith" in request.url.lower() for request in visit.requests)
    assert visit.page.url == f"{visit.url}/"
    assert [request.method for request in visit.requests if "/link" in request.url] == ["POST"]


def test_hostile_text_is_escaped(visit: Visit) -> None:
    visit.link(HOSTILE)
    visit.page.locator("#marked button").first.click()
    shown = visit.page.locator("#marked").evaluate("each => each.textContent")
    assert shown == HOSTILE.replace("fever", "feverDisease").replace("aspirin", "aspirinChemical")
    assert visit.page.evaluate("window.pwned") is None
    assert visit.page.locator("#marked img, #marked script").count() == 0
    assert visit.complaints == []


def test_marks_nested_mentions(visit: Visit) -> None:
    def answer_nested(route: Route) -> None:
        answer = route.fetch().json()
        whole = {**answer["links"][0], "start": 0, "end": 17, "text": "fever and aspirin"}
        route.fulfill(json=answer | {"links": [whole, *answer["links"]], "explanations": []})

    visit.page.route("**/link", answer_nested)
    visit.link("fever and aspirin")
    assert visit.texts("#links tbody th") == ["fever and aspirin", "fever", "aspirin"]
    buttons = visit.page.locator("#marked button").evaluate_all("all => all.map((each) => each.dataset.link)")
    assert buttons == ["1", "0", "2"]
    assert visit.page.locator("#marked button button").count() == 0


def test_tabs_and_mentions_work_with_keyboard(visit: Visit) -> None:
    visit.link(TEXT)
    visit.page.focus("#tab-text")
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.is_visible("#panel-table")
    assert visit.page.evaluate("document.activeElement.id") == "tab-table"
    visit.page.keyboard.press("Home")
    assert visit.page.is_visible("#panel-text")
    visit.page.locator("#marked button").nth(2).focus()
    visit.page.keyboard.press("Enter")
    assert visit.page.locator("#marked button[aria-pressed=true]").count() == 1
    assert visit.page.locator("#details h2").inner_text().startswith("aspirin")
    visit.page.focus("#text")
    with visit.page.expect_response("**/link"):
        visit.page.keyboard.press("Control+Enter")


def test_retries_when_service_is_overloaded(visit: Visit) -> None:
    statuses: list[int] = []

    def busy_once(route: Route) -> None:
        if statuses:
            route.continue_()
        else:
            statuses.append(429)
            error = {"code": "serve-overloaded", "what": "too much", "where": "", "fix": ""}
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": error})

    visit.page.route("**/link", busy_once)
    visit.page.fill("#text", TEXT)
    visit.page.click("#link")
    visit.page.get_by_text("The service is busy. Trying again in 1 second").wait_for()
    visit.page.wait_for_selector("#marked button")
    assert statuses == [429]


def test_shows_error_message_and_fix(visit: Visit) -> None:
    error = {"code": "serve-timeout", "what": "there is no <b>answer</b>", "where": "", "fix": "send less text"}
    visit.page.route("**/link", lambda route: route.fulfill(status=504, json={"error": error}))
    visit.page.fill("#text", TEXT)
    visit.page.click("#link")
    shown = visit.page.locator("#error .card")
    shown.wait_for()
    assert all(part in shown.inner_text() for part in ("there is no <b>answer</b>", "send less text", "serve-timeout"))
    visit.page.unroute("**/link")
    visit.page.route("**/link", lambda route: route.abort())
    visit.page.click("#link")
    visit.page.get_by_text("The service cannot be reached").wait_for()
    visit.page.click("#error button")
    assert visit.page.locator("#error .card").count() == 0


def test_asks_for_token_and_keeps_it_in_memory_only(browser: Browser, pipeline_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    running = Running(pipeline_folder, tmp_path / "log.txt", "--token-file", str(tmp_path / "token"))
    try:
        running.wait_until_ready()
        page = browser.new_page()
        visit = Visit(page, running.url)
        page.fill("#token", "wrong-wrong-wrong")
        page.keyboard.press("Enter")
        page.get_by_text("The token was not accepted").wait_for()
        page.fill("#token", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("#release:not(:empty)")
        page.fill("#text", TEXT)
        page.click("#link")
        page.wait_for_selector("#marked button")
        stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        assert stored == '[{},{},""]'
        assert page.locator("#token").input_value() == ""
        assert not any(TOKEN in request.url for request in visit.requests)
        page.close()
    finally:
        running.stop()


@pytest.mark.parametrize("width", [320, 390, 800])
def test_fits_on_a_phone_screen(browser: Browser, service: Running, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 700})
    visit = Visit(page, service.url)
    visit.link(TEXT + " " + "verylongword" * 20, "made")
    page.locator("#marked button").first.click()
    page.locator(".concept dl").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    visit.upload(b"id,term\n1,fever\n")
    visit.map_column()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def _answer(visit: Visit, text: str, pipeline: str) -> Any:
    return visit.page.request.post(f"{visit.url}/v1/{pipeline}/link", data={"text": text}).json()
