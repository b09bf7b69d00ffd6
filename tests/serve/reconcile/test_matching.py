"""Which candidates terms have, and when one of them is a match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from onym.errors import InternalError
from onym.pipeline import Pipeline
from onym.serve.reconcile.matching import Matcher
from onym.types import Document, LinkedDocument, Problem


def first(matcher: Matcher, text: str, precision: float = 0.95, **query: Any) -> dict[str, Any] | None:
    result = matcher.of({"q0": {"text": text, **query}}, precision)["q0"]["result"]
    return result[0] if result else None


@pytest.fixture(scope="module")
def matcher(pipeline: Pipeline) -> Matcher:
    return Matcher(pipeline)


def test_a_confident_candidate_is_a_match(matcher: Matcher) -> None:
    found = first(matcher, "heart attack")
    assert found is not None
    assert (found["id"], found["name"], found["match"]) == ("MESH:D009203", "Myocardial Infarction", True)
    assert 95 <= found["score"] <= 100
    assert found["type"] == [{"id": "Disease", "name": "Disease"}]


def test_what_is_less_confident_than_the_precision_is_none(matcher: Matcher) -> None:
    fine, typo = first(matcher, "fever"), first(matcher, "fevr")
    assert fine is not None
    assert typo is not None
    assert (fine["match"], typo["match"], typo["id"]) == (True, False, "MESH:D005334")
    lower, higher = (first(matcher, "fevr", precision / 100) for precision in (typo["score"] - 0.1, typo["score"] + 0.1))
    assert lower is not None
    assert higher is not None
    assert (lower["match"], higher["match"]) == (True, False)


def test_a_tie_is_never_a_match(matcher: Matcher) -> None:
    found = matcher.of({"q0": {"text": "MI"}}, 0.01)["q0"]["result"]
    assert {each["id"] for each in found[:2]} == {"MESH:D009203", "MESH:D006973"}
    assert found[0]["score"] == found[1]["score"]
    assert not any(each["match"] for each in found)


def test_without_a_calibration_of_terms_nothing_is_a_match(pipeline: Pipeline) -> None:
    for bare in (Pipeline(pipeline.linker), Pipeline(pipeline.linker, calibration=_found(pipeline))):
        matcher = Matcher(bare)
        found = first(matcher, "fever", 0.01)
        assert not matcher.is_calibrated
        assert found is not None
        assert (found["score"], found["match"]) == (100.0, False)


def _found(pipeline: Pipeline) -> Any:
    """Return a calibration of mentions that were found in texts: it says nothing of terms."""
    assert pipeline.term_calibration is not None
    return pipeline.term_calibration.model_copy(update={"mentions": "found"})


def test_the_precision_of_the_service_hides_no_candidate(pipeline: Pipeline) -> None:
    strict = Pipeline(pipeline.linker, calibration=pipeline.term_calibration, precision=0.9, coverage=0.5)
    assert len(Matcher(strict).of({"q0": {"text": "MI"}}, 0.95)["q0"]["result"]) == 2


def test_types_leave_candidates_out(matcher: Matcher) -> None:
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


def test_the_context_tells_abbreviations_apart(matcher: Matcher) -> None:
    found = first(matcher, "HA", context="A heart attack (HA) last year")
    assert found is not None
    assert found["id"] == "MESH:D009203"


def test_each_query_has_its_own_answer_whatever_it_is(matcher: Matcher) -> None:
    texts = ["fever", "", "zzz", "\x00", "fever " * 160, "Fever"]
    found = matcher.of({str(row): {"text": text} for row, text in enumerate(texts)}, 0.95)
    assert list(found) == [str(row) for row in range(len(texts))]
    assert (found["1"], found["2"]) == ({"result": []}, {"result": []})
    assert found["0"] == found["5"]
    cut = matcher.of({str(limit): {"text": "MI", "limit": limit} for limit in (None, 1, 0)}, 0.95)
    assert cut["1"]["result"] == cut["None"]["result"][:1]
    assert cut["0"]["result"] == []


def test_a_bug_is_an_error_and_not_an_empty_answer(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = Matcher(pipeline)
    monkeypatch.setattr("onym.pipeline.pipeline.link_among", lambda _, documents, **__: _broken(documents))
    with pytest.raises(InternalError):
        first(matcher, "fever")


def _broken(documents: Iterable[Document]) -> Iterator[LinkedDocument]:
    for doc in documents:
        yield LinkedDocument(doc, problems=(Problem(doc.id, "internal-error", "ZeroDivisionError"),))
