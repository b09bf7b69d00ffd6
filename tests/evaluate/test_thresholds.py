"""Tests of threshold tuning on small examples computed by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onym.evaluate.end_to_end import merge_predictions, score_end_to_end
from onym.evaluate.tuning import above_threshold, cross_validate_f1, tune_threshold
from onym.outputs.predictions import Prediction, Predictions
from onym.types import Document, Mention

FEVER = ("mesh:D005334",)
DOC = Document("1", "fever fever fever", (Mention(0, 5, "fever", FEVER), Mention(6, 11, "fever", FEVER)))


def predictions(scores: dict[int, float]) -> Predictions:
    return Predictions.of([Prediction("1", at, at + 5, ((FEVER, score, 0),)) for at, score in scores.items()], {})


def test_threshold_removes_wrong_answer() -> None:
    made = predictions({0: 0.9, 6: 0.6, 12: 0.3})
    tuned = tune_threshold([DOC], made)
    assert 0.3 < tuned.threshold <= 0.6
    assert (tuned.f1, tuned.f1_without) == (1.0, 0.8)
    assert [one.nil_reason for one in above_threshold(made, tuned.threshold)] == [None, None, "below-threshold"]
    assert [len(one) for one in above_threshold(made, tuned.threshold).answers.values()] == [1, 1, 0]


def test_ties_prefer_lowest_threshold() -> None:
    tuned = tune_threshold([DOC], predictions({0: 0.9, 6: 0.6}))
    assert tuned.threshold == 0.6
    assert tuned.f1 == tuned.f1_without == 1.0


def test_no_answers_to_tune() -> None:
    tuned = tune_threshold([DOC], Predictions.of([Prediction("1", 0, 5, ())], {}))
    assert (tuned.threshold, tuned.f1) == (0.0, 0.0)


def test_ids_are_resolved_to_concepts() -> None:
    old = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:OLD",)),))
    assert tune_threshold([old], predictions({0: 1.0})).f1 == 0.0
    assert (
        tune_threshold([old], predictions({0: 1.0}), lambda concept_id: FEVER[0] if "OLD" in concept_id else concept_id).f1
        == 1.0
    )


def test_cross_validated_f1() -> None:
    gold = [Document(str(n), "fever fever", (Mention(0, 5, "fever", FEVER),)) for n in range(10)]
    scores = {str(n): (0.9, 0.3) for n in range(10)}
    made = Predictions.of(
        [
            Prediction(n, at, at + 5, ((FEVER, score, 0),))
            for n, two in scores.items()
            for at, score in zip((0, 6), two, strict=True)
        ],
        {},
    )
    assert cross_validate_f1(gold, made) == 1.0
    assert tune_threshold(gold, made).f1_without < 0.7


def test_cross_validation_reveals_overfitted_threshold() -> None:
    """Scores are random, so a threshold tuned on some documents must not appear to help on the other documents."""
    gold = [Document(str(n), "fever", (Mention(0, 5, "fever", FEVER),)) for n in range(10)]
    wrong = (("mesh:D006973",), 0.0, 0)
    made = Predictions.of(
        [Prediction(str(n), 0, 5, ((FEVER, n / 10, 0),) if n % 2 else ((wrong[0], n / 10 + 0.05, 0),)) for n in range(10)], {}
    )
    tuned = tune_threshold(gold, made)
    assert cross_validate_f1(gold, made) <= tuned.f1


SPANS = st.dictionaries(st.integers(0, 3), st.tuples(st.sampled_from(["mesh:A", "mesh:B", "mesh:b"]), st.integers(0, 9)))


@given(st.lists(st.tuples(SPANS, SPANS), min_size=1, max_size=7))
def test_f1_matches_strict_protocol(docs: list[tuple[dict[int, tuple[str, int]], dict[int, tuple[str, int]]]]) -> None:
    gold = [
        Document(str(n), "abcd", tuple(Mention(at, at + 1, "abcd"[at], (concept,)) for at, (concept, _) in own.items()))
        for n, (own, _) in enumerate(docs)
    ]
    found = [
        Prediction(str(n), at, at + 1, (((concept, concept.lower()), score / 10, 0),))
        for n, (_, own) in enumerate(docs)
        for at, (concept, score) in own.items()
    ]
    made = Predictions.of([*found, Prediction("elsewhere", 0, 1, ((FEVER, 0.5, 0),))], {})

    def f1(kept: Predictions) -> float:
        return score_end_to_end(gold, merge_predictions(gold, kept), canonical=str.upper).f1

    tuned = tune_threshold(gold, made, str.upper)
    assert tuned.f1_without == f1(made)
    assert tuned.f1 == f1(above_threshold(made, tuned.threshold)) == max(tuned.f1, tuned.f1_without)
    assert 0 <= cross_validate_f1(gold, made, str.upper) <= 1
