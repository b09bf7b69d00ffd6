"""Tests of creating desks from predictions, tables and batch runs."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptFilter
from onym.outputs.predictions import read_predictions
from onym.review.create import (
    DeskOptions,
    QueueFilter,
    create_desk,
    join_predictions,
    read_links_table,
    read_mapped_table,
    read_mappings,
)
from onym.review.desk import open_desk
from onym.review.summary import summarise
from onym.types import Document
from tests.cli.command import onym
from tests.review.desks import NOTES, list_documents, make_desk


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number, text in enumerate(NOTES, 1):
        (folder / f"{number}.txt").write_text(text)
    return folder


def test_context_replaces_documents(tmp_path: Path, kb: KnowledgeBase) -> None:
    make_desk(tmp_path / "desk.sqlite", kb, DeskOptions(context=5))
    with open_desk(tmp_path / "desk.sqlite") as desk:
        assert [document.text for document in desk.documents()] == [None] * 3
        assert (desk.link(1).before, desk.link(1).after) == ("High ", ". No ")
        assert desk.document(1).length == len(NOTES[0])


def test_without_text_only_surfaces_are_stored(tmp_path: Path, kb: KnowledgeBase) -> None:
    make_desk(tmp_path / "desk.sqlite", kb, DeskOptions(text=False))
    assert b"family" not in (tmp_path / "desk.sqlite").read_bytes()
    with open_desk(tmp_path / "desk.sqlite") as desk:
        assert (desk.link(1).surface, desk.link(1).before, desk.document(1).text) == ("fever", None, None)


def test_context_and_no_text_are_not_combined(tmp_path: Path, kb: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        make_desk(tmp_path / "desk.sqlite", kb, DeskOptions(context=5, text=False))


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        ({}, [1, 2, 3, 4, 5, 6]),
        ({"below": 0.6}, [3, 4, 6]),
        ({"at_least": 0.55, "below": 0.9}, [2, 6]),
        ({"documents": frozenset({"2"})}, [4, 5]),
        ({"wanted": ConceptFilter(types=("C23",))}, [1, 5]),
        ({"wanted": ConceptFilter(concepts=("D006973",))}, []),
    ],
)
def test_only_what_was_asked_for_is_queued(
    tmp_path: Path, kb: KnowledgeBase, queue: dict[str, object], expected: list[int]
) -> None:
    wanted = queue.pop("wanted", ConceptFilter())
    assert isinstance(wanted, ConceptFilter)
    counts = make_desk(tmp_path / "desk.sqlite", kb, DeskOptions(queue=QueueFilter.of(kb, wanted, **queue)))
    with open_desk(tmp_path / "desk.sqlite") as desk:
        assert [link.number for link in desk.links(queued=True)] == expected
    assert (counts.links, counts.queued) == (6, len(expected))


def test_an_unlinked_mention_is_queued_for_its_candidates(tmp_path: Path, kb: KnowledgeBase) -> None:
    documents = list_documents()[2:]

    unlinked = [
        replace(each, links=tuple(replace(link, nil_reason="below-precision") for link in each.links)) for each in documents
    ]
    queue = QueueFilter.of(kb, ConceptFilter(concepts=("D006973",)))
    assert create_desk(tmp_path / "desk.sqlite", unlinked, kb, {}, DeskOptions(queue=queue)).queued == 1


def test_predictions_are_joined_with_their_documents(tmp_path: Path, notes: Path, tiny_kb: Path, kb: KnowledgeBase) -> None:
    onym("pipeline", "build", "--kb", str(tiny_kb), "--linker", "exact", "-o", "p", cwd=tmp_path)
    onym("link", str(notes), "--pipeline", "p", "-o", "links.jsonl", "--format", "predictions", cwd=tmp_path)
    predictions = read_predictions(tmp_path / "links.jsonl")
    missing: list[str] = []
    found = list(join_predictions(predictions, documents_of(read_corpus(notes)), kb, missing))
    assert [each.text for each in found] == list(NOTES)
    assert missing == []
    first = found[0].links[0]
    assert (first.mention.surface, first.candidates[0].preferred_name) == ("fever", "Fever")
    assert list(join_predictions(predictions, [], kb, missing)) == []
    assert sorted(missing) == ["1", "2", "3"]
    with pytest.raises(InputError, match="review-document-changed"):
        list(join_predictions(predictions, [Document("1", "High")], kb, []))


def test_documents_may_come_in_any_order(tmp_path: Path, notes: Path, tiny_kb: Path, kb: KnowledgeBase) -> None:
    onym("pipeline", "build", "--kb", str(tiny_kb), "--linker", "exact", "-o", "p", cwd=tmp_path)
    onym("link", str(notes), "--pipeline", "p", "-o", "links.jsonl", "--format", "predictions", cwd=tmp_path)
    lines = (tmp_path / "links.jsonl").read_text().splitlines()
    rest = lines[1:]
    random.Random(0).shuffle(rest)
    (tmp_path / "links.jsonl").write_text("\n".join([lines[0], *rest]) + "\n")
    documents = list(documents_of(read_corpus(notes)))[::-1]
    found = list(join_predictions(read_predictions(tmp_path / "links.jsonl"), documents, kb, []))
    assert sum(len(each.links) for each in found) == len([line for line in rest if '"answers"' in line])


def test_a_table_of_links_needs_no_documents(tmp_path: Path, notes: Path, tiny_kb: Path, kb: KnowledgeBase) -> None:
    onym("pipeline", "build", "--kb", str(tiny_kb), "--linker", "exact", "-o", "p", cwd=tmp_path)
    onym("link", str(notes), "--pipeline", "p", "-o", "links.tsv", cwd=tmp_path)
    found = list(read_links_table(tmp_path / "links.tsv", kb))
    assert {each.text for each in found} == {None}
    assert found[0].links[0].mention.surface == "fever"
    whole = list(read_links_table(tmp_path / "links.tsv", kb, documents_of(read_corpus(notes))))
    assert [each.text for each in whole] == list(NOTES[:2])  # the last one has no mention
    with pytest.raises(InputError, match="review-document-changed"):
        list(read_links_table(tmp_path / "links.tsv", kb, [Document("1", "Not the text that was linked at all, no.")]))
    with pytest.raises(InputError, match="documents-alike"):
        list(read_links_table(tmp_path / "links.tsv", kb, [Document("1", "one"), Document("1", "two")]))


def test_rows_of_a_mapped_table_are_documents(tmp_path: Path, tiny_kb: Path, kb: KnowledgeBase) -> None:
    (tmp_path / "terms.csv").write_text("code,term\n7,Heart attack\n8,\n9,zzz\n10,MI\n")
    onym("map", "terms.csv", "--column", "term", "--kb", str(tiny_kb), "--linker", "exact", "-o", "mapped.csv", cwd=tmp_path)
    found = list(read_mapped_table(tmp_path / "mapped.csv", "term", kb))
    assert [(each.id, each.text, each.detail) for each in found] == [
        ("1", "Heart attack", "code: 7"),
        ("3", "zzz", "code: 9"),
        ("4", "MI", "code: 10"),
    ]
    assert found[1].links[0].nil_reason == "no-candidate"
    assert {each.concept_id for each in found[2].links[0].candidates} == {"mesh:D009203", "mesh:D006973"}
    (tmp_path / "plain.csv").write_text("code,term\n7,Heart attack\n")
    with pytest.raises(InputError, match="table-columns"):
        list(read_mapped_table(tmp_path / "plain.csv", "term", kb))


def test_mappings_of_an_sssom_table_are_documents(tmp_path: Path, tiny_kb: Path) -> None:
    (tmp_path / "terms.csv").write_text("term\nHeart attack\nMI\nzzz\n")
    words = ("map", "terms.csv", "--column", "term", "--kb", str(tiny_kb), "--linker", "exact", "--top-k", "2")
    onym(*words, "-o", "mapped.sssom.tsv", cwd=tmp_path)
    onym("review", "create", "mapped.sssom.tsv", "--kb", str(tiny_kb), "-o", "desk.sqlite", cwd=tmp_path)
    with open_desk(tmp_path / "desk.sqlite") as desk:
        assert summarise(desk)["links"] == 2
    found = list(read_mappings(tmp_path / "mapped.sssom.tsv", KnowledgeBase.open(tiny_kb)))
    assert [(each.text, len(each.links[0].candidates)) for each in found] == [("Heart attack", 1), ("MI", 2)]


@pytest.mark.parametrize("content", ["a\tb\n1\t2\n", "subject_label\tobject_id\tconfidence\nfever\tmesh:D005334\tmuch\n"])
def test_rejects_a_broken_sssom_table(tmp_path: Path, kb: KnowledgeBase, content: str) -> None:
    (tmp_path / "a.sssom.tsv").write_text(content)
    with pytest.raises(InputError, match="table-malformed"):
        list(read_mappings(tmp_path / "a.sssom.tsv", kb))
