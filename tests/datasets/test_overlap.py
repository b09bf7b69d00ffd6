"""Tests of counting mentions of dev and test that also occur in train."""

from __future__ import annotations

from onym.datasets.overlap import Overlap, TrainOverlap, corpus_span, surface_and_ids
from onym.types import Document, Mention

IDS = ("mesh:D005334",)


def doc(document_id: str, surface: str = "fever", ids: tuple[str, ...] = IDS) -> Document:
    return Document(document_id, surface, (Mention(0, len(surface), surface, ids),))


def test_counts_overlap_by_span_and_by_surface() -> None:
    overlap = TrainOverlap()
    overlap.add("train", doc("1"))
    for other in (doc("1"), doc("1", "Fever!"), doc("2", "FEVER"), doc("2", ids=("mesh:D000000",))):
        overlap.add("test", other)
    assert overlap.splits == {"test": Overlap(mentions=4, same_span=1, same_surface_and_ids=3)}


def test_no_overlap_counts_without_train() -> None:
    overlap = TrainOverlap()
    overlap.add("test", doc("1"))
    assert overlap.splits == {}


def test_compares_offsets_in_the_published_corpus() -> None:
    mention = Mention(0, 5, "fever", notes=(("offsets", "12|20"),))
    assert corpus_span(Document("7.2", "fever", notes=(("document", "7"),)), mention) == ("7", "12|20")
    assert corpus_span(Document("7", "fever"), Mention(0, 5, "fever")) == ("7", "0|5")


def test_order_of_ids_does_not_matter() -> None:
    assert surface_and_ids(doc("1", "A-b", ("x:1", "x:2")).mentions[0]) == surface_and_ids(
        doc("1", "a  b", ("x:2", "x:1")).mentions[0]
    )
