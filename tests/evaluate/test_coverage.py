"""Tests of checking which mentions of a split have predictions."""

from __future__ import annotations

import pytest

from onym.errors import ConfigError, InputError
from onym.evaluate.coverage import Coverage, document_coverage, mention_coverage, require_coverage
from onym.outputs.predictions import NoMentions, Prediction, Predictions
from onym.types import Document, Mention, Problem

FEVER, COUGH = Mention(0, 5, "fever", ("mesh:D005334",)), Mention(6, 11, "cough")
GOLD = [Document("1", "fever cough", (FEVER, COUGH)), Document("2", "fever cough", (FEVER,))]
ONE, TWO = Prediction("1", 0, 5, ()), Prediction("2", 0, 5, ())
LOST = Problem("2", "limit-record", "too long")


def mentions(*lines: Prediction | Problem | NoMentions) -> Coverage:
    return mention_coverage(GOLD, Predictions.of(lines, {}))


def documents(*lines: Prediction | Problem | NoMentions) -> Coverage:
    return document_coverage(GOLD, Predictions.of(lines, {}))


def test_mentions_without_answers_are_covered() -> None:
    assert mentions(ONE, TWO) == Coverage("mentions", gold=2, covered=2)
    assert mentions(ONE, TWO).note == ""


def test_mentions_without_a_gold_id_may_have_a_prediction() -> None:
    assert mentions(ONE, TWO, Prediction("1", 6, 11, ())) == Coverage("mentions", gold=2, covered=2)


def test_counts_missing_failed_repeated_and_extra() -> None:
    found = mentions(ONE, ONE, LOST, Prediction("3", 0, 5, ()), Prediction("1", 0, 4, ()))
    assert found == Coverage("mentions", gold=2, covered=1, failed=1, repeated=1, not_in_gold=2)
    assert found.note == "1 of 2 mentions predicted, 1 recorded as a problem, 1 repeated, 2 not in the gold"
    assert not found.is_whole


def test_span_annotated_twice_allows_two_predictions() -> None:
    gold = [Document("1", "fever", (FEVER, FEVER))]
    assert mention_coverage(gold, Predictions.of([ONE, ONE], {})) == Coverage("mentions", gold=2, covered=2)
    assert mention_coverage(gold, Predictions.of([ONE, ONE, ONE], {})).repeated == 1


def test_documents_with_any_line_are_covered() -> None:
    assert documents(ONE, NoMentions("2")) == Coverage("documents", gold=2, covered=2)
    assert documents(ONE) == Coverage("documents", gold=2, covered=1)
    assert documents(ONE, LOST) == Coverage("documents", gold=2, covered=1, failed=1)
    assert documents(ONE, ONE, TWO, NoMentions("3")) == Coverage("documents", gold=2, covered=2, repeated=1, not_in_gold=1)


def test_coverage_by_corpus_documents() -> None:
    assert document_coverage(GOLD, GOLD) == Coverage("documents", gold=2, covered=2)
    assert document_coverage(GOLD, [GOLD[0], LOST]) == Coverage("documents", gold=2, covered=1, failed=1)
    assert document_coverage(GOLD, [*GOLD, GOLD[0], LOST]) == Coverage("documents", gold=2, covered=2, repeated=1)


def test_rejects_incomplete_and_repeated_predictions() -> None:
    whole = Coverage("mentions", gold=2, covered=2, not_in_gold=5)
    require_coverage(whole, "made (test)")
    with pytest.raises(InputError, match=r"\[predictions-partial\] made \(test\): 1 of 2 mentions predicted"):
        require_coverage(Coverage("mentions", gold=2, covered=1), "made (test)")
    with pytest.raises(InputError, match=r"\[predictions-repeated\] made \(test\): 1 repeated"):
        require_coverage(Coverage("mentions", gold=2, covered=2, repeated=1), "made (test)")
    require_coverage(Coverage("mentions", gold=2, covered=1, repeated=1), "made (test)", allow_partial=True)


def test_predictions_for_other_documents_are_always_rejected() -> None:
    with pytest.raises(ConfigError, match="predictions-other"):
        require_coverage(Coverage("documents", gold=2, covered=0, not_in_gold=1), "made (test)", allow_partial=True)
