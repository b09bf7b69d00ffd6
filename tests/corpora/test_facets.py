"""Tests of facets, the parts of a document that a format may lose, and of comparing documents by facets."""

from __future__ import annotations

from onym.corpora.base import ALL, Facet
from onym.corpora.corpus import describe_loss, facets_of, view
from onym.types import Document, Mention, Passage, Relation

MENTIONS = (
    Mention(0, 5, "fever", ("mesh:D005334",), "Disease", "T1"),
    Mention(0, 15, "fever and cough", ("mesh:D005334", "mesh:D003371"), "Disease", "T2", ((0, 5), (10, 15)), (("k", "v"),)),
)
FULL = Document("1", "fever and cough", MENTIONS, (Passage(0, 15, "title"),), (Relation("r", (("a", "T1"),)),))


def test_a_full_document_uses_each_facet() -> None:
    assert facets_of(FULL) == ALL
    assert facets_of(Document("1", "x")) == {"document ids", "text"}


def test_view_ignores_the_order_of_mentions() -> None:
    turned = Document("1", FULL.text, MENTIONS[::-1], FULL.passages, FULL.relations)
    assert view(turned, ALL) == view(FULL, ALL)


def test_view_detects_changes_of_each_facet() -> None:
    others: dict[Facet, Document] = {
        "document ids": Document("2", FULL.text, MENTIONS, FULL.passages, FULL.relations),
        "passages": Document("1", FULL.text, MENTIONS, (), FULL.relations),
        "mentions": Document("1", FULL.text, MENTIONS[:1], FULL.passages, FULL.relations),
        "relations": Document("1", FULL.text, MENTIONS, FULL.passages),
        "notes": Document("1", FULL.text, MENTIONS, FULL.passages, FULL.relations, (("a", "b"),)),
        "types": _with(type="Other"),
        "composites": _with(concept_ids=("mesh:D005334", "mesh:D1")),
        "mention ids": _with(id="T3"),
        "discontinuous": _with(parts=()),
    }
    for facet, other in others.items():
        assert view(other, ALL) != view(FULL, ALL), facet
        assert view(other, ALL - {facet}) == view(FULL, ALL - {facet}), facet


def _with(**changes: object) -> Document:
    from dataclasses import replace

    mentions = (MENTIONS[0], replace(MENTIONS[1], **changes))  # type: ignore[arg-type]
    return Document("1", FULL.text, mentions, FULL.passages, FULL.relations)


def test_a_loss_is_described_with_its_number_of_documents() -> None:
    assert describe_loss("pubtator", "composites", 1) == "pubtator cannot store all composites (1 document)"
    assert describe_loss("biosyn", "text", 1_000).endswith("(1,000 documents)")
