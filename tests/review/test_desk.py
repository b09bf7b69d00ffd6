"""Tests of desks: rows, decisions, undo and purges."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from onym.errors import ConfigError, InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.review.decisions import Standing
from onym.review.desk import Desk, open_desk, read_candidates
from tests.review.desks import FEVER, INFARCT, NOTES, decide, make_desk


@pytest.fixture
def desk(tmp_path: Path, tiny_kb: Path) -> Iterator[Desk]:
    make_desk(tmp_path / "desk.sqlite", KnowledgeBase.open(tiny_kb))
    with open_desk(tmp_path / "desk.sqlite", exclusive=True) as opened:
        yield opened


def standing(desk: Desk) -> list[str | None]:
    held = Standing(desk.decisions())
    found = [held.of(link.number, link.document, link.cluster) for link in desk.links()]
    return [each.verdict if each else None for each in found]


def read_all(path: Path) -> None:
    with open_desk(path) as opened:
        list(opened.links())
        list(opened.decisions())


def test_links_and_documents_are_kept(desk: Desk) -> None:
    assert [document.text for document in desk.documents()] == list(NOTES)
    assert [(link.document, link.surface, link.concept_id) for link in desk.links()][:2] == [
        (1, "fever", "mesh:D005334"),
        (1, "MI", "mesh:D009203"),
    ]
    assert desk.link(1).candidates == (FEVER,)
    assert [link.number for link in desk.links_of(2)] == [4, 5]
    assert desk.facts.source == {"linker": "exact"}


def test_clusters_share_surface_expansion_and_answer(desk: Desk) -> None:
    assert [(each.surface, each.expansion) for each in desk.clusters()] == [
        ("fever", ""),
        ("=MI", ""),
        ("=MI", "myocardial ischemia"),
    ]
    assert [link.cluster for link in desk.links()] == [1, 2, 2, 3, 1, 2]


def test_decisions_survive_closing(desk: Desk) -> None:
    made = desk.decide(decide(1, "right", link=1, concept_id="mesh:D005334", seconds=2.5))
    assert (made.number, made.document, made.cluster) == (1, 1, 1)
    desk.close()
    with open_desk(desk.path) as again:
        assert list(again.decisions()) == [made]


def test_a_decision_that_is_sent_again_counts_once(desk: Desk) -> None:
    first = desk.decide(decide(1, "not-a-mention", link=1, seconds=1.0))
    assert desk.decide(decide(1, "not-a-mention", link=1, seconds=9.0, time="later")) == first
    with pytest.raises(InputError, match="another decision has this id"):
        desk.decide(decide(1, "unsure", link=1))
    assert len(list(desk.decisions())) == 1


def test_the_narrowest_scope_holds_then_the_latest(desk: Desk) -> None:
    desk.decide(decide(1, "not-a-mention", link=2, scope="everywhere"))
    desk.decide(decide(2, "concept", link=6, concept_id="mesh:D006973"))
    desk.decide(decide(3, "unsure", link=3, scope="document"))
    assert standing(desk) == [None, "unsure", "unsure", None, None, "concept"]
    desk.decide(decide(4, "no-concept", link=2, scope="everywhere"))
    assert standing(desk) == [None, "unsure", "unsure", None, None, "concept"]
    desk.decide(decide(5, "undo", undoes="decision-3"))
    assert standing(desk) == [None, "no-concept", "no-concept", None, None, "concept"]
    desk.decide(decide(6, "undo", undoes="decision-4"))
    desk.decide(decide(7, "undo", undoes="decision-2"))
    assert standing(desk) == [None, "not-a-mention", "not-a-mention", None, None, "not-a-mention"]


def test_only_own_decisions_are_undone(desk: Desk) -> None:
    desk.decide(decide(1, "unsure", link=1))
    with pytest.raises(InputError, match="only your own"):
        desk.decide(replace(decide(2, "undo", undoes="decision-1"), reviewer="bob"))
    desk.decide(decide(3, "undo", undoes="decision-1"))
    with pytest.raises(InputError, match="cannot be undone"):
        desk.decide(decide(4, "undo", undoes="decision-3"))


def test_reviewers_are_kept_apart(desk: Desk) -> None:
    desk.decide(decide(1, "unsure", link=1))
    desk.decide(replace(decide(2, "not-a-mention", link=1), reviewer="bob"))
    decisions = list(desk.decisions())
    assert [Standing(decisions, name).of(1, 1, 1) for name in ("ann", "bob")] == decisions


def test_missed_mentions_are_listed(desk: Desk) -> None:
    missed = desk.decide(decide(1, "missed", document=1, start=0, end=4, concept_id="mesh:D005334"))
    assert Standing(desk.decisions()).list_missed() == [missed]
    desk.decide(decide(2, "undo", undoes="decision-1"))
    assert Standing(desk.decisions()).list_missed() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "right", "link": 1, "concept_id": "mesh:D009203"},
        {"verdict": "right", "link": 1},
        {"verdict": "unsure", "link": 99},
        {"verdict": "unsure"},
        {"verdict": "unsure", "link": 1, "concept_id": "mesh:D009203"},
        {"verdict": "unsure", "link": 1, "scope": "world"},
        {"verdict": "guess", "link": 1},
        {"verdict": "span", "link": 1, "start": 3, "end": 99_999},
        {"verdict": "span", "link": 1, "start": 3, "end": 3},
        {"verdict": "span", "link": 1, "start": 3, "end": 4, "scope": "everywhere"},
        {"verdict": "missed", "document": 9, "start": 3, "end": 4, "concept_id": "mesh:D009203"},
        {"verdict": "undo", "undoes": "decision-9"},
        {"verdict": "undo", "link": 1},
        {"verdict": "unsure", "link": 1, "seconds": float("nan")},
        {"verdict": "unsure", "link": 1, "reviewer": ""},
        {"verdict": "unsure", "link": 1, "id": "x; DROP TABLE decision"},
    ],
)
def test_decisions_that_do_not_fit_are_rejected(desk: Desk, wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"review-decision|review-missing"):
        desk.decide(decide(1, **wrong))  # type: ignore[arg-type]
    assert list(desk.decisions()) == []


def test_a_purge_erases_documents(desk: Desk) -> None:
    desk.decide(decide(1, "unsure", link=4))
    desk.decide(decide(2, "not-a-mention", link=5, scope="everywhere"))
    desk.decide(decide(3, "unsure", link=5))
    desk.decide(decide(4, "undo", undoes="decision-3"))
    assert desk.purge(["2"]) == 1
    assert [each.id for each in desk.decisions()] == ["decision-2"]
    assert standing(desk) == ["not-a-mention", None, None, None]
    assert [cluster.number for cluster in desk.clusters()] == [1, 2]
    desk.close()
    assert all(b"ischemia" not in each.read_bytes() for each in desk.path.parent.iterdir())


def test_a_purge_of_all_texts_keeps_decisions(desk: Desk) -> None:
    desk.decide(decide(1, "unsure", link=4))
    assert desk.purge() == 3
    assert [document.text for document in desk.documents()] == [None] * 3
    assert [link.surface for link in desk.links()].count("MI") == 4
    assert len(list(desk.decisions())) == 1
    assert all(b"family" not in each.read_bytes() for each in desk.path.parent.iterdir())


def test_unknown_documents_cannot_be_purged(desk: Desk) -> None:
    with pytest.raises(InputError, match="review-missing"):
        desk.purge(["7"])


def test_a_desk_has_one_server(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="database-locked"):
        open_desk(desk.path, exclusive=True)
    desk.close()
    open_desk(desk.path, exclusive=True).close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM desk",
        "UPDATE desk SET value = '[]'",
        """UPDATE desk SET value = '{"id": "x"}'""",
        "UPDATE link SET candidates = '[[1]]'",
        "UPDATE link SET candidates = '[[1, 2, 3, 4, 5]]'",
        "UPDATE link SET candidates = '" + "[" * 5_000 + "'",
        'UPDATE link SET candidates = \'[["a:b", "", "", "", NaN]]\'',
        "UPDATE link SET start = -1",
        "UPDATE link SET surface = 'x'",
        "UPDATE link SET confidence = 7",
        "UPDATE link SET cluster = 99",
        "DELETE FROM document",
        "INSERT INTO decision (id, reviewer, time, seconds, verdict, scope, kb) VALUES ('x', '', '', 0, 'y', 'z', '')",
    ],
)
def test_malformed_values_are_rejected(desk: Desk, statement: str) -> None:
    desk.close()
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as connection:
        connection.execute(statement)
    with pytest.raises(IntegrityError, match="database-malformed"):
        read_all(desk.path)


def test_infinite_scores_are_kept_as_json_has_them() -> None:
    assert read_candidates(json.dumps([["mesh:D009203", "mi", "Myocardial Infarction", "Disease", 0.8]])) == (INFARCT,)
