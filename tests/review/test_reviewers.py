"""Several reviewers: copies of a desk that are merged, agreement, and disagreements to be settled."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.review.decisions import Decision, Standing
from onym.review.desk import open_desk
from onym.review.merge import merge_decisions, merge_desks
from onym.review.reviewers import Reviewers, agreement_rows, label_of, write_disagreements
from tests.review.desks import FEVER, INFARCT, PRESSURE, decide, make_desk


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def copies(tmp_path: Path, kb: KnowledgeBase) -> list[Path]:
    """Return two copies of a desk."""
    make_desk(tmp_path / "desk.sqlite", kb)
    paths = [tmp_path / f"{reviewer}.sqlite" for reviewer in ("ann", "bob")]
    for path in paths:
        shutil.copy(tmp_path / "desk.sqlite", path)
    return paths


def _decide(path: Path, *decisions: Decision) -> None:
    with open_desk(path) as desk:
        for decision in decisions:
            desk.decide(decision)


def _list(path: Path) -> list[Decision]:
    with open_desk(path) as desk:
        return list(desk.decisions())


def _write_both(copies: Sequence[Path]) -> None:
    ann = {"reviewer": "ann"}
    bob = {"reviewer": "bob", "time": "2026-11-19T09:00:00+00:00"}
    _decide(
        copies[0],
        decide(1, "right", link=1, concept_id=FEVER.concept_id, **ann),
        decide(2, "right", link=2, concept_id=INFARCT.concept_id, **ann),
        decide(3, "not-a-mention", link=4, scope="everywhere", **ann),
    )
    _decide(
        copies[1],
        decide(11, "right", link=1, concept_id=FEVER.concept_id, **bob),
        decide(12, "concept", link=2, concept_id=PRESSURE.concept_id, **bob),
        decide(13, "unsure", link=3, **bob),
    )


def test_merged_desk_has_the_decisions_of_all(copies: list[Path], tmp_path: Path) -> None:
    _write_both(copies)
    counts = merge_desks(copies, tmp_path / "both.sqlite")
    assert (counts.decisions, counts.shared, counts.reviewers) == (6, 0, 2)
    merged = _list(tmp_path / "both.sqlite")
    assert [each.id for each in merged] == [f"decision-{number}" for number in (1, 2, 3, 11, 12, 13)]
    with open_desk(tmp_path / "both.sqlite") as desk, open_desk(copies[0]) as own:
        assert desk.facts == own.facts
        assert list(desk.links()) == list(own.links())
        assert list(desk.documents()) == list(own.documents())
    again = merge_desks([tmp_path / "both.sqlite", copies[1]], tmp_path / "again.sqlite")
    assert (again.decisions, again.shared) == (6, 3)
    assert _list(tmp_path / "again.sqlite") == merged


def test_only_disagreements_are_queued(copies: list[Path], tmp_path: Path) -> None:
    _write_both(copies)
    counts = merge_desks(copies, tmp_path / "both.sqlite", disagreements=True)
    with open_desk(tmp_path / "both.sqlite") as desk:
        assert [link.number for link in desk.links(queued=True)] == [2]
        assert counts.queued == 1
        desk.decide(decide(20, "concept", link=2, concept_id=PRESSURE.concept_id, reviewer="eve"))
        link = desk.link(2)
        held = Standing(desk.decisions()).of(link.number, link.document, link.cluster)
        assert held is not None
        assert held.reviewer == "eve"


def test_agreement(copies: list[Path], tmp_path: Path, kb: KnowledgeBase) -> None:
    _write_both(copies)
    merge_desks(copies, tmp_path / "both.sqlite")
    with open_desk(tmp_path / "both.sqlite") as desk:
        reviewers = Reviewers(desk.decisions())
        found = reviewers.measure(desk, kb)
        write_disagreements(reviewers, desk, tmp_path / "open.tsv")
        assert Reviewers(desk.decisions(), without=["bob"]).names == ["ann"]
    assert found.reviewers == {"ann": 3, "bob": 2}
    assert (found.links, found.equal) == (2, 1)
    assert found.kappa == {"ann, bob": pytest.approx(1 / 3)}
    assert found.alpha_by_distance == found.alpha  # the knowledge base has no hierarchy
    assert ("links with two labels", "2") in agreement_rows(found)
    lines = (tmp_path / "open.tsv").read_text().splitlines()
    assert lines[0].split("\t")[-2:] == ["label of ann", "label of bob"]
    assert lines[1].split("\t")[-2:] == [INFARCT.concept_id, PRESSURE.concept_id]


def test_agreement_without_decisions(copies: list[Path]) -> None:
    with open_desk(copies[0]) as desk:
        found = Reviewers(desk.decisions()).measure(desk)
    assert (found.alpha, found.kappa, found.links) == (None, {}, 0)


def test_labels_of_decisions() -> None:
    assert label_of(decide(1, "unsure", link=1)) is None
    assert label_of(decide(1, "no-concept", link=1)) == "no-concept"
    assert label_of(decide(1, "span", link=1, start=2, end=5)) == "span 2-5"
    assert label_of(decide(1, "concept", link=1, concept_id="x:1")) == label_of(decide(2, "right", link=1, concept_id="x:1"))


def test_overlapping_decisions_everywhere() -> None:
    """Of two reviewers who decide the same links everywhere, the later holds, whichever copy comes first in the merge."""
    ann = decide(1, "not-a-mention", link=1, document=1, cluster=7, scope="everywhere", time="2026-01-01T08:00:00Z")
    bob = replace(ann, id="decision-2", reviewer="bob", verdict="no-concept", time="2026-01-01T09:00:00Z")
    here = replace(ann, id="decision-3", verdict="unsure", scope="here", time="2026-01-01T07:00:00Z")
    undo = decide(4, "undo", undoes="decision-2", reviewer="bob", time="2026-01-01T10:00:00Z")
    for histories in ([[here, ann], [bob]], [[bob], [here, ann]]):
        standing = Standing(merge_decisions(histories))
        assert [_verdict(standing, link) for link in (1, 2)] == ["unsure", "no-concept"]
    standing = Standing(merge_decisions([[bob, undo], [here, ann]]))
    assert [_verdict(standing, link) for link in (1, 2)] == ["unsure", "not-a-mention"]


def _verdict(standing: Standing, link: int) -> str | None:
    held = standing.of(link, 1, 7)
    return held.verdict if held else None


def make_history(rng: random.Random, reviewer: str) -> list[Decision]:
    """Return the decisions of a reviewer, some of them undone, with clocks that sometimes go back."""
    made: list[Decision] = []
    for number in range(rng.randrange(12)):
        time = f"2026-01-01T{rng.randrange(10, 20)}:00:00Z"
        common = {"id": f"{reviewer}-{number:08}", "reviewer": reviewer, "time": time}
        held = [each for each in made if each.verdict != "undo"]
        if held and rng.random() < 0.3:
            made.append(decide(0, "undo", **common | {"undoes": rng.choice(held).id}))
        else:
            scope = rng.choice(["here", "document", "everywhere"])
            own = {"link": rng.randrange(5), "document": rng.randrange(2), "cluster": rng.randrange(2), "scope": scope}
            made.append(decide(0, rng.choice(["unsure", "no-concept", "not-a-mention"]), **common | own))
    return [replace(each, number=number) for number, each in enumerate(made, 1)]


def test_merges_of_random_histories_lose_and_double_nothing() -> None:
    rng = random.Random(0)
    for _ in range(300):
        histories = [make_history(rng, reviewer) for reviewer in ("ann", "bob", "eve")]
        merged = merge_decisions(histories)
        assert sorted(each.id for each in merged) == sorted(each.id for history in histories for each in history)
        assert [each.number for each in merged] == list(range(1, len(merged) + 1))
        for history in histories:
            own = [each.id for each in merged if each.reviewer == (history[0].reviewer if history else "")]
            assert own == [each.id for each in history]
        in_two_steps = merge_decisions([merge_decisions(histories[:2]), histories[2], histories[0]])
        assert {each.id for each in in_two_steps} == {each.id for each in merged}


def test_one_id_for_two_decisions_is_an_error() -> None:
    one = decide(1, "unsure", link=1)
    with pytest.raises(InputError, match="same id"):
        merge_decisions([[one], [replace(one, link=2)]])


def test_other_desks_are_an_error(copies: list[Path], tmp_path: Path, kb: KnowledgeBase) -> None:
    make_desk(tmp_path / "other.sqlite", kb)
    with pytest.raises(InputError, match="review-merge"):
        merge_desks([copies[0], tmp_path / "other.sqlite"], tmp_path / "both.sqlite")
    with open_desk(copies[1], exclusive=True) as desk:
        desk.purge(["2"])
    with pytest.raises(InputError, match="purge"):
        merge_desks(copies, tmp_path / "both.sqlite")
    assert not (tmp_path / "both.sqlite").exists()
