"""Tests of `onym review`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.review.desk import open_desk
from tests.cli.command import onym
from tests.review.desks import NOTES, decide


@pytest.fixture
def notes(tmp_path: Path, tiny_kb: Path) -> Path:
    """Link three notes to predictions, and return their folder."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number, text in enumerate(NOTES, 1):
        (folder / f"{number}.txt").write_text(text)
    onym("pipeline", "build", "--kb", str(tiny_kb), "--linker", "exact", "-o", "p", cwd=tmp_path)
    onym("link", "notes", "--pipeline", "p", "-o", "links.jsonl", "--format", "predictions", cwd=tmp_path)
    return tmp_path


def create(folder: Path, *more: str, status: int = 0) -> dict[str, int]:
    words = ("review", "create", "links.jsonl", "--documents", "notes", "--kb", "p", "-o", "desk.sqlite", "--json", *more)
    found: dict[str, int] = json.loads(onym(*words, cwd=folder, status=status).stdout)
    return found


def test_desk_of_predictions(notes: Path) -> None:
    counts = create(notes, "--title", "Fevers")
    assert counts["documents"] == 3
    assert counts["missing"] == 0
    assert "queued" in onym("review", "show", "desk.sqlite", cwd=notes).stdout
    shown = json.loads(onym("review", "show", "desk.sqlite", "--json", cwd=notes).stdout)
    assert shown["links"] == shown["undecided"] == counts["links"]
    assert shown["facts"]["title"] == "Fevers"


def test_desk_of_a_branch(notes: Path) -> None:
    counts = create(notes, "--types", "C14")
    assert (counts["queued"], counts["links"]) == (0, 2)


def test_desk_of_a_batch_run(notes: Path) -> None:
    onym("batch", "plan", "notes", "--pipeline", "p", "-o", "run", cwd=notes)
    onym("batch", "run", "run", "--workers", "1", cwd=notes)
    onym("review", "create", "run", "--kb", "p", "-o", "desk.sqlite", cwd=notes)
    with open_desk(notes / "desk.sqlite") as desk:
        assert [document.text for document in desk.documents()] == list(NOTES)
    (notes / "notes" / "1.txt").write_text("changed")
    onym("review", "create", "run", "--kb", "p", "-o", "other.sqlite", cwd=notes, status=3)
    assert not (notes / "other.sqlite").exists()


def test_desk_of_a_mapped_table(notes: Path) -> None:
    (notes / "terms.csv").write_text("term\nfever\nMI\n")
    onym("map", "terms.csv", "--column", "term", "--pipeline", "p", "-o", "mapped.csv", cwd=notes)
    onym("review", "create", "mapped.csv", "--column", "term", "--kb", "p", "-o", "desk.sqlite", cwd=notes)
    with open_desk(notes / "desk.sqlite") as desk:
        assert [link.surface for link in desk.links()] == ["fever", "MI"]


def test_missing_documents_are_reported(notes: Path) -> None:
    (notes / "notes" / "2.txt").unlink()
    assert create(notes, status=5)["missing"] == 1
    assert "missing: 2" in onym("review", "show", "desk.sqlite", cwd=notes).stderr


def test_predictions_need_documents(notes: Path) -> None:
    done = onym("review", "create", "links.jsonl", "--kb", "p", "-o", "desk.sqlite", cwd=notes, status=2)
    assert "--documents PATH" in done.stderr


def test_another_knowledge_base_is_reported(notes: Path, branch_kb: Path) -> None:
    done = onym(
        "review", "create", "links.jsonl", "--documents", "notes", "--kb", str(branch_kb), "-o", "desk.sqlite", cwd=notes
    )
    assert "another knowledge base" in done.stderr


