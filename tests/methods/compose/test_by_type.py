"""Tests of the linker that links each mention by the linker for its type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.kb.ranking import Best, concepts_with_ids
from onym.methods import linker_config, open_linker
from onym.methods.compose.by_type import ByTypeLinker, TypedPart
from onym.methods.exact import ExactLinker
from onym.methods.trees.linker import TreesLinker
from onym.packs.locate import load
from onym.pipeline import Pipeline
from onym.pipeline.folder import build_pipeline
from onym.text.queries import queries_of
from onym.types import Document, Mention, Relation
from tests.methods.reranker.test_model import write_folder
from tests.support.linking import link_with

FEVER, ATTACK = "mesh:D005334", "mesh:D009203"
PARTS = [{"kind": "exact"}, {"kind": "tfidf"}]
TYPES = [["Disease"], ["Symptom", "Cell line"]]


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def linker(kb: KnowledgeBase) -> ByTypeLinker:
    opened = open_linker(linker_config("by_type", parts=PARTS, types=TYPES), kb)
    assert isinstance(opened, ByTypeLinker)
    return opened


def document(*typed: tuple[str, str], doc_id: str = "1") -> Document:
    text = ", ".join(surface for surface, _ in typed)
    return Document(doc_id, text, tuple(Mention(text.index(s), text.index(s) + len(s), s, (), kind) for s, kind in typed))


def test_each_mention_is_linked_by_the_linker_of_its_type(linker: ByTypeLinker) -> None:
    doc = document(("hart attack", "Disease"), ("heart atack", "symptom"), ("fever", "disease"))
    [linked] = link_with(linker, [doc])
    assert [link.concept_id for link in linked.links] == [None, ATTACK, FEVER]
    assert [link.mention for link in linked.links] == list(doc.mentions)


def test_types_are_compared_without_case_and_spaces(linker: ByTypeLinker) -> None:
    [linked] = link_with(linker, [document(("heart atack", "CellLine"))])
    assert linked.links[0].concept_id == ATTACK


def test_mentions_of_other_types_are_left_unlinked(linker: ByTypeLinker) -> None:
    [linked] = link_with(linker, [document(("fever", "Gene"), ("heart attack", ""))])
    assert [link.concept_id for link in linked.links] == [None, None]


def test_documents_stay_in_order(linker: ByTypeLinker) -> None:
    docs = [document(("fever", "Gene" if number % 3 else "Disease"), doc_id=str(number)) for number in range(150)]
    found = list(link_with(linker, docs))
    assert [each.document.id for each in found] == [doc.id for doc in docs]
    assert [each.links[0].concept_id for each in found] == [None if number % 3 else FEVER for number in range(150)]


def test_concept_filters_apply_to_each_linker(linker: ByTypeLinker, kb: KnowledgeBase) -> None:
    doc = document(("fever", "Disease"), ("heart attack", "Symptom"))
    only = concepts_with_ids(kb, [FEVER])
    [linked] = link_with(linker, [doc], only=only)
    assert linked.links[0].concept_id == FEVER
    assert all(each.concept_id == FEVER for each in linked.links[1].candidates)


def test_answers_are_restricted_to_the_groups_of_the_linker(kb: KnowledgeBase) -> None:
    options = {"parts": [{"kind": "exact"}], "types": [["Disease"]], "groups": [[kb.types[0]]]}
    opened = open_linker(linker_config("by_type", **options), kb)
    [linked] = link_with(opened, [document(("fever", "Disease"), ("heart attack", "Disease"))])
    assert {link.concept_id for link in linked.links} != {FEVER, ATTACK}


def test_evidence_comes_from_the_linker_of_the_type(linker: ByTypeLinker) -> None:
    doc = document(("fever", "Disease"), ("heart atack", "Symptom"), ("fever", "Gene"))
    [linked] = link_with(linker, [doc])
    kinds = [[reason.kind for reason in each.reasons[:1]] for each in linker.evidence(queries_of(doc), linked.links)]
    assert kinds == [["same-name"], ["similar-name"], []]


def test_a_pipeline_stores_all_linkers(tiny_kb: Path, tmp_path: Path) -> None:
    config = linker_config("by_type", parts=PARTS, types=TYPES)
    build_pipeline(tiny_kb, tmp_path / "pipeline", linker=config, detector=None)
    pipeline = load(tmp_path / "pipeline")
    assert isinstance(pipeline, Pipeline)
    assert [part["linker"] for part in pipeline.linker.config["parts"]] == ["exact", "tfidf"]
    assert pipeline.link(document(("fever", "Disease"))).links[0].concept_id == FEVER


def test_stage_and_confidence_are_those_of_the_linker_of_the_type(kb: KnowledgeBase, tmp_path: Path) -> None:
    reranker = open_linker(linker_config("rerank", model=str(write_folder(tmp_path / "model"))), kb)
    opened = ByTypeLinker(kb, [TypedPart(ExactLinker(kb), ("Disease",)), TypedPart(reranker, ("Symptom",))])
    [linked] = link_with(opened, [document(("fever", "Disease"), ("heart atack", "Symptom"))])
    [alone] = link_with(reranker, [document(("heart atack", ""))])
    assert [(link.stage, link.confidence) for link in linked.links] == [(None, None), ("rerank", alone.links[0].confidence)]
    assert alone.links[0].confidence is not None


class Seeing(TreesLinker):
    """A linker that reads whole documents, and records the mentions that it sees."""

    stage = "seeing"

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.model: Any = SimpleNamespace(confidence=lambda score: score)
        self.seen: list[list[str]] = []

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "seeing"}

    def score(self, doc: Document) -> Iterator[Best]:
        assert doc.relations == ()
        self.seen.append([mention.surface for mention in doc.mentions])
        for mention in doc.mentions:
            name = self.kb.find(mention.surface)
            yield dict.fromkeys(self.kb.name_concepts[name].tolist(), (0.9, name)) if name >= 0 else {}


def test_a_linker_of_documents_sees_only_the_mentions_that_it_is_asked_for(kb: KnowledgeBase) -> None:
    seeing = Seeing(kb)
    first = document(("fever", "Disease"), ("heart attack", "Symptom"), ("mi", "Disease"))
    relation = Relation("causes", (("Arg1", FEVER), ("Arg2", ATTACK)))
    docs = [replace(first, relations=(relation,)), document(("pyrexia", "Gene"), doc_id="2"), replace(first, id="3")]
    typed = ByTypeLinker(kb, [TypedPart(seeing, ("Disease",)), TypedPart(ExactLinker(kb), ("Symptom",))])
    linked = list(link_with(typed, docs))
    assert seeing.seen == [["fever", "mi"], ["fever", "mi"]]
    of_first = ["seeing", None, "seeing"]
    assert [[link.stage for link in each.links] for each in linked] == [of_first, [None], of_first]
    assert linked[0].document == docs[0]
    seeing.seen.clear()
    [filtered] = Pipeline(seeing).with_filter(concepts=[FEVER]).link_many([first])
    assert seeing.seen == [["fever", "heart attack", "mi"], ["heart attack", "mi"]]  # what is left out is ranked again
    assert [link.concept_id for link in filtered.links] == [FEVER, None, None]


@pytest.mark.parametrize(
    "options",
    [
        {"parts": PARTS, "types": [["Disease"]]},
        {"parts": PARTS, "types": [["Disease"], ["disease"]]},
        {"parts": PARTS, "types": TYPES, "groups": [["Disease"]]},
        {"threshold": 1},
        {},
    ],
)
def test_invalid_configurations_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        linker_config("by_type", **options)


def test_variants_get_the_symbol_of_the_nearest_linked_gene(tmp_path: Path) -> None:
    (tmp_path / "genes.tsv").write_text("id\tname\nncbigene:673\tBRAF\n")
    build_kb(Recipe.of({"sources": [{"path": "genes.tsv", "format": "table"}]}), tmp_path / "kb", root=tmp_path)
    config = linker_config("by_type", parts=[{"kind": "exact"}, {"kind": "variants"}], types=[["Gene"], ["Variant"]])
    opened = open_linker(config, KnowledgeBase.open(tmp_path / "kb"))
    both, variant = document(("BRAF", "Gene"), ("V600E", "Variant")), document(("V600E", "Variant"))
    [linked], [alone] = link_with(opened, [both]), link_with(opened, [variant])
    assert [link.concept_id for link in linked.links] == ["ncbigene:673", "hgvs:BRAF:p.V600E"]
    assert alone.links[0].concept_id == "hgvs:p.V600E"
