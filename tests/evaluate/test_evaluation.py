"""All figures of a system on a split."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onym.datasets import Prepared
from onym.errors import ConfigError
from onym.evaluate.evaluation import Evaluation, evaluate, judged_cases, similarity_by
from onym.evaluate.protocols import PROTOCOLS
from onym.evaluate.run import predict
from onym.evaluate.slices import NO_SIMILARITY, SIMILARITY_BINS
from onym.kb import KnowledgeBase
from onym.linkers.exact import ExactLinker
from onym.predictions.file import Prediction, Predictions
from onym.text.similarity import NameSimilarity


def opened(benchmark: Prepared) -> KnowledgeBase:
    assert benchmark.kb_folder
    return KnowledgeBase.open(benchmark.kb_folder)


def evaluated(benchmark: Prepared, **options: object) -> Evaluation:
    kb = opened(benchmark)
    return evaluate(benchmark, "test", predict(benchmark, "test", ExactLinker(kb)), kb, **options)  # type: ignore[arg-type]


def test_every_protocol_is_scored_and_one_is_chosen(benchmark: Prepared) -> None:
    # Test has "fever" and "cough", the parts of a mention of fever alone, and "omim".
    evaluation = evaluated(benchmark, name="biosyn")
    assert set(evaluation.scores) == set(PROTOCOLS)
    assert {name: scores.cases for name, scores in evaluation.scores.items()} == dict.fromkeys(PROTOCOLS, 2)
    assert evaluation.scores["any-id"].recall[1] == 1.0  # the first part is enough
    assert evaluation.scores["biosyn"].recall[1] == 0.5  # the second part is not in the dictionary
    assert list(evaluation.places) == [None, 1]


def test_what_the_preparation_dropped_is_told(benchmark: Prepared) -> None:
    assert sum(evaluated(benchmark).left_out.values()) == 1
    assert "dropped by the preparation" in next(iter(evaluated(benchmark).left_out))


def test_a_missing_answer_is_wrong_and_counted(benchmark: Prepared) -> None:
    kb = opened(benchmark)
    whole = predict(benchmark, "test", ExactLinker(kb))
    part = Predictions(whole.source, dict(list(whole.mentions.items())[:-1]))
    evaluation = evaluate(benchmark, "test", part, kb)
    assert evaluation.left_out["mentions that the predictions lack (counted as wrong)"] == 1
    assert evaluation.places[-1] is None


def test_predictions_for_something_else_are_refused(benchmark: Prepared) -> None:
    kb = opened(benchmark)
    with pytest.raises(ConfigError, match="predictions-other"):
        judged_cases(benchmark, "test", Predictions.of([Prediction("other", 0, 1, ())], {}), kb)


def test_another_knowledge_base_is_refused(benchmark: Prepared) -> None:
    kb = opened(benchmark)
    unsaid = Predictions({"kb": "unsaid"}, predict(benchmark, "test", ExactLinker(kb)).mentions)
    assert evaluate(benchmark, "test", unsaid, kb).places
    other = Predictions({"kb": {"digest": "0" * 16}}, predict(benchmark, "test", ExactLinker(kb)).mentions)
    with pytest.raises(ConfigError, match="kb-mismatch"):
        evaluate(benchmark, "test", other, kb)


def test_an_unknown_protocol_is_refused_first(benchmark: Prepared) -> None:
    with pytest.raises(ConfigError, match="protocol-unknown"):
        evaluated(benchmark, name="accuracy")


def test_replaced_ids_are_followed_in_scoring(benchmark: Prepared) -> None:
    gold = next(iter(benchmark.documents("test"))).mentions[-1].concept_ids[0]
    moved = evaluated(benchmark, replaced={gold: "mesh:D000000"})
    assert moved.scores["strict"].reachable == 1
    assert moved.manifest["replaced_ids"] == 1


def test_slices_by_likeness_need_a_measure(benchmark: Prepared) -> None:
    assert evaluated(benchmark).without_slices == dict.fromkeys(SIMILARITY_BINS, NO_SIMILARITY)
    names = NameSimilarity.of(opened(benchmark).names)
    evaluation = evaluated(benchmark, similarity=names)
    assert not evaluation.without_slices
    assert sum(part.cases for part in evaluation.slices if part.name in SIMILARITY_BINS) == 2


def test_likeness_to_the_most_similar_name() -> None:
    similarity = similarity_by(NameSimilarity(["fever", "yellow fever", "cough"]))
    first, second, third = similarity(["fever", "fever", "fever"], [["cough", "fever"], ["cough"], []])
    assert (first, second, third) == (1.0, 0.0, 0.0)


def test_the_documents_of_one_abstract_are_drawn_together(in_context: Prepared) -> None:
    evaluation = evaluated(in_context)
    assert len({case.document_id for case in evaluation.cases}) == len(evaluation.cases) == 2
    assert (evaluation.low, evaluation.high) == (evaluation.scores["strict"].recall[1],) * 2  # there is one abstract


def test_the_figures_are_plain_values_without_text(benchmark: Prepared) -> None:
    evaluation = evaluated(benchmark)
    text = json.dumps(evaluation.as_dict())
    assert "omim" not in text.replace("omim:", "")
    assert json.loads(text)["manifest"]["benchmark"]["digest"] == benchmark.digest
    assert json.loads(text)["recall_at_1"] == evaluation.scores["strict"].recall[1]


def test_train_itself_has_no_slices_of_the_unseen(benchmark: Prepared) -> None:
    kb = opened(benchmark)
    evaluation = evaluate(benchmark, "train", predict(benchmark, "train", ExactLinker(kb)), kb)
    assert "unseen-mentions" in evaluation.without_slices
    assert replace(evaluation, protocol="strict") == evaluation
