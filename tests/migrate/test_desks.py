"""Tests of migrating review desks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.migrate.run import migrate
from onym.review.create import ReviewedDocument, create_desk
from onym.review.decisions import Decision, Standing, Verdict
from onym.review.desk import Desk, open_desk
from onym.review.merge import merge_desks
from onym.review.rules import export_rules
from onym.types import Candidate, Link, Mention
from tests.migrate.conftest import Releases, rows_of

TEXT = "Fever, heat, both and bile."
IDS = {"Fever": "mesh:D000001", "heat": "mesh:D000002", "both": "mesh:D000003", "bile": "mesh:D000004"}


def make_desk(path: Path, releases: Releases) -> Path:
    links = []
    for surface, concept_id in IDS.items():
        start = TEXT.index(surface)
        links.append(Link(Mention(start, start + len(surface), surface), (Candidate(concept_id, surface, 1.0),)))
    document = ReviewedDocument("1", TEXT, tuple(links), queued=frozenset({0}))
    create_desk(path, [document], releases[0], {"kb": {"digest": releases[0].digest}})
    return path


def decide(desk: Desk, number: int, verdict: Verdict, **more: Any) -> None:
    desk.decide(Decision(id=f"decision-{number}", reviewer="ann", time="2026-11-19T08:00:00", verdict=verdict, **more))


def test_links_and_decisions_move(releases: Releases, tmp_path: Path) -> None:
    with open_desk(make_desk(tmp_path / "old.sqlite", releases)) as desk:
        decide(desk, 1, "concept", link=1, concept_id="mesh:D000002")
        decide(desk, 2, "right", link=2, concept_id="mesh:D000002", scope="everywhere")
        decide(desk, 3, "not-a-mention", link=4)
    result = migrate(tmp_path / "old.sqlite", *releases, tmp_path / "new.sqlite", strict=True)
    assert dict(result.links) == {"kept": 1, "moved": 3, "suggested": 1, "dead": 1}
    with open_desk(tmp_path / "old.sqlite") as old, open_desk(tmp_path / "new.sqlite") as new:
        assert (new.facts.id, new.facts.kb) == (old.facts.id, releases[1].digest)
        assert [each.concept_id for each in new.links()] == ["mesh:D000001", "mesh:D000009", "mesh:D000003", "mesh:D000004"]
        assert [each.is_queued for each in new.links()] == [True, False, True, True]
        assert next(new.documents()).text == TEXT
        assert [each.concept_id for each in new.decisions()] == ["mesh:D000009", "mesh:D000009", None]
        assert [(rule.surface, rule.meaning) for rule in export_rules(new)] == [
            ("Fever", "mesh:D000009"),
            ("heat", "mesh:D000009"),
            ("bile", "not-a-mention"),
        ]
    rows = rows_of(tmp_path / "new.sqlite.audit.tsv")
    assert [row["part"] for row in rows] == ["link"] * 4 + ["decision decision-1", "decision decision-2"]
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("new*")} == {
        "new.sqlite": 0o600,
        "new.sqlite.audit.tsv": 0o600,
    }


def test_an_undecided_decision_is_asked_again(releases: Releases, tmp_path: Path) -> None:
    with open_desk(make_desk(tmp_path / "old.sqlite", releases)) as desk:
        decide(desk, 1, "right", link=3, concept_id="mesh:D000003", scope="everywhere")
        decide(desk, 2, "missed", document=1, start=0, end=2, concept_id="mesh:D000003")
    migrate(tmp_path / "old.sqlite", *releases, tmp_path / "new.sqlite")
    with open_desk(tmp_path / "new.sqlite") as new:
        link, standing = new.link(3), Standing(new.decisions())
        assert standing.of(link.number, link.document, link.cluster) is None
        assert standing.knows("decision-1")
        assert "decision-1" not in [each.id for each in standing.list_holding()]
        assert [each.concept_id for each in standing.list_missed()] == ["mesh:D000003"]
        assert [each.concept_id for each in link.candidates] == ["mesh:D000003", "mesh:D000005", "mesh:D000006"]
        assert link.candidates[1].preferred_name == "First thing"
        decide(new, 3, "concept", link=3, concept_id="mesh:D000005")


def test_migrated_copies_can_be_merged(releases: Releases, tmp_path: Path) -> None:
    make_desk(tmp_path / "a.sqlite", releases)
    (tmp_path / "b.sqlite").write_bytes((tmp_path / "a.sqlite").read_bytes())
    for name in ("a", "b"):
        with open_desk(tmp_path / f"{name}.sqlite") as desk:
            decide(desk, 1, "right", link=3, concept_id="mesh:D000003")
        migrate(tmp_path / f"{name}.sqlite", *releases, tmp_path / f"new-{name}.sqlite")
    counts = merge_desks([tmp_path / "new-a.sqlite", tmp_path / "new-b.sqlite"], tmp_path / "merged.sqlite")
    assert (counts.decisions, counts.shared) == (3, 1)


def test_a_desk_is_never_overwritten(releases: Releases, tmp_path: Path) -> None:
    make_desk(tmp_path / "old.sqlite", releases)
    (tmp_path / "new.sqlite").write_bytes(b"")
    with pytest.raises(ConfigError, match="output-exists"):
        migrate(tmp_path / "old.sqlite", *releases, tmp_path / "new.sqlite", force=True)
