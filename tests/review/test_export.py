"""Tests of exports: rules, tables, mappings, synonyms and documents."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.corrections import Corrections, Rule, read_corrections
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.review.create import DeskOptions, create_desk
from onym.review.desk import Desk, open_desk
from onym.review.export import export_desk
from onym.review.rules import export_rules
from onym.types import Document, Mention
from tests.review.desks import FEVER, INFARCT, NOTES, PRESSURE, decide, list_documents, make_desk


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def desk(tmp_path: Path, kb: KnowledgeBase) -> Iterator[Desk]:
    make_desk(tmp_path / "desk.sqlite", kb)
    with open_desk(tmp_path / "desk.sqlite") as opened:
        yield opened


def rules(desk: Desk) -> list[Rule]:
    return [replace(rule, digest="", author="", comment="") for rule in export_rules(desk)]


def test_undecided_links_have_no_rules(desk: Desk) -> None:
    desk.decide(decide(1, "unsure", link=1, scope="everywhere"))
    assert rules(desk) == []


def test_a_decision_everywhere_is_a_rule_for_always(desk: Desk) -> None:
    desk.decide(decide(1, "concept", link=2, scope="everywhere", concept_id=PRESSURE.concept_id))
    desk.decide(decide(2, "right", link=1, scope="everywhere", concept_id=FEVER.concept_id))
    assert rules(desk) == [Rule("fever", FEVER.concept_id), Rule("MI", PRESSURE.concept_id)]


def test_a_decision_on_an_abbreviation_is_a_rule_for_its_expansion(desk: Desk) -> None:
    desk.decide(decide(1, "no-concept", link=4, scope="everywhere"))
    assert rules(desk) == [Rule("MI", "no-concept", expansion="myocardial ischemia")]


def test_exceptions_are_narrower_rules(desk: Desk) -> None:
    desk.decide(decide(1, "concept", link=2, scope="everywhere", concept_id=PRESSURE.concept_id))
    desk.decide(decide(2, "not-a-mention", link=3))
    desk.decide(decide(3, "no-concept", link=6))
    assert rules(desk) == [
        Rule("MI", PRESSURE.concept_id),
        Rule("MI", "not-a-mention", "1", start=23, end=25),
        Rule("MI", "no-concept", "3"),
    ]


def test_a_decision_for_a_document_is_a_rule_for_it(desk: Desk) -> None:
    desk.decide(decide(1, "not-a-mention", link=2, scope="document"))
    assert rules(desk) == [Rule("MI", "not-a-mention", "1")]
    desk.decide(decide(2, "unsure", link=3))
    assert rules(desk) == [Rule("MI", "not-a-mention", "1", start=15, end=17)]


def test_other_bounds_and_missed_mentions_add_mentions(desk: Desk) -> None:
    desk.decide(decide(1, "span", link=1, start=0, end=10))
    desk.decide(decide(2, "missed", document=1, start=33, end=39, concept_id=INFARCT.concept_id))
    assert rules(desk) == [
        Rule("fever", "not-a-mention", "1", start=5, end=10),
        Rule("High fever", FEVER.concept_id, "1", start=0, end=10, add=True),
        Rule("family", INFARCT.concept_id, "1", start=33, end=39, add=True),
    ]


def test_links_with_another_answer_are_left_alone(tmp_path: Path, kb: KnowledgeBase) -> None:
    documents = list_documents()
    other = replace(documents[2].links[0], candidates=(PRESSURE, INFARCT))
    create_desk(tmp_path / "two.sqlite", [*documents[:2], replace(documents[2], links=(other,))], kb, {})
    with open_desk(tmp_path / "two.sqlite") as desk:
        desk.decide(decide(1, "not-a-mention", link=2, scope="everywhere"))
        assert rules(desk) == [Rule("MI", "not-a-mention", "1")]
        desk.decide(decide(2, "not-a-mention", link=6, scope="everywhere"))
        assert rules(desk) == [Rule("MI", "not-a-mention")]


def test_rules_give_back_the_decisions(desk: Desk, kb: KnowledgeBase, tmp_path: Path) -> None:
    desk.decide(decide(1, "concept", link=2, scope="everywhere", concept_id=PRESSURE.concept_id))
    desk.decide(decide(2, "not-a-mention", link=3))
    desk.decide(decide(3, "no-concept", link=4, scope="document"))
    assert export_desk(desk, tmp_path / "a.onymc") == 3
    assert (tmp_path / "a.onymc").stat().st_mode & 0o777 == 0o600
    found = read_corrections(tmp_path / "a.onymc", kb)
    assert found.warning is None
    held = [find_meaning(found, desk, link.number) for link in desk.links()]
    assert held == [None, PRESSURE.concept_id, "not-a-mention", "no-concept", None, PRESSURE.concept_id]


def find_meaning(corrections: Corrections, desk: Desk, number: int) -> str | None:
    link = desk.link(number)
    document = desk.document(link.document)
    mention = Mention(link.start, link.end, link.surface)
    rule = corrections.find(Document(document.id, document.text or "", (mention,)), mention)
    return rule.meaning if rule else None


def decide_all(desk: Desk) -> None:
    desk.decide(decide(1, "right", link=1, scope="everywhere", concept_id=FEVER.concept_id))
    desk.decide(decide(2, "concept", link=2, scope="everywhere", concept_id=PRESSURE.concept_id))
    desk.decide(decide(3, "broader", link=4, concept_id=INFARCT.concept_id))


def test_a_table_of_decisions(desk: Desk, tmp_path: Path, kb: KnowledgeBase) -> None:
    decide_all(desk)
    assert export_desk(desk, tmp_path / "a.csv", kb) == 6
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert (rows[1]["text"], rows[1]["linked_id"], rows[1]["concept_id"]) == ("MI", "MESH:D009203", "MESH:D006973")
    assert (rows[1]["preferred_name"], rows[1]["reviewer"], rows[3]["verdict"]) == ("Hypertension", "ann", "broader")


def test_cells_are_not_formulas(tmp_path: Path, kb: KnowledgeBase) -> None:
    documents = list_documents()
    surface = '=HYPERLINK("x")'
    link = replace(documents[2].links[0], mention=Mention(0, len(surface), surface))
    create_desk(tmp_path / "f.sqlite", [replace(documents[2], text=surface, links=(link,))], kb, {})
    with open_desk(tmp_path / "f.sqlite") as desk:
        desk.decide(decide(1, "not-a-mention", link=1))
        export_desk(desk, tmp_path / "a.tsv")
    assert "'=HYPERLINK" in (tmp_path / "a.tsv").read_text()


def test_mappings_have_author_and_justification(desk: Desk, tmp_path: Path) -> None:
    decide_all(desk)
    desk.decide(decide(4, "no-concept", link=6))
    assert export_desk(desk, tmp_path / "a.sssom.tsv") == 4
    lines = (tmp_path / "a.sssom.tsv").read_text().splitlines()
    head = [line for line in lines if not line.startswith("#")]
    rows = [dict(zip(head[0].split("\t"), line.split("\t"), strict=True)) for line in head[1:]]
    assert {(row["subject_label"], row["predicate_id"], row["object_id"]) for row in rows} == {
        ("fever", "skos:exactMatch", FEVER.concept_id),
        ("MI", "skos:exactMatch", PRESSURE.concept_id),
        ("MI", "skos:broadMatch", INFARCT.concept_id),
        ("MI", "skos:exactMatch", "sssom:NoTermFound"),
    }
    assert {(row["author_label"], row["mapping_justification"]) for row in rows} == {("ann", "semapv:ManualMappingCuration")}


def test_synonyms_can_be_built_into_a_knowledge_base(desk: Desk, tmp_path: Path) -> None:
    from onym.kb import Recipe, build_kb

    decide_all(desk)
    assert export_desk(desk, tmp_path / "a.names.csv") == 2
    build_kb(Recipe.of({"sources": [{"path": "a.names.csv"}]}), tmp_path / "kb", root=tmp_path)
    built = KnowledgeBase.open(tmp_path / "kb")
    assert built["mesh:D006973"].preferred_name == "MI"


@pytest.mark.parametrize(("format_", "name"), [("pubtator", "a.pubtator"), ("bioc_xml", "a.xml"), ("jsonl", "a.jsonl")])
def test_documents_are_training_data(desk: Desk, tmp_path: Path, format_: str, name: str) -> None:
    decide_all(desk)
    assert export_desk(desk, tmp_path / name, format=format_) == 2  # a broader concept is no gold answer
    found = list(documents_of(read_corpus(tmp_path / name)))
    assert [[mention.concept_ids for mention in doc.mentions] for doc in found] == [
        [(FEVER.concept_id,), (PRESSURE.concept_id,), (PRESSURE.concept_id,)],
        [(PRESSURE.concept_id,)],
    ]


def test_documents_need_texts(tmp_path: Path, kb: KnowledgeBase) -> None:
    make_desk(tmp_path / "no.sqlite", kb, DeskOptions(text=False))
    with open_desk(tmp_path / "no.sqlite") as desk, pytest.raises(InputError, match="review-missing"):
        export_desk(desk, tmp_path / "a.pubtator", format="pubtator")
    assert NOTES


def test_other_extensions_are_rejected(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        export_desk(desk, tmp_path / "a.doc")
