"""Tests of reconciliation jobs in linker processes: matches, scores, types, suggestions, and the manifest."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InternalError
from onym.kb import KnowledgeBase
from onym.pipeline import Pipeline, PipelineOptions
from onym.serve.answers import JobRunner
from onym.serve.reconcile.matching import (
    Matcher,
    SemanticTypes,
    as_type,
    display_scores,
    manifest_of,
    suggest_entities,
    suggest_types,
)
from onym.types import Candidate, Document, LinkedDocument, Problem
from tests.serve.reconcile.conftest import HOSTILE


def first(matcher: Matcher, text: str, precision: float = 0.95, **query: Any) -> dict[str, Any] | None:
    result = matcher.of({"q0": {"text": text, **query}}, precision)["q0"]["result"]
    return result[0] if result else None


@pytest.fixture(scope="module")
def matcher(pipeline: Pipeline) -> Matcher:
    return Matcher(pipeline)


def test_confident_candidate_is_a_match(matcher: Matcher) -> None:
    found = first(matcher, "heart attack")
    assert found is not None
    assert (found["id"], found["name"], found["match"]) == ("MESH:D009203", "Myocardial Infarction", True)
    assert 95 <= found["score"] <= 100
    assert found["type"] == [{"id": "Disease", "name": "Disease"}]


def test_no_match_below_the_threshold_of_the_precision(matcher: Matcher) -> None:
    fine, typo = first(matcher, "fever"), first(matcher, "fevr")
    assert fine is not None
    assert typo is not None
    assert (fine["match"], typo["match"], typo["id"]) == (True, False, "MESH:D005334")
    least = matcher.least_confidence(0.95)
    assert least is not None
    assert typo["score"] / 100 < least <= fine["score"] / 100
    unreachable, any_match = first(matcher, "fever", 0.9999), first(matcher, "fevr", 0.01)
    assert unreachable is not None
    assert any_match is not None
    assert (matcher.least_confidence(0.9999), unreachable["match"], any_match["match"]) == (None, False, True)


def test_matches_have_the_precision_together(pipeline: Pipeline, matcher: Matcher) -> None:
    assert pipeline.term_calibration is not None
    reached = pipeline.term_calibration.calibration.curve.at(0.8)
    assert reached.is_reached
    assert matcher.least_confidence(0.8) == reached.threshold
    assert matcher.least_confidence(0.8) < 0.8  # type: ignore[operator]


def test_a_tie_is_never_a_match(matcher: Matcher) -> None:
    found = matcher.of({"q0": {"text": "MI"}}, 0.01)["q0"]["result"]
    assert {each["id"] for each in found[:2]} == {"MESH:D009203", "MESH:D006973"}
    assert found[0]["score"] == found[1]["score"]
    assert not any(each["match"] for each in found)


def test_no_match_without_term_calibration(pipeline: Pipeline) -> None:
    for bare in (Pipeline(pipeline.linker), Pipeline(pipeline.linker, calibration=_make_calibration(pipeline))):
        matcher = Matcher(bare)
        found = first(matcher, "fever", 0.01)
        assert not matcher.is_calibrated
        assert found is not None
        assert (found["score"], found["match"]) == (100.0, False)


def _make_calibration(pipeline: Pipeline) -> Any:
    """Return a calibration for mentions detected in texts, which does not apply to terms."""
    assert pipeline.term_calibration is not None
    return pipeline.term_calibration.model_copy(update={"mentions": "found"})


def test_service_precision_hides_no_candidate(pipeline: Pipeline) -> None:
    options = PipelineOptions(precision=0.9, coverage=0.5)
    strict = Pipeline(pipeline.linker, options=options, calibration=pipeline.term_calibration)
    assert len(Matcher(strict).of({"q0": {"text": "MI"}}, 0.95)["q0"]["result"]) == 2


def test_type_filter(matcher: Matcher) -> None:
    other = matcher.of({"q": {"text": "fever", "types": ["c14"]}}, 0.01)["q"]["result"]
    assert not any(each["match"] or each["id"] == "MESH:D005334" for each in other)
    for types, is_all, is_there in (
        (["C23"], False, True),
        (["c23", "Planet"], False, True),
        (["C23", "Disease"], True, True),
        (["C23", "Planet"], True, False),
        (["Planet"], False, False),
    ):
        assert (first(matcher, "fever", types=types, is_all=is_all) is not None) is is_there


def test_context_expands_abbreviations(matcher: Matcher) -> None:
    found = first(matcher, "HA", context="A heart attack (HA) last year")
    assert found is not None
    assert found["id"] == "MESH:D009203"


def test_answers_each_query(matcher: Matcher) -> None:
    texts = ["fever", "", "zzz", "\x00", "fever " * 160, "Fever"]
    found = matcher.of({str(row): {"text": text} for row, text in enumerate(texts)}, 0.95)
    assert list(found) == [str(row) for row in range(len(texts))]
    assert (found["1"], found["2"]) == ({"result": []}, {"result": []})
    assert found["0"] == found["5"]
    cut = matcher.of({str(limit): {"text": "MI", "limit": limit} for limit in (None, 1, 0)}, 0.95)
    assert cut["1"]["result"] == cut["None"]["result"][:1]
    assert cut["0"]["result"] == []


def test_internal_error_is_raised(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = Matcher(pipeline)
    monkeypatch.setattr("onym.pipeline.link.Linking.link", lambda _, documents: list(_fail_documents(documents)))
    with pytest.raises(InternalError):
        first(matcher, "fever")


def _fail_documents(documents: Iterable[Document]) -> Iterator[LinkedDocument]:
    for doc in documents:
        yield LinkedDocument(doc, problems=(Problem(doc.id, "internal-error", "ZeroDivisionError"),))


def candidates(*scores: float) -> list[Candidate]:
    return [Candidate(f"made:{row}", "name", score) for row, score in enumerate(scores)]


def test_first_score_is_confidence_and_rest_is_shared() -> None:
    assert display_scores(candidates(0.9, 0.5, 0.4), 0.6) == [60.0, 20.0, 10.0]
    assert display_scores(candidates(0.9, 0.5), 0.1) == [10.0, 5.0]
    assert display_scores(candidates(1.0, 1.0, 0.4), 0.5) == [50.0, 50.0, 12.5]
    assert display_scores(candidates(0.9), 0.94999999) == [94.99]  # rounded down: a score is never higher than the confidence
    assert display_scores([], None) == []


def test_without_confidence_uses_linker_scores() -> None:
    assert display_scores(candidates(7.0, 0.5, -0.1, -1e9), None) == [100.0, 50.0, 50.0, 0.0]
    assert display_scores(candidates(math.log(0.25), math.nan), None) == [25.0, 0.0]


@given(st.lists(st.floats(-50, 5), max_size=9), st.none() | st.floats(0, 1))
def test_scores_are_descending_percentages(scores: list[float], confidence: float | None) -> None:
    shown = display_scores(candidates(*sorted(scores, reverse=True)), confidence)
    assert shown == sorted(shown, reverse=True)
    assert all(0 <= each <= 100 for each in shown)


def test_groups_come_first_and_case_is_ignored(kb: KnowledgeBase) -> None:
    types = SemanticTypes(kb)
    assert types.default() == ["Disease", "Phenotype"]
    assert types.select_known(["disease", "c14", "Planet"]) == ["Disease", "C14"]
    assert types.beginning("") == ["C14", "C23", "Disease", "Phenotype"]
    assert types.beginning("E") == ["Disease", "Phenotype"]
    assert types.beginning("planet") == []
    assert as_type("C14") == {"id": "C14", "name": "C14"}


def test_candidate_types_can_be_used_as_filter(kb: KnowledgeBase, tiny_kb: Path) -> None:
    with_groups, without = SemanticTypes(kb), SemanticTypes(KnowledgeBase.open(tiny_kb))
    fever = Candidate("mesh:D005334", "fever", 1.0, "Fever", "Disease")
    assert (with_groups.of(fever), without.of(fever)) == (["Disease"], ["C23"])
    assert without.select_known(without.of(fever)) == ["C23"]


def test_suggests_entities_by_id_name_prefix_and_words(kb: KnowledgeBase) -> None:
    for text in ("D005334", "mesh:d005334", "fever", "pyrex", "ague"):
        assert suggest_entities(kb, text, 5)[0] == {
            "id": "MESH:D005334",
            "name": "Fever",
            "notable": [{"id": "Disease", "name": "Disease"}, {"id": "Phenotype", "name": "Phenotype"}],
            "description": f"Parents: {HOSTILE}; Hypertension. A rise of temperature.",
        }
    assert "description" not in suggest_entities(kb, "blood pressure", 5)[0]
    assert suggest_entities(kb, "", 5) == suggest_entities(kb, "\x00", 5) == []


def test_cursor_skips_suggestions(kb: KnowledgeBase) -> None:
    both = suggest_entities(kb, "MI", 5)
    assert [each["id"] for each in both[:2]] == ["MESH:D006973", "MESH:D009203"]
    assert suggest_entities(kb, "MI", 5, 1) == both[1:]
    assert suggest_entities(kb, "MI", 1) == both[:1]
    assert suggest_types(kb, "", 2, 1) == suggest_types(kb, "", 5)[1:3]


BASE = "https://example.org/reconcile/secret"


def test_manifest_urls_start_with_base(kb: KnowledgeBase) -> None:
    found = manifest_of(BASE, "Onym", SemanticTypes(kb), 0.9)
    assert found["view"]["url"] == found["preview"]["url"] == f"{BASE}/preview?id={{{{id}}}}"
    assert {each["service_url"] for each in found["suggest"].values()} == {BASE}
    assert found["extend"]["propose_properties"] == {"service_url": BASE, "service_path": "/extend/propose"}
    assert (found["name"], found["matchPrecision"]) == ("Onym", 0.9)


def test_manifest_name_says_if_not_calibrated(kb: KnowledgeBase) -> None:
    found = manifest_of(BASE, "Onym", SemanticTypes(kb), None)
    assert found["name"] == "Onym (not calibrated: no automatic matches)"
    assert found["matchPrecision"] is None


def test_job_runner_answers_reconcile_jobs(pipeline: Pipeline) -> None:
    def one(**job: Any) -> Any:
        [(status, body)] = answers.of([job])
        assert status == 200
        return json.loads(body)

    answers = JobRunner(pipeline)
    query = {"text": "heart attack", "types": [], "is_all": False, "limit": 1, "context": ""}
    assert one(op="reconcile", queries={"q0": query}, precision=0.95)["q0"]["result"][0]["match"] is True
    assert one(op="manifest", base="http://localhost/reconcile", name="Onym", precision=0.9)["matchPrecision"] == 0.9
    assert one(op="suggest", kind="type", prefix="C1", limit=5, skip=0)["result"] == [{"id": "C14", "name": "C14"}]
    assert one(op="suggest", kind="entity", prefix="ague", limit=5, skip=0)["result"][0]["id"] == "MESH:D005334"
    assert one(op="extend", ids=["D005334"], properties=[{"id": "name"}])["rows"]["D005334"]["name"] == [{"str": "Fever"}]


def test_release_depends_on_term_calibration(pipeline: Pipeline) -> None:
    assert JobRunner(pipeline).release["release"] != JobRunner(Pipeline(pipeline.linker, pipeline.detector)).release["release"]
