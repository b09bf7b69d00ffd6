"""Tests of what rules mean: scopes, precedence, case, missed mentions, and contradictions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from onym.corrections import Corrections, Rule
from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline
from onym.pipeline.drift import DriftWatch
from onym.types import Document, Link, Mention

FEVER, INFARCT, PRESSURE = "mesh:D005334", "mesh:D009203", "mesh:D006973"
TEXT = "Fever after a heart attack (HA). HA and MI; Mi is a name. Swamp fever."
Rules = Sequence[Rule]
Answers = dict[tuple[int, str], str | None]


@pytest.fixture(scope="module")
def pipeline(tiny_kb: Path) -> Pipeline:
    kb = KnowledgeBase.open(tiny_kb)
    return Pipeline(ExactLinker(kb), DictionaryDetector(kb))


def answers(pipeline: Pipeline, rules: Rules, document: Document | None = None) -> dict[tuple[int, str], str | None]:
    """Return the concept of each mention by start and surface, with NIL reasons after a tilde."""
    corrected = pipeline.with_corrections(Corrections(rules, pipeline.kb))
    linked = corrected.link(document or Document("7", TEXT))
    return {(link.mention.start, link.mention.surface): link.concept_id or f"~{link.nil_reason}" for link in linked.links}


PLAIN: dict[tuple[int, str], str | None] = {
    (0, "Fever"): FEVER,
    (14, "heart attack"): INFARCT,
    (28, "HA"): INFARCT,
    (33, "HA"): INFARCT,
    (64, "fever"): FEVER,
}


def test_without_rules_nothing_changes(pipeline: Pipeline) -> None:
    assert answers(pipeline, []) == PLAIN


@pytest.mark.parametrize(
    ("rules", "changes"),
    [
        ([Rule("fever", PRESSURE)], {(0, "Fever"): PRESSURE, (64, "fever"): PRESSURE}),
        ([Rule("FEVER", "mesh:D006973")], {(0, "Fever"): PRESSURE, (64, "fever"): PRESSURE}),
        ([Rule("fever", "no-concept")], {(0, "Fever"): "~corrected", (64, "fever"): "~corrected"}),
        ([Rule("fever", "not-a-mention")], {(0, "Fever"): None, (64, "fever"): None}),
        ([Rule("fever", PRESSURE, "7")], {(0, "Fever"): PRESSURE, (64, "fever"): PRESSURE}),
        ([Rule("fever", PRESSURE, "8")], {}),
        ([Rule("fever", PRESSURE, "7", start=64, end=69)], {(64, "fever"): PRESSURE}),
        ([Rule("cough", PRESSURE, "7", start=64, end=69)], {}),
        ([Rule("HA", PRESSURE)], {}),
        ([Rule("HA", PRESSURE, expansion="Heart Attack")], {(28, "HA"): PRESSURE, (33, "HA"): PRESSURE}),
        ([Rule("ha", PRESSURE, expansion="heart attack")], {}),
        ([Rule("HA", PRESSURE, expansion="headache")], {}),
        ([Rule("HA", PRESSURE, "7")], {(28, "HA"): PRESSURE, (33, "HA"): PRESSURE}),
        ([Rule("heart attack", PRESSURE)], {(14, "heart attack"): PRESSURE}),
        ([Rule("MI", INFARCT)], {}),
        ([Rule("MI", INFARCT, add=True)], {(40, "MI"): INFARCT}),
        ([Rule("MI", INFARCT, "8", add=True)], {}),
        ([Rule("MI", "no-concept", add=True)], {(40, "MI"): "~corrected"}),
        ([Rule("swamp-fever", PRESSURE, add=True)], {(58, "Swamp fever"): PRESSURE, (64, "fever"): None}),
        ([Rule("attack", PRESSURE, add=True)], {}),
        (  # phrases with the same first word, one of which is longer than the rest of the text
            [Rule("swamp fever", PRESSURE, add=True), Rule("swamp fever at night", INFARCT, add=True)],
            {(58, "Swamp fever"): PRESSURE, (64, "fever"): None},
        ),
        ([Rule("name", PRESSURE, "7", start=52, end=56, add=True)], {(52, "name"): PRESSURE}),
        ([Rule("name", PRESSURE, "7", start=520, end=560, add=True)], {}),
        (
            [Rule("fever", PRESSURE), Rule("fever", INFARCT, "7"), Rule("fever", "no-concept", "7", start=0, end=5)],
            {(0, "Fever"): "~corrected", (64, "fever"): INFARCT},
        ),
        (
            [Rule("HA", "no-concept", expansion="heart attack"), Rule("HA", PRESSURE, "7")],
            {(28, "HA"): PRESSURE, (33, "HA"): PRESSURE},
        ),
        ([Rule("fever", "omim:608446")], {(0, "Fever"): INFARCT, (64, "fever"): INFARCT}),
    ],
    ids=str,
)
def test_exactly_what_the_rules_name_changes(
    pipeline: Pipeline, rules: Rules, changes: dict[tuple[int, str], str | None]
) -> None:
    expected = {key: value for key, value in (PLAIN | changes).items() if value is not None}
    assert answers(pipeline, rules) == expected


def test_a_rule_may_be_bound_to_a_text(pipeline: Pipeline) -> None:
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    rules = [Rule("fever", PRESSURE, "7", digest=digest[:16]), Rule("fever", INFARCT, "7", digest="0" * 64)]
    assert answers(pipeline, rules)[0, "Fever"] == PRESSURE
    assert answers(pipeline, rules, Document("7", "Other fever."))[6, "fever"] == FEVER


def test_annotated_mentions_are_kept(pipeline: Pipeline) -> None:
    doc = Document("7", "Fever and MI", (Mention(0, 5, "Fever"),))
    assert answers(pipeline, [Rule("fever", "not-a-mention"), Rule("MI", INFARCT, add=True)], doc) == {
        (0, "Fever"): "~corrected"
    }


def test_a_corrected_link_has_a_stage_and_no_confidence(pipeline: Pipeline) -> None:
    corrected = pipeline.with_corrections(Corrections([Rule("fever", PRESSURE)], pipeline.kb)).link(TEXT)
    link, other = corrected.links[:2]
    assert (link.stage, link.confidence, link.tied, link.detection_score) == ("correction", None, 0, 1.0)
    assert link.candidates[0].preferred_name == "Hypertension"
    assert other.stage is None
    assert list(DriftWatch(None).watch([corrected])) == [corrected]


def test_a_threshold_does_not_apply(pipeline: Pipeline) -> None:
    strict = pipeline.with_threshold(2.0).with_corrections(Corrections([Rule("fever", PRESSURE)], pipeline.kb))
    assert [link.concept_id for link in strict.link(TEXT).links] == [PRESSURE, None, None, None, PRESSURE]


@pytest.mark.parametrize("restrict", [True, False])
def test_a_filter_applies(pipeline: Pipeline, restrict: bool) -> None:
    filtered = pipeline.with_filter(types=["C23"], restrict=restrict)
    links = filtered.with_corrections(Corrections([Rule("fever", PRESSURE)], pipeline.kb)).link("Fever").links
    assert [(link.concept_id, link.nil_reason) for link in links] == [(None, "filtered-out")]


def test_copies_keep_the_corrections(pipeline: Pipeline) -> None:
    corrected = pipeline.with_corrections(Corrections([Rule("fever", PRESSURE)], pipeline.kb))
    term = Document("1", "fever", (Mention(0, 5, "fever"),))
    assert corrected.with_threshold(None).for_terms().link(term).links[0].concept_id == PRESSURE
    assert corrected.with_corrections(None).link(term).links[0].concept_id == FEVER


def test_the_source_names_the_rules(pipeline: Pipeline) -> None:
    rules = [Rule("fever", PRESSURE, line=2), Rule("MI", INFARCT, line=3)]
    one, other, less = (pipeline.with_corrections(Corrections(each, pipeline.kb)) for each in (rules, rules[::-1], rules[:1]))
    assert one.source() == other.source()
    assert one.source()["corrections"] == {"rules": 2, "digest": one.corrections.digest}  # type: ignore[union-attr]
    assert one.source() != less.source()
    assert "corrections" not in pipeline.source()


def test_an_explanation_names_the_rule(pipeline: Pipeline) -> None:
    rules = [Rule("fever", PRESSURE, "7", line=4), Rule("heart attack", "no-concept", line=5)]
    found = pipeline.with_corrections(Corrections(rules, pipeline.kb)).explain(Document("7", TEXT))
    assert found[0].lines()[0] == "decided by a correction (in this document, line 4 of the corrections)"
    assert found[1].lines()[:2] == [
        "decided by a correction (always, line 5 of the corrections)",
        "not linked: a correction says that it has no concept",
    ]
    assert found[2].correction is None


@pytest.mark.parametrize(
    "rules",
    [
        [Rule("fever", PRESSURE), Rule("FEVER", INFARCT)],
        [Rule("fever", PRESSURE, "1"), Rule("fever", "no-concept", "1")],
        [Rule("HA", PRESSURE, expansion="heart attack"), Rule("H.A.", INFARCT, expansion="Heart-attack")],
        [Rule("fever", PRESSURE, "1", start=0, end=5), Rule("fever", INFARCT, "1", start=0, end=5)],
    ],
    ids=str,
)
def test_contradictions_are_rejected(pipeline: Pipeline, rules: Rules) -> None:
    with pytest.raises(InputError, match="corrections-contradict"):
        Corrections(rules, pipeline.kb)


def test_rules_that_say_the_same_do_not_contradict(pipeline: Pipeline) -> None:
    rules = [Rule("fever", PRESSURE), Rule("FEVER", PRESSURE, add=True), Rule("Fever", "omim:608446", "1")]
    assert Corrections(rules, pipeline.kb).describe()["rules"] == 2


def test_unknown_ids_are_rejected(pipeline: Pipeline) -> None:
    rules = [Rule("fever", f"mesh:X{number}", line=number) for number in range(9)]
    with pytest.raises(InputError, match="lines 0, 1, 2, 3, 4 and 4 more") as caught:
        Corrections(rules, pipeline.kb)
    assert caught.value.code == "corrections-unknown"


@pytest.mark.parametrize(
    "wrong",
    [
        {"surface": " "},
        {"surface": "x" * 2_000},
        {"meaning": "fever"},
        {"meaning": "x:" + "y" * 300},
        {"start": 1},
        {"start": 1, "end": 2},
        {"document": "1", "start": 2, "end": 2},
        {"document": "1", "expansion": "x"},
        {"add": True, "meaning": "not-a-mention"},
        {"digest": "0" * 16},
        {"document": "1", "digest": "0"},
        {"comment": "x" * 20_000},
    ],
    ids=lambda wrong: ",".join(wrong),
)
def test_malformed_rules_are_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="corrections-malformed"):
        replace(Rule("fever", FEVER), **wrong)  # type: ignore[arg-type]


def test_rules_and_errors_hide_text() -> None:
    assert "Smith" not in repr(Rule("Smith", FEVER, expansion="Smith", comment="Smith"))


def test_documents_that_fail_stay_failed(pipeline: Pipeline) -> None:
    corrected = pipeline.with_corrections(Corrections([Rule("MI", INFARCT, add=True)], pipeline.kb))
    linked = list(corrected.link_many([Document("1", ""), Document("2", "MI")]))
    assert [link.concept_id for link in linked[1].links] == [INFARCT]
    assert isinstance(linked[1].links[0], Link)
