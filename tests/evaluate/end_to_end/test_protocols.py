"""Tests of end-to-end scores: examples computed by hand, properties, and the published outputs of DNorm and tmChem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.errors import ConfigError, InputError
from onym.evaluate.end_to_end import END_TO_END, EndToEndScores, score_end_to_end, score_with_intervals
from onym.types import Document, Mention

# Expected F1, computed by this code. The strict counts were checked against the published files line by line.
PUBLISHED = {
    "DNorm": {"bhowmik-strict": 0.7465, "bhowmik-partial": 0.8090, "neleval-overlap-maxmax": 0.7939, "document": 0.8062},
    "tmChem": {"bhowmik-strict": 0.8680, "bhowmik-partial": 0.8753, "neleval-overlap-maxmax": 0.8735, "document": 0.9116},
}
# Expected counts under bhowmik-strict: right predictions, all predictions, gold mentions found, all gold mentions.
COUNTS = {"DNorm": (3250, 4277, 3250, 4430), "tmChem": (4371, 4702, 4371, 5370)}

TEXT = "x" * 40
STRICT, PARTIAL, MAXMAX, DOCUMENT = END_TO_END


def document(*mentions: tuple[int, int, str], name: str = "1") -> Document:
    """Return a document with mentions (start, end, ids); ids are separated by spaces."""
    made = tuple(Mention(start, end, TEXT[start:end], tuple(ids.split())) for start, end, ids in mentions)
    return Document(name, TEXT, made)


def figures(scores: EndToEndScores) -> tuple[float, float, float, float]:
    return scores.right, scores.predicted, scores.found, scores.gold


MENTIONS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10), st.sampled_from(["a:1", "a:2", "a:1 a:2", ""])).map(
        lambda m: (m[0], m[0] + m[1], m[2])
    ),
    max_size=8,
)


def test_identical_mentions_score_one() -> None:
    gold = [document((0, 5, "a:1"), (7, 9, "a:2"))]
    for name in END_TO_END:
        scores = score_end_to_end(gold, gold, name)
        assert (scores.precision, scores.recall, scores.f1) == (1.0, 1.0, 1.0)


def test_strict_requires_span_and_concept() -> None:
    gold = [document((0, 5, "a:1"), (10, 15, "a:2"), (20, 25, "a:3"))]
    predicted = [document((0, 5, "a:1"), (10, 14, "a:2"), (20, 25, "a:9"), (30, 35, "a:1"))]
    scores = score_end_to_end(gold, predicted, STRICT)
    assert figures(scores) == (1, 4, 1, 3)
    assert scores.precision == 1 / 4
    assert scores.recall == 1 / 3
    assert scores.f1 == pytest.approx(2 / 7)


def test_partial_requires_one_character_of_overlap() -> None:
    gold = [document((10, 15, "a:1"))]
    assert score_end_to_end(gold, [document((14, 20, "a:1"))], PARTIAL).recall == 1.0
    assert score_end_to_end(gold, [document((15, 20, "a:1"))], PARTIAL).recall == 0.0
    assert score_end_to_end(gold, [document((14, 20, "a:2"))], PARTIAL).recall == 0.0
    assert score_end_to_end(gold, [document((10, 15, "a:1"), name="2")], PARTIAL).recall == 0.0


def test_partial_is_not_aligned_one_to_one() -> None:
    scores = score_end_to_end([document((0, 10, "a:1"))], [document((0, 3, "a:1"), (5, 8, "a:1"), (20, 22, "a:1"))], PARTIAL)
    assert figures(scores) == (2, 3, 1, 1)
    scores = score_end_to_end([document((0, 3, "a:1"), (5, 8, "a:1"))], [document((0, 10, "a:1"))], PARTIAL)
    assert figures(scores) == (1, 1, 2, 2)


def test_maxmax_matches_neleval_documentation() -> None:
    # The end offsets in neleval's example are inclusive: gold 1-10 and 12-12, system 1-5 and 6-12.
    gold, predicted = [document((1, 11, "a:1"), (12, 13, "a:1"))], [document((1, 6, "a:1"), (6, 13, "a:1"))]
    scores = score_end_to_end(gold, predicted, MAXMAX)
    assert scores.found == pytest.approx(5 / 10 + 1)
    assert scores.right == pytest.approx(1 + 5 / 7)


def test_maxmax_uses_only_the_best_span() -> None:
    scores = score_end_to_end([document((0, 10, "a:1"))], [document((0, 4, "a:1"), (4, 10, "a:1"), (9, 19, "a:1"))], MAXMAX)
    assert scores.found == pytest.approx(6 / 10)
    assert scores.right == pytest.approx(1 + 1 + 1 / 10)


def test_document_protocol_ignores_spans() -> None:
    gold = [document((0, 5, "a:1"), (10, 15, "a:1"), (20, 25, "a:2 a:3"))]
    predicted = [document((30, 32, "a:1"), (20, 25, "a:2"), (0, 5, "a:9"), (6, 9, "a:9"))]
    assert figures(score_end_to_end(gold, predicted, DOCUMENT)) == (2, 3, 2, 3)
    assert figures(score_end_to_end(gold, [document((0, 5, "a:1"), name="2")], DOCUMENT)) == (0, 0, 0, 3)


def test_passages_of_an_article_count_as_one_document() -> None:
    one, other = (replace(document((0, 5, "a:1"), name=name), notes=(("document", "7"),)) for name in ("7.1", "7.2"))
    nothing = replace(other, mentions=())
    assert figures(score_end_to_end([one, other], [nothing, one], DOCUMENT)) == (1, 1, 1, 1)
    assert figures(score_end_to_end([one, other], [one, nothing], STRICT)) == (1, 1, 1, 2)
    assert score_with_intervals([one, other], [one, nothing], DOCUMENT).recall == (1.0, 1.0)


def test_each_concept_of_a_composite_is_an_item() -> None:
    gold = [document((0, 5, "a:1 a:2"))]
    assert figures(score_end_to_end(gold, [document((0, 5, "a:1"))], STRICT)) == (1, 1, 1, 2)
    assert figures(score_end_to_end(gold, [document((0, 5, "a:1"), (0, 5, "a:2"))], STRICT)) == (2, 2, 2, 2)


def test_duplicate_items_count_once() -> None:
    scores = score_end_to_end([document((0, 5, "a:1"))], [document((0, 5, "a:1"), (0, 5, "a:1 a:1"))], STRICT)
    assert figures(scores) == (1, 1, 1, 1)


def test_ids_are_canonicalised() -> None:
    gold, predicted = [document((0, 5, "a:1"))], [document((0, 5, "a:old"))]
    assert score_end_to_end(gold, predicted).recall == 0.0
    assert score_end_to_end(gold, predicted, canonical=lambda i: {"a:old": "a:1"}.get(i, i)).recall == 1.0


def test_unscored_mentions_are_counted() -> None:
    gold = [document((0, 5, ""), (10, 15, "a:1"))]
    predicted = [document((0, 5, "a:1"), (10, 15, "a:1"), (20, 22, "")), document((0, 5, "a:1"), name="9")]
    scores = score_end_to_end(gold, predicted)
    assert figures(scores) == (1, 2, 1, 1)  # a prediction at a gold mention without a concept is wrong
    assert scores.left_out == {
        "gold mentions without a concept": 1,
        "predicted mentions without a concept": 1,
        "predicted mentions in documents that the gold does not have": 1,
    }


def test_scores_are_zero_without_items() -> None:
    for name in END_TO_END:
        scores = score_end_to_end([], [], name)
        assert (scores.precision, scores.recall, scores.f1) == (0.0, 0.0, 0.0)
        assert scores.left_out == {}


def test_rejects_different_text() -> None:
    with pytest.raises(InputError) as caught:
        score_end_to_end([document()], [Document("1", "another text")])
    assert caught.value.code == "text-differs"
    assert "another text" not in caught.value.where


def test_rejects_unknown_protocol() -> None:
    with pytest.raises(ConfigError, match="bhowmik-partial") as caught:
        score_end_to_end([], [], "strict")
    assert caught.value.code == "protocol-unknown"


@given(MENTIONS, MENTIONS)
def test_strict_never_exceeds_partial(gold: list[tuple[int, int, str]], predicted: list[tuple[int, int, str]]) -> None:
    scores = [score_end_to_end([document(*gold)], [document(*predicted)], name) for name in (STRICT, MAXMAX, PARTIAL)]
    assert [s.right for s in scores] == sorted(s.right for s in scores)
    assert [s.found for s in scores] == sorted(s.found for s in scores)
    assert scores[2].right <= scores[2].predicted
    assert scores[2].found <= scores[2].gold


@given(MENTIONS, MENTIONS, st.sampled_from(list(END_TO_END)))
def test_swapping_gold_and_predicted_swaps_precision_and_recall(
    gold: list[tuple[int, int, str]], predicted: list[tuple[int, int, str]], name: str
) -> None:
    one = score_end_to_end([document(*gold)], [document(*predicted)], name)
    other = score_end_to_end([document(*predicted)], [document(*gold)], name)
    assert (one.precision, one.recall) == pytest.approx((other.recall, other.precision))


def of_type(documents: Iterator[Document], kind: str) -> Iterator[Document]:
    return (replace(doc, mentions=tuple(m for m in doc.mentions if m.type == kind)) for doc in documents)


@pytest.mark.real_data
@pytest.mark.parametrize(("system", "kind"), [("DNorm", "Disease"), ("tmChem", "Chemical")])
def test_published_outputs_on_bc5cdr(real_data: Path, system: str, kind: str) -> None:
    folder = real_data / "bc5cdr"
    gold = list(of_type(documents_of(read_corpus(folder / "CDR_TestSet.PubTator.txt.gz")), kind))
    predicted = list(documents_of(read_corpus(folder / f"TestSet.{system}.PubTator.txt.gz")))
    found = {name: score_end_to_end(gold, predicted, name) for name in END_TO_END}
    assert {name: round(scores.f1, 4) for name, scores in found.items()} == PUBLISHED[system]
    assert figures(found[STRICT]) == COUNTS[system]
