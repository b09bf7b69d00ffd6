"""Tests of `onym audit`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.review.desk import open_desk
from tests.cli.command import onym
from tests.review.desks import decide

TEXT = "High fever. No heart attack, but fever again."


@pytest.fixture
def notes(tmp_path: Path, tiny_kb: Path) -> Path:
    """Link thirty notes to predictions, and return their folder."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.txt").write_text(TEXT)
    onym("pipeline", "build", "--kb", str(tiny_kb), "--linker", "exact", "-o", "p", cwd=tmp_path)
    onym("link", "notes", "--pipeline", "p", "-o", "links.jsonl", "--format", "predictions", cwd=tmp_path)
    return tmp_path


def test_audit_by_command(notes: Path) -> None:
    words = ("links.jsonl", "--documents", "notes", "--kb", "p", "-o", "audit.sqlite", "--margin", "0.05", "--json")
    planned = json.loads(onym("audit", "plan", *words, cwd=notes).stdout)
    assert planned["documents"] == 30
    assert planned["labels"] > 5
    assert "not decided" in onym("audit", "report", "audit.sqlite", cwd=notes, status=5).stderr
    with open_desk(notes / "audit.sqlite") as desk:
        for number, link in enumerate(desk.links(queued=True)):
            desk.decide(decide(number, "right", link=link.number, concept_id=link.concept_id))
    found = json.loads(onym("audit", "report", "audit.sqlite", "-o", "audit.html", "--json", cwd=notes).stdout)
    assert found["precision"]["value"] == found["recall"]["value"] == 1.0
    assert "Content-Security-Policy" in (notes / "audit.html").read_text()
    assert "precision" in onym("audit", "report", "audit.sqlite", "--kb", "p", cwd=notes).stdout