def test_purge(notes: Path) -> None:
    create(notes)
    with open_desk(notes / "desk.sqlite") as desk:
        desk.decide(decide(1, "unsure", link=1))
    assert json.loads(onym("review", "purge", "desk.sqlite", "--yes", "--json", cwd=notes).stdout) == {"erased": 3}
    assert json.loads(onym("review", "show", "desk.sqlite", "--json", cwd=notes).stdout)["verdicts"] == {"unsure": 1}
    onym("review", "purge", "desk.sqlite", "--document", "9", "--yes", cwd=notes, status=3)


CORRECTIONS = "surface\tmeaning\nfever\tmesh:D006973\n"


def test_corrections_of_texts_terms_and_batches(notes: Path) -> None:
    (notes / "mine.onymc").write_text(CORRECTIONS)
    (notes / "terms.csv").write_text("term\nfever\n")
    with_corrections = ("--pipeline", "p", "--corrections", "mine.onymc")
    onym("link", "notes", *with_corrections, "-o", "links.tsv", cwd=notes)
    assert (notes / "links.tsv").read_text().count("MESH:D006973") == 2
    onym("map", "terms.csv", "--column", "term", *with_corrections, "-o", "mapped.tsv", cwd=notes)
    assert "MESH:D006973" in (notes / "mapped.tsv").read_text()
    onym("batch", "plan", "notes", *with_corrections, "-o", "run", cwd=notes)
    onym("batch", "run", "run", "--workers", "1", cwd=notes)
    onym("batch", "export", "run", "-o", "run.tsv", cwd=notes)
    assert (notes / "run.tsv").read_text().count("MESH:D006973") == 2


def test_a_run_notices_changed_corrections(notes: Path) -> None:
    (notes / "mine.onymc").write_text(CORRECTIONS)
    onym("batch", "plan", "notes", "--pipeline", "p", "--corrections", "mine.onymc", "-o", "run", cwd=notes)
    (notes / "mine.onymc").write_text(CORRECTIONS.replace("D006973", "D009203"))
    done = onym("batch", "run", "run", "--workers", "1", cwd=notes, status=2)
    assert "differs from that of the plan: corrections" in done.stderr


def test_corrections_of_answers_with_a_knowledge_base(notes: Path, tiny_kb: Path) -> None:
    (notes / "mine.onymc").write_text(CORRECTIONS)
    (notes / "terms.csv").write_text("term\nfever\n")
    (notes / "a.jsonl").write_text('{"id":"1","text":"fever","mentions":[{"start":0,"end":5}]}\n')
    with_corrections = ("--kb", str(tiny_kb), "--corrections", "mine.onymc")
    onym("link", "a.jsonl", *with_corrections, "-o", "links.tsv", cwd=notes)
    assert (notes / "links.tsv").read_text().count("MESH:D006973") == 1
    onym("map", "terms.csv", "--column", "term", *with_corrections, "-o", "mapped.tsv", cwd=notes)
    assert "MESH:D006973" in (notes / "mapped.tsv").read_text()


def test_corrections_of_another_knowledge_base_are_reported(notes: Path) -> None:
    (notes / "mine.onymc").write_text(f"# kb: {'0' * 16}\n{CORRECTIONS}")
    done = onym("link", "notes", "--pipeline", "p", "--corrections", "mine.onymc", "-o", "links.tsv", cwd=notes)
    assert "made with another knowledge base" in done.stderr


def test_decisions_become_corrections(notes: Path) -> None:
    create(notes)
    with open_desk(notes / "desk.sqlite") as desk:
        desk.decide(decide(1, "concept", link=1, concept_id="mesh:D006973", scope="everywhere"))
    onym("review", "export", "desk.sqlite", "-o", "mine.onymc", cwd=notes)
    onym("link", "notes", "--pipeline", "p", "--corrections", "mine.onymc", "-o", "links.tsv", cwd=notes)
    assert (notes / "links.tsv").read_text().count("MESH:D006973") == 2
    done = onym("review", "export", "desk.sqlite", "--format", "pubtator", "-o", "a.pubtator", "--json", cwd=notes)
    assert json.loads(done.stdout)["written"] == 3
