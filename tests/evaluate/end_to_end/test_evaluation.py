"""Tests of evaluating an end-to-end system on a split."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onym.corpora.base import Item
from onym.errors import ConfigError, InputError
from onym.evaluate.end_to_end import END_TO_END, NOT_IN_GOLD, UNREADABLE, evaluate_end_to_end, merge_predictions, system_name
from onym.evaluate.task import EvaluationTask
from onym.outputs.predictions import NoMentions, Prediction, Predictions
from onym.types import Document, Mention, Problem

FEVER = ((("mesh:D005334",), 1.0, 0),)
SOURCE: dict[str, object] = {"detector": {"detector": "dictionary"}, "linker": {"linker": "exact"}}


def predictions(*spans: tuple[int, int], doc: str = "4", source: dict[str, object] = SOURCE) -> Predictions:
    return Predictions.of([Prediction(doc, start, end, FEVER) for start, end in spans], source)


def test_scores_by_protocol_and_type_and_errors(abstracts: EvaluationTask) -> None:
    # A mention with a wrong span, and a spurious mention.
    evaluation = evaluate_end_to_end(abstracts, predictions((2, 12), (0, 1)))
    assert list(evaluation.results) == list(END_TO_END)
    assert evaluation.results["bhowmik-strict"].scores.f1 == 0.0
    assert evaluation.results["bhowmik-partial"].scores.recall == 0.5
    assert evaluation.mistakes.counts == {"missed": 1, "unlinked": 0, "wrong concept": 0, "wrong span": 1, "spurious": 1}
    assert [(score.type, score.gold, score.recall) for score in evaluation.by_type] == [("Modifier", 2, 0.0)]
    assert (evaluation.documents, evaluation.mentions, evaluation.in_kb) == (1, 2, 2)
    assert evaluation.title == "dictionary + exact on ncbi-disease (test)"


def test_types_are_scored_by_the_main_protocol(abstracts: EvaluationTask) -> None:
    evaluation = evaluate_end_to_end(abstracts, predictions((2, 12)), protocol="bhowmik-partial")
    (score,) = evaluation.by_type
    # The interval has no width, because there is only one document.
    assert (score.recall, score.low, score.high) == (0.5, 0.5, 0.5)


def test_as_dict_has_plain_values_without_text(abstracts: EvaluationTask) -> None:
    evaluation = evaluate_end_to_end(abstracts, predictions((7, 12)))
    text = json.dumps(evaluation.as_dict())
    assert "fever" not in text.lower()
    values = json.loads(text)
    assert (values["precision"], values["recall"], values["protocols"]["bhowmik-partial"]["recall"]) == (1.0, 0.5, 0.5)
    assert values["manifest"]["dataset"] == abstracts.source


def test_documents_with_predicted_mentions(abstracts: EvaluationTask) -> None:
    gold = list(abstracts.dataset.documents("test"))
    evaluation = evaluate_end_to_end(abstracts, gold, system="gold")
    assert all(result.scores.f1 == 1.0 for result in evaluation.results.values())
    assert evaluation.system == "gold"
    other = replace(gold[0], text=gold[0].text + ".")
    with pytest.raises(InputError, match="text-differs"):
        evaluate_end_to_end(abstracts, [other])


def test_unscored_mentions_are_counted(abstracts: EvaluationTask) -> None:
    both = Predictions(SOURCE, predictions((7, 12)).mentions | predictions((0, 1), doc="other").mentions)
    assert evaluate_end_to_end(abstracts, both).left_out[NOT_IN_GOLD] == 1
    gold = list(abstracts.dataset.documents("test"))
    other = Document("other", "x", (Mention(0, 1, "x", ("a:1",)),))
    assert evaluate_end_to_end(abstracts, [*gold, other]).left_out[NOT_IN_GOLD] == 1


def test_rejects_predictions_for_other_documents(abstracts: EvaluationTask) -> None:
    with pytest.raises(ConfigError, match="predictions-other"):
        evaluate_end_to_end(abstracts, [Document("other", "x")])
    with pytest.raises(ConfigError, match="predictions-other"):
        evaluate_end_to_end(abstracts, predictions((0, 1), doc="other"))


def test_missing_document_is_rejected_or_counted_as_missed(abstracts: EvaluationTask) -> None:
    with pytest.raises(InputError, match=r"predictions-partial\] .*0 of 1 documents predicted"):
        evaluate_end_to_end(abstracts, predictions())
    failed = Predictions.of([Problem("4", "limit-record", "too long")], SOURCE)
    with pytest.raises(InputError, match="0 of 1 documents predicted, 1 recorded as a problem"):
        evaluate_end_to_end(abstracts, failed)
    evaluation = evaluate_end_to_end(abstracts, failed, allow_partial=True)
    assert (evaluation.as_dict()["coverage"]["failed"], evaluation.mistakes.counts["missed"]) == (1, 2)


def test_first_of_two_documents_with_equal_id_is_scored(abstracts: EvaluationTask) -> None:
    gold = list(abstracts.dataset.documents("test"))
    both = [*gold, Document(gold[0].id, gold[0].text)]
    with pytest.raises(InputError, match="predictions-repeated"):
        evaluate_end_to_end(abstracts, both)
    assert evaluate_end_to_end(abstracts, both, allow_partial=True).results["bhowmik-strict"].scores.f1 == 1.0


def test_unreadable_documents_are_counted(abstracts: EvaluationTask) -> None:
    gold = list(abstracts.dataset.documents("test"))
    items: list[Item] = [Problem("4", "corpus-offsets", "a surface is not at its offsets"), *gold]
    assert evaluate_end_to_end(abstracts, items).left_out[UNREADABLE] == 1


def test_system_without_predictions(abstracts: EvaluationTask) -> None:
    evaluation = evaluate_end_to_end(abstracts, Predictions.of([NoMentions("4")], SOURCE))
    assert (evaluation.results["bhowmik-strict"].scores.f1, evaluation.mistakes.counts["missed"]) == (0.0, 2)


def test_rejects_other_knowledge_base_and_unknown_protocol(abstracts: EvaluationTask) -> None:
    with pytest.raises(ConfigError, match="kb-mismatch"):
        evaluate_end_to_end(abstracts, predictions((0, 1), source={"kb": {"digest": "0"}}))
    with pytest.raises(ConfigError, match="protocol-unknown"):
        evaluate_end_to_end(abstracts, predictions((0, 1)), protocol="accuracy")


def test_unlinked_mention_has_no_concept() -> None:
    made = Predictions.of([Prediction("1", 0, 5, ()), Prediction("9", 0, 5, FEVER)], {})
    (doc,) = merge_predictions([Document("1", "fever")], made)
    assert [mention.concept_ids for mention in doc.mentions] == [()]


def test_unknown_system_name() -> None:
    assert system_name({}) == "unknown system"
    assert system_name({"linker": {"linker": "exact"}}) == "exact"


TWINS = [Document("9", text, (Mention(0, 5, text[:5], ("mesh:D005334",)),), source="test.jsonl", ordinal=number)
         for number, text in ((1, "fever"), (2, "Fever again"))]  # fmt: skip


def test_predictions_are_matched_if_documents_share_an_id() -> None:
    made = Predictions.of([Prediction("9", 0, 5, FEVER, source="test.jsonl", ordinal=2)], {})
    assert [doc.mentions for doc in merge_predictions(TWINS, made)] == [(), TWINS[1].mentions]
    with pytest.raises(InputError, match="predictions-ambiguous"):
        merge_predictions(TWINS, Predictions.of([Prediction("9", 0, 5, FEVER)], {}))


def test_documents_with_equal_id_are_matched_by_text(abstracts: EvaluationTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(abstracts.dataset), "documents", lambda _self, _split: iter(TWINS))
    elsewhere = [replace(doc, source="mine.pubtator", ordinal=doc.ordinal + 5) for doc in reversed(TWINS)]
    evaluation = evaluate_end_to_end(abstracts, elsewhere)
    assert evaluation.results["bhowmik-strict"].scores.f1 == 1.0
    with pytest.raises(InputError, match="text-differs"):
        evaluate_end_to_end(abstracts, [elsewhere[1], replace(elsewhere[0], text="fever!", mentions=())])
    with pytest.raises(InputError, match="predictions-repeated"):
        evaluate_end_to_end(abstracts, [*elsewhere, elsewhere[0]])
