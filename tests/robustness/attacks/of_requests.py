"""Attacks by requests: numbers that no database, no language and no page can hold."""

from __future__ import annotations

from onym.kb import KnowledgeBase
from onym.review.desk import open_desk
from tests.review.desks import make_desk
from tests.robustness.attacks.rows import Place, attack
from tests.serve.test_review import Client, get, post

_NUMBERS = (2**63, 2**64, -(2**63) - 1, 10**400)


def _statuses(place: Place, requests: list[tuple[str, str, dict[str, str], object]]) -> list[int]:
    make_desk(place.folder / "desk.sqlite", place.kb)
    with open_desk(place.folder / "desk.sqlite", exclusive=True) as desk:
        client = Client(desk, KnowledgeBase.open(place.kb_path))
        return [response.status_code for response in client.send(*requests)]


@attack("a decision has numbers beyond 2^63")
def decisions_with_large_numbers(place: Place) -> None:
    fields = ("link", "document", "start", "end")
    requests = [post("missed", **{name: number}) for name in fields for number in _NUMBERS]
    requests += [post("unsure", link=number) for number in _NUMBERS]
    assert {400 <= status < 500 for status in _statuses(place, requests)} == {True}


@attack("paths and queries of a review server have numbers beyond 2^63, or of 5,000 digits")
def paths_with_large_numbers(place: Place) -> None:
    numbers = [*map(str, _NUMBERS), "9" * 5_000]
    paths = [f"/v1/review/{kind}/{number}" for kind in ("links", "documents") for number in numbers]
    statuses = _statuses(place, [get(path) for path in paths])
    assert {400 <= status < 500 for status in statuses} == {True}, statuses


@attack("skipped numbers of a review server have 5,000 digits")
def skipped_numbers_of_5000_digits(place: Place) -> None:
    (status,) = _statuses(place, [get(f"/v1/review/next?skipped=1,{'9' * 5_000},{2**64},x")])
    assert status == 200
