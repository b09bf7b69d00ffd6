"""Tests of evaluating a linker on a split."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onym.errors import ConfigError, InputError
from onym.evaluate.evaluation import Evaluation, closest_name_similarity, evaluate
from onym.evaluate.metrics import PROTOCOLS
from onym.evaluate.run import predict
from onym.evaluate.slices import NO_SIMILARITY, SIMILARITY_BINS
from onym.evaluate.task import EvaluationTask
from onym.methods.exact import ExactLinker
from onym.outputs.predictions import Prediction, Predictions
from onym.text.similarity import NameSimilarity


def exact(task: EvaluationTask) -> Predictions:
    return predict(task, ExactLinker(task.kb))


def evaluate_exact(task: EvaluationTask, **options: object) -> Evaluation:
    return evaluate(task, exact(task), **options)  # type: ignore[arg-type]


def test_each_protocol_is_scored_and_one_is_selected(task: EvaluationTask) -> None:
    # The test split has "fever" and "cough", two parts of a mention whose only concept is fever, and "omim".
    evaluation = evaluate_exact(task, protocol="biosyn")
    assert set(evaluation.scores) == set(PROTOCOLS)
    assert {name: scores.cases for name, scores in evaluation.scores.items()} == dict.fromkeys(PROTOCOLS, 2)
    assert evaluation.scores["any-id"].recall[1] == 1.0  # under any-id, one part of the composite is enough
    assert evaluation.scores["biosyn"].recall[1] == 0.5  # the second part is not in the dictionary
    assert list(evaluation.gold_ranks) == [None, 1]


def test_dropped_mentions_are_reported(task: EvaluationTask) -> None:
    assert sum(evaluate_exact(task).left_out.values()) == 1
    assert "dropped by the preparation" in next(iter(evaluate_exact(task).left_out))


def test_missing_prediction_counts_as_wrong(task: EvaluationTask) -> None:
    whole = exact(task)
    part = Predictions(whole.source, dict(list(whole.mentions.items())[:-1]))
    with pytest.raises(InputError, match=r"predictions-partial\] .*2 of 3 mentions predicted"):
        evaluate(task, part)
    evaluation = evaluate(task, part, allow_partial=True)
    assert evaluation.as_dict()["coverage"]["covered"] == 2
    assert evaluation.gold_ranks[-1] is None


def test_rejects_repeated_predictions(task: EvaluationTask) -> None:
    whole = exact(task)
    twice = Predictions.of([*whole, next(iter(whole))], whole.source)
    with pytest.raises(InputError, match="predictions-repeated"):
        evaluate(task, twice)
    assert evaluate(task, twice, allow_partial=True).gold_ranks == evaluate(task, whole).gold_ranks


def test_rejects_predictions_for_other_documents(task: EvaluationTask) -> None:
    with pytest.raises(ConfigError, match="predictions-other"):
        evaluate(task, Predictions.of([Prediction("other", 0, 1, ())], {}), allow_partial=True)


def test_rejects_other_knowledge_base(task: EvaluationTask) -> None:
    unsaid = Predictions({"kb": "unsaid"}, exact(task).mentions)
    assert evaluate(task, unsaid).gold_ranks
    other = Predictions({"kb": {"digest": "0" * 16}}, exact(task).mentions)
    with pytest.raises(ConfigError, match="kb-mismatch"):
        evaluate(task, other)


def test_unknown_protocol_fails_early(task: EvaluationTask) -> None:
    with pytest.raises(ConfigError, match="protocol-unknown"):
        evaluate_exact(task, protocol="accuracy")


def test_replaced_ids_are_followed_in_scoring(task: EvaluationTask) -> None:
    gold = next(iter(task.dataset.documents("test"))).mentions[-1].concept_ids[0]
    moved = evaluate_exact(EvaluationTask(task.dataset, "test", task.kb, {gold: "mesh:D000000"}))
    assert moved.scores["strict"].in_kb == 1
    assert moved.manifest["replaced_ids"] == 1


def test_slices_by_similarity_need_a_measure(task: EvaluationTask) -> None:
    assert evaluate_exact(task).without_slices == dict.fromkeys(SIMILARITY_BINS, NO_SIMILARITY)
    names = NameSimilarity.of(task.kb.names)
    evaluation = evaluate_exact(task, similarity=names)
    assert not evaluation.without_slices
    assert sum(part.cases for part in evaluation.slices if part.name in SIMILARITY_BINS) == 2


def test_similarity_to_the_closest_name() -> None:
    similarity = closest_name_similarity(NameSimilarity(["fever", "yellow fever", "cough"]))
    first, second, third = similarity(["fever", "fever", "fever"], [["cough", "fever"], ["cough"], []])
    assert (first, second, third) == (1.0, 0.0, 0.0)


def test_documents_of_one_abstract_are_resampled_together(in_context: EvaluationTask) -> None:
    evaluation = evaluate_exact(in_context)
    assert len({case.document_id for case in evaluation.cases}) == len(evaluation.cases) == 2
    # The interval has no width: there is only one abstract.
    assert (evaluation.low, evaluation.high) == (evaluation.scores["strict"].recall[1],) * 2


def test_as_dict_has_plain_values_without_text(task: EvaluationTask) -> None:
    evaluation = evaluate_exact(task)
    text = json.dumps(evaluation.as_dict())
    assert "omim" not in text.replace("omim:", "").replace('["mesh", "omim"]', "")
    assert json.loads(text)["manifest"]["dataset"]["digest"] == task.dataset.digest
    assert json.loads(text)["recall_at_1"] == evaluation.scores["strict"].recall[1]


def test_train_split_has_no_unseen_slices(task: EvaluationTask) -> None:
    train = EvaluationTask(task.dataset, "train", task.kb)
    evaluation = evaluate(train, exact(train))
    assert "unseen-mentions" in evaluation.without_slices
    assert replace(evaluation, protocol="strict") == evaluation
