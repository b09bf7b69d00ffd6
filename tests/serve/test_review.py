"""Tests of the review server: routes, roles, CSRF, and the page."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.review.decisions import Verdict
from onym.review.desk import Desk, open_desk
from onym.review.merge import merge_desks
from onym.serve.review import Account, ReviewService, ReviewSettings, read_accounts
from tests.review.desks import FEVER, PRESSURE, decide, make_desk

ACCOUNTS = (
    Account(name="ann", role="reviewer", token="a" * 16),
    Account(name="bob", role="reader", token="b" * 16),
)
Headers = dict[str, str]


class Client:
    """Sends requests to a review server without a listener."""

    def __init__(self, desk: Desk, kb: KnowledgeBase, **settings: Any) -> None:
        self._desk, self._kb, self._settings = desk, kb, ReviewSettings(**settings)

    def send(self, *requests: tuple[str, str, Headers, Any]) -> list[httpx.Response]:
        """Send requests one after another to one server; `CSRF` in a header stands for the token of the server."""
        return asyncio.run(self._send(*requests))

    async def _send(self, *requests: tuple[str, str, Headers, Any]) -> list[httpx.Response]:
        service = ReviewService(self._desk, self._kb, self._settings)
        transport = httpx.ASGITransport(service.admission)
        found = []
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for method, path, headers, body in requests:
                own = {name: value.replace("CSRF", service.csrf) for name, value in headers.items()}
                content = None if body is None else json.dumps(body)
                typed = {"content-type": "application/json"} if body is not None else {}
                found.append(await client.request(method, path, headers={**typed, **own}, content=content))
        await service.close()
        return found


@pytest.fixture
def desk(tmp_path: Path, tiny_kb: Path) -> Iterator[Desk]:
    make_desk(tmp_path / "desk.sqlite", KnowledgeBase.open(tiny_kb))
    with open_desk(tmp_path / "desk.sqlite", exclusive=True) as opened:
        yield opened


@pytest.fixture
def client(desk: Desk, tiny_kb: Path) -> Client:
    return Client(desk, KnowledgeBase.open(tiny_kb))


@pytest.fixture
def accounts(desk: Desk, tiny_kb: Path) -> Client:
    return Client(desk, KnowledgeBase.open(tiny_kb), accounts=ACCOUNTS, host="0.0.0.0")


def get(path: str, token: str = "") -> tuple[str, str, Headers, Any]:
    return "GET", path, {"authorization": f"Bearer {token}"} if token else {}, None


def post(verdict: str, token: str = "", csrf: str = "CSRF", **more: Any) -> tuple[str, str, Headers, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    body: Mapping[str, Any] = {"id": uuid.uuid4().hex, "verdict": verdict, "seconds": 1.5, **more}
    return "POST", "/v1/review/decisions", headers | ({"x-onym-csrf": csrf} if csrf else {}), body


def test_the_next_link_has_context_and_candidates(client: Client) -> None:
    (shown,) = client.send(get("/v1/review/next"))
    item = shown.json()["item"]
    assert (item["surface"], item["before"], item["affected"]) == (
        "MI",
        "High fever. No MI, but ",
        {"here": 1, "document": 2, "everywhere": 3},
    )
    first, second = item["candidates"]
    assert (first["id"], first["definitions"]) == ("MESH:D009203", ["Necrosis of the myocardium."])
    assert second["names"]


def test_a_decision_is_stored_with_the_reviewer_of_the_token(accounts: Client, desk: Desk) -> None:
    wrong = post("concept", "a" * 16, link=2, concept_id="D006973", scope="everywhere", reviewer="bob")
    right = post("concept", "a" * 16, link=2, concept_id="D006973", scope="everywhere")
    answers = accounts.send(wrong, right, get("/v1/review/next", "a" * 16))
    assert [each.status_code for each in answers] == [400, 200, 200]
    (decision,) = desk.decisions()
    assert (decision.reviewer, decision.concept_id, decision.seconds) == ("ann", PRESSURE.concept_id, 1.5)
    assert decision.kb == desk.facts.kb
    assert answers[1].json()["progress"] == answers[2].json()["progress"] == {"queued": 6, "undecided": 3}


def test_a_decision_that_is_sent_again_counts_once(client: Client, desk: Desk) -> None:
    once = post("unsure", link=1)
    answers = client.send(once, once)
    assert answers[0].json() == answers[1].json()
    assert len(list(desk.decisions())) == 1


@pytest.mark.parametrize("csrf", ["", "x" * 43])
def test_decisions_need_the_csrf_token_on_loopback_too(client: Client, desk: Desk, csrf: str) -> None:
    (answer,) = client.send(post("unsure", csrf=csrf, link=1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "serve-csrf")
    assert list(desk.decisions()) == []


def test_pages_of_other_origins_are_rejected(client: Client) -> None:
    method, path, headers, body = post("unsure", link=1)
    answers = client.send(
        (method, path, headers | {"origin": "http://evil.example"}, body),
        (method, path, headers | {"content-type": "text/plain"}, body),
        ("GET", "/v1/review/desk", {"sec-fetch-site": "cross-site"}, None),
        ("GET", "/v1/review/desk", {"host": "evil.example"}, None),
    )
    assert [each.status_code for each in answers] == [403, 415, 403, 421]


def test_readers_see_and_cannot_decide(accounts: Client, desk: Desk) -> None:
    shown, answer = accounts.send(get("/v1/review/desk", "b" * 16), post("unsure", "b" * 16, link=1))
    assert (shown.json()["reviewer"], shown.json()["role"], shown.json()["csrf"]) == ("bob", "reader", "")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "serve-role")
    assert list(desk.decisions()) == []


def test_without_a_token_only_the_page_is_shown(accounts: Client) -> None:
    paths = ["/", "/page/review.js", "/v1/review/desk", "/v1/review/next", "/v1/review/links/1", "/v1/review/documents/1"]
    answers = accounts.send(*map(get, paths), get("/v1/review/desk", "c" * 16), post("unsure", link=1))
    assert [each.status_code for each in answers] == [200, 200, 401, 401, 401, 401, 401, 401]
    assert "script-src 'self'" in answers[0].headers["content-security-policy"]


def test_other_machines_need_accounts() -> None:
    with pytest.raises(ConfigError, match="serve-token-needed"):
        ReviewSettings(host="0.0.0.0")


def test_documents_concepts_and_errors(client: Client) -> None:
    answers = client.send(
        get("/v1/review/documents/1"),
        get("/v1/review/search?q=pressure"),
        get("/v1/review/links/99"),
        get("/v1/review/links/x"),
        get("/v1/review/nothing"),
        post("concept", link=1, concept_id="mesh:X"),
        post("guess", link=1),
    )
    assert [each.status_code for each in answers] == [200, 200, 422, 400, 404, 422, 400]
    assert [link["start"] for link in answers[0].json()["links"]] == [5, 15, 23]
    assert answers[1].json()["hits"][0]["curie"] == PRESSURE.concept_id


@pytest.mark.parametrize(
    "text", ["", "ann reviewer short", "ann boss " + "a" * 16, "ann reviewer " + "a" * 16 + " more", "a b"]
)
def test_malformed_accounts_are_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "accounts").write_text(text)
    with pytest.raises(ConfigError, match="serve-token-file"):
        read_accounts(tmp_path / "accounts")
    with pytest.raises(ConfigError, match="serve-token-file"):
        read_accounts(tmp_path / "gone")


def test_accounts_have_different_names_and_tokens(tmp_path: Path) -> None:
    (tmp_path / "accounts").write_text(f"ann reviewer {'a' * 16}\nann reader {'b' * 16}\n")
    with pytest.raises(ConfigError, match="serve-token-file"):
        read_accounts(tmp_path / "accounts")


def test_blind_reviewers_see_nothing_of_each_other(desk: Desk, tiny_kb: Path) -> None:
    people = (*ACCOUNTS, Account(name="eve", role="reviewer", token="e" * 16))
    missed: dict[str, Any] = {"document": 3, "start": 3, "end": 8, "concept_id": "D005334"}
    work = [
        post("not-a-mention", "a" * 16, link=3, scope="everywhere"),
        post("right", "a" * 16, link=1, concept_id="D005334"),
        post("missed", "a" * 16, **missed),
    ]
    paths = ("desk", "next", "links/1", "links/3", "links/2", "documents/3")
    asked = [get(f"/v1/review/{path}", "e" * 16) for path in paths]
    blind = Client(desk, KnowledgeBase.open(tiny_kb), accounts=people, blind=True)
    fresh = blind.send(*asked)
    shown = blind.send(*work, *asked)
    assert [each.status_code for each in shown] == [200] * (len(work) + len(asked))
    assert [drop_csrf(each) for each in shown[len(work) :]] == [drop_csrf(each) for each in fresh]
    own = blind.send(get("/v1/review/desk", "a" * 16), get("/v1/review/documents/3", "a" * 16))
    assert (own[0].json()["progress"], len(own[0].json()["recent"])) == ({"queued": 6, "undecided": 2}, 3)
    assert len(own[1].json()["missed"]) == 1
    seen = Client(desk, KnowledgeBase.open(tiny_kb), accounts=people).send(*asked)
    assert [drop_csrf(each) for each in seen] != [drop_csrf(each) for each in fresh]


def drop_csrf(answer: httpx.Response) -> dict[str, Any]:
    return {**answer.json(), "csrf": ""}


def test_a_desk_of_disagreements_shows_what_the_reviewers_said(desk: Desk, tiny_kb: Path, tmp_path: Path) -> None:
    for number, reviewer in enumerate(("ann", "bob"), 1):
        verdict: Verdict = "no-concept" if reviewer == "ann" else "concept"
        own = {} if reviewer == "ann" else {"concept_id": FEVER.concept_id}
        desk.decide(decide(number, verdict, link=2, reviewer=reviewer, **own))
    merge_desks([desk.path], tmp_path / "open.sqlite", disagreements=True)
    with open_desk(tmp_path / "open.sqlite", exclusive=True) as opened:
        (answer,) = Client(opened, KnowledgeBase.open(tiny_kb)).send(get("/v1/review/next"))
    item = answer.json()["item"]
    assert (item["link"], item["labels"]) == (2, {"ann": "no-concept", "bob": "mesh:D005334"})
    assert item["candidates"][0]["curie"] == "mesh:D005334"


def test_last_decisions_can_be_undone_after_the_page_is_loaded_again(client: Client, desk: Desk) -> None:
    client.send(post("unsure", link=1), post("unsure", link=2))
    (shown,) = client.send(get("/v1/review/desk"))
    assert [each["link"] for each in shown.json()["recent"]] == [1, 2]
    client.send(post("undo", undoes=shown.json()["recent"][-1]["id"]))
    assert [each["link"] for each in client.send(get("/v1/review/desk"))[0].json()["recent"]] == [1]


def test_a_server_for_others_needs_accounts(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        ReviewSettings(host="0.0.0.0")
    assert "--accounts" in str(caught.value.fix)
