"""Tests of the linker that links each mention by the linker for its type."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.kb.ranking import concepts_with_ids
from onym.linkers import linker_config, open_linker
from onym.linkers.base import without_confidence
from onym.linkers.by_type import ByTypeLinker, TypedPart
from onym.linkers.exact import ExactLinker
from onym.linkers.tfidf import TfidfLinker
from onym.packs.locate import load
from onym.pipeline import Pipeline
from onym.pipeline.folder import build_pipeline
from onym.types import Document, Mention

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
    [linked] = linker.link([doc])
    assert [link.concept_id for link in linked.links] == [None, ATTACK, FEVER]
    assert [link.mention for link in linked.links] == list(doc.mentions)


def test_types_are_compared_without_case_and_spaces(linker: ByTypeLinker) -> None:
    [linked] = linker.link([document(("heart atack", "CellLine"))])
    assert linked.links[0].concept_id == ATTACK


def test_mentions_of_other_types_are_left_unlinked(linker: ByTypeLinker) -> None:
    [linked] = linker.link([document(("fever", "Gene"), ("heart attack", ""))])
    assert [link.concept_id for link in linked.links] == [None, None]


def test_documents_stay_in_order(linker: ByTypeLinker) -> None:
    docs = [document(("fever", "Gene" if number % 3 else "Disease"), doc_id=str(number)) for number in range(150)]
    found = list(linker.link(docs))
    assert [each.document.id for each in found] == [doc.id for doc in docs]
    assert [each.links[0].concept_id for each in found] == [None if number % 3 else FEVER for number in range(150)]


def test_concept_filters_apply_to_each_linker(linker: ByTypeLinker, kb: KnowledgeBase) -> None:
    doc = document(("fever", "Disease"), ("heart attack", "Symptom"))
    only = concepts_with_ids(kb, [FEVER])
    [linked] = linker.link([doc], only=only)
    assert linked.links[0].concept_id == FEVER
    assert all(each.concept_id == FEVER for each in linked.links[1].candidates)


def test_answers_are_restricted_to_the_groups_of_the_linker(kb: KnowledgeBase) -> None:
    options = {"parts": [{"kind": "exact"}], "types": [["Disease"]], "groups": [[kb.types[0]]]}
    opened = open_linker(linker_config("by_type", **options), kb)
    [linked] = opened.link([document(("fever", "Disease"), ("heart attack", "Disease"))])
    assert {link.concept_id for link in linked.links} != {FEVER, ATTACK}


def test_evidence_comes_from_the_linker_of_the_type(linker: ByTypeLinker) -> None:
    doc = document(("fever", "Disease"), ("heart atack", "Symptom"), ("fever", "Gene"))
    [linked] = linker.link([doc])
    kinds = [[reason.kind for reason in each.reasons[:1]] for each in linker.evidence(doc, linked.links)]
    assert kinds == [["same-name"], ["similar-name"], []]


def test_a_pipeline_stores_all_linkers(tiny_kb: Path, tmp_path: Path) -> None:
    config = linker_config("by_type", parts=PARTS, types=TYPES)
    build_pipeline(tiny_kb, tmp_path / "pipeline", linker=config, detector=None)
    pipeline = load(tmp_path / "pipeline")
    assert isinstance(pipeline, Pipeline)
    assert [part["linker"] for part in pipeline.linker.config["parts"]] == ["exact", "tfidf"]
    assert pipeline.link(document(("fever", "Disease"))).links[0].concept_id == FEVER


def test_confidence_can_be_left_to_the_pipeline(kb: KnowledgeBase) -> None:
    opened = ByTypeLinker(kb, [TypedPart(ExactLinker(kb), ("Disease",)), TypedPart(TfidfLinker(kb), ("Symptom",))])
    assert isinstance(without_confidence(opened), ByTypeLinker)


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
    [linked], [alone] = (
        list(opened.link([each])) for each in (document(("BRAF", "Gene"), ("V600E", "Variant")), document(("V600E", "Variant")))
    )
    assert [link.concept_id for link in linked.links] == ["ncbigene:673", "hgvs:BRAF:p.V600E"]
    assert alone.links[0].concept_id == "hgvs:p.V600E"
