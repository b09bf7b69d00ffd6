"""Tests of the replies of a linker process to each kind of job, with a real pipeline."""

from __future__ import annotations

import io
import json
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from onym.corpora.plain import from_plain_linked, to_plain_linked
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.methods import linker_config, open_linker
from onym.outputs.predictions import schema
from onym.pipeline import Pipeline, build_pipeline
from onym.serve.answers import JobRunner
from onym.serve.routes import workbook as route
from onym.serve.routes.concepts import ConceptReply, SearchReply
from onym.serve.routes.link import LinkedReply
from onym.serve.routes.terms import MapReply
from onym.serve.routes.workbook import WorkbookReply
from onym.store.files.xlsx import write_xlsx
from onym.types import Document, Mention
from tests.support.models import save_reranker

TEXT = "High fever, no heart attack."
SECRET = "patient Smith"


@pytest.fixture(scope="module")
def pipeline(tiny_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return build_pipeline(tiny_kb, tmp_path_factory.mktemp("serve") / "pipeline")


@pytest.fixture(scope="module")
def answers(pipeline: Pipeline) -> JobRunner:
    return JobRunner(pipeline)


def one(answers: JobRunner, **job: Any) -> tuple[int, Any]:
    [(status, body)] = answers.of([job])
    return status, json.loads(body)


def test_text_reply_equals_command_output(answers: JobRunner, pipeline: Pipeline) -> None:
    status, found = one(answers, op="link", text=TEXT)
    assert (status, found) == (200, pipeline.link(TEXT).to_dict())
    assert LinkedReply.model_validate(found).links[0].concept_id == "MESH:D005334"


def test_a_filter_of_terms_ignores_other_concepts_as_onym_map_does(pipeline: Pipeline) -> None:
    similar = JobRunner(Pipeline(open_linker("tfidf", pipeline.kb)))
    mention = {"start": 0, "end": 12}
    _, linked = one(similar, op="link", document={"id": "1", "text": "fever attack", "mentions": [mention]}, types=["C14"])
    _, mapped = one(similar, op="map", terms=["fever attack"], types=["C14"])
    assert (linked["links"][0]["nil_reason"], mapped["rows"][0]["nil_reason"]) == ("filtered-out", None)
    assert mapped["rows"][0]["concept_id"] == "MESH:D009203"


def test_assertion_can_be_switched_off_for_a_request(answers: JobRunner) -> None:
    def marks(**options: Any) -> list[str | None]:
        return [link["assertion"] for link in one(answers, op="link", text=TEXT, **options)[1]["links"]]

    assert marks() == marks(assertion=True) == marks(assertion=None) == [None, "negated"]
    assert marks(assertion=False) == [None, None]


def test_document_reply_equals_linked_document_format(answers: JobRunner, pipeline: Pipeline) -> None:
    document = Document("d1", "Fever, pyrexia", (Mention(7, 14, "pyrexia", type="Disease"),))
    plain = {"id": "d1", "text": document.text, "mentions": [{"start": 7, "end": 14, "type": "Disease"}]}
    status, found = one(answers, op="link", document=plain, format="document")
    assert (status, found) == (200, to_plain_linked(pipeline.link(document)))
    jsonschema.validate(found, schema("linked-document-2"))
    assert from_plain_linked(found, "answer").links[0].concept_id == "mesh:D005334"


def test_explanations_equal_command_output(answers: JobRunner, pipeline: Pipeline) -> None:
    status, found = one(answers, op="link", text=TEXT, explain=True, top_k=1)
    explained = json.loads(json.dumps([each.as_dict() for each in pipeline.explain(TEXT)]))
    assert (status, found["explanations"]) == (200, explained)
    assert [each["matched_name"] for each in explained] == [link["matched_name"] for link in found["links"]]
    assert LinkedReply.model_validate(found).explanations[0].reasons
    assert not {"explanations", "rejections"} & set(one(answers, op="link", text=TEXT)[1])


def test_rejected_names_have_a_reason(answers: JobRunner) -> None:
    _, found = one(answers, op="link", text="Fever, no MI.", explain=True)
    (rejected,) = LinkedReply.model_validate(found).rejections
    assert (rejected.start, rejected.text, rejected.rejected) == (10, "MI", "too-short")


def test_top_k_limits_candidates(answers: JobRunner) -> None:
    _, found = one(answers, op="link", document={"id": "1", "text": "MI", "mentions": [{"start": 0, "end": 2}]})
    _, cut = one(answers, op="link", document={"id": "1", "text": "MI", "mentions": [{"start": 0, "end": 2}]}, top_k=1)
    assert len(found["links"][0]["candidates"]) == 2
    assert cut["links"][0]["candidates"] == found["links"][0]["candidates"][:1]
    assert cut["links"][0]["ties"] == found["links"][0]["ties"] == 1


def test_type_filter(answers: JobRunner) -> None:
    _, found = one(answers, op="link", text=TEXT, types=["C14"])
    assert [link["concept_id"] for link in found["links"]] == [None, "MESH:D009203"]
    assert one(answers, op="link", text=TEXT, types=[SECRET]) == (
        422,
        {"error": {**dict.fromkeys(("where", "fix"), ""), **_filter_unknown()}},
    )


@pytest.fixture(scope="module")
def branches(branch_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> JobRunner:
    folder = tmp_path_factory.mktemp("branches")
    build_pipeline(branch_kb, folder)
    return JobRunner.open(str(folder), {"options": {"not_under": ["D006261"], "mapped": False}})


def test_branch_filter(branches: JobRunner) -> None:
    text = "Fever, headache, breast cancer, brain cancer and made sarcoma."

    def ids(**options: Any) -> list[str]:
        status, found = one(branches, op="link", text=text, **options)
        assert status == 200
        return [link["concept_id"].removeprefix("MESH:") for link in found["links"] if link["concept_id"]]

    assert ids() == ["D005334", "D001943", "D009423", "C000001"], "headache is excluded for all requests"
    assert ids(under=["D009369"]) == ["D001943", "D009423"]
    assert ids(under=["D009369"], mapped=True) == ["D001943", "D009423", "C000001"]
    assert ids(under=["D009369"], not_under=["D009422"]) == ["D001943"]
    assert ids(under=["D009369"], types=["C10"]) == ["D009423"]
    status, mapped = one(branches, op="map", terms=["Fever", "Cancer"], under=["D009369"])
    assert (status, [row["concept_id"] for row in mapped["rows"]]) == (200, [None, "MESH:D009369"])


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"under": [SECRET]}, 404, "concept-unknown"),
        ({"under": ["D006261"]}, 422, "filter-empty"),
    ],
)
def test_branch_errors_have_no_values(branches: JobRunner, options: dict[str, Any], status: int, code: str) -> None:
    refused, body = one(branches, op="link", text="fever", **options)
    assert (refused, body["error"]["code"]) == (status, code)
    assert SECRET not in json.dumps(body)


def test_branch_without_a_hierarchy(answers: JobRunner) -> None:
    status, refused = one(answers, op="link", text=TEXT, under=["D005334"])
    assert (status, refused["error"]["code"]) == (422, "hierarchy-missing")
    assert "again" in refused["error"]["fix"]


def _filter_unknown() -> dict[str, str]:
    what, fix = "no concept has one of these semantic types", "onym kb types KB lists the groups and types"
    return {"code": "filter-unknown", "what": what, "fix": fix}


def test_map_terms(answers: JobRunner) -> None:
    status, found = one(answers, op="map", terms=["MI", None, "xyz", "MI"])
    rows = MapReply.model_validate(found).rows
    assert status == 200
    assert [(row.term, row.nil_reason) for row in rows] == [("MI", None), (None, None), ("xyz", "no-candidate"), ("MI", None)]


def test_concept_lookup(answers: JobRunner) -> None:
    status, found = one(answers, op="concept", id="D005334")
    assert (status, ConceptReply.model_validate(found).id, found["parents"]) == (200, "MESH:D005334", [])
    status, refused = one(answers, op="concept", id=SECRET)
    assert (status, refused["error"]["code"]) == (404, "concept-unknown")
    assert "Smith" not in json.dumps(refused)


def test_replies_have_parents_and_successors(tmp_path: Path) -> None:
    terms = ("id: X:1\nname: heat\n", "id: X:2\nname: fever\nis_a: X:1\n", "id: X:3\nis_obsolete: true\nconsider: X:2\n")
    obo = "".join(f"[Term]\n{term}\n" for term in terms)
    (tmp_path / "x.obo").write_text(obo)
    build_kb(Recipe.of({"sources": [{"path": "x.obo"}]}), tmp_path / "kb", root=tmp_path)
    answers = JobRunner(build_pipeline(tmp_path / "kb", tmp_path / "pipeline"))
    status, found = one(answers, op="concept", id="X:2")
    parent = {"id": "X:1", "name": "heat", "kind": "is a", "source": "x"}
    assert (status, ConceptReply.model_validate(found).model_dump()["parents"]) == (200, [parent])
    _, linked = one(answers, op="link", text="A fever.", explain=True)
    assert LinkedReply.model_validate(linked).model_dump()["explanations"][0]["parents"] == {"X:2": [parent]}
    _, mapped = one(answers, op="map", terms=["fever", "heat"], candidates=2)
    rows = MapReply.model_validate(mapped).model_dump()["rows"]
    assert [[each["parents"] for each in row["candidates"]] for row in rows] == [[[parent]], [[]]]
    status, refused = one(answers, op="concept", id="X:3")
    assert (status, refused["error"]["code"], refused["error"]["fix"]) == (
        404,
        "concept-retired",
        "use a successor: consider x:2",
    )


def test_replies_without_a_hierarchy_have_no_parents(answers: JobRunner) -> None:
    _, mapped = one(answers, op="map", terms=["fever"], candidates=2)
    assert "parents" not in mapped["rows"][0]["candidates"][0]
    assert one(answers, op="link", text=TEXT, explain=True)[1]["explanations"][0]["parents"] == {}


def test_search(answers: JobRunner) -> None:
    status, found = one(answers, op="search", q="blood pressure", limit=1)
    assert (status, [hit.id for hit in SearchReply.model_validate(found).hits]) == (200, ["MESH:D006973"])
    assert one(answers, op="search", q="zzz", limit=1) == (200, {"hits": []})


def test_precision_without_calibration_is_an_error(answers: JobRunner) -> None:
    status, refused = one(answers, op="link", text=TEXT, precision=0.9)
    assert (status, "code" in refused["error"]) == (422, True)


def test_mixed_jobs_are_answered_in_order(answers: JobRunner) -> None:
    jobs: list[dict[str, Any]] = [
        {"op": "link", "text": "fever"},
        {"op": "concept", "id": "nothing"},
        {"op": "link", "text": "fever", "types": ["C14"]},
        {"op": "link", "document": {"text": 7}},
        {"op": "link", "text": "heart attack"},
        {"op": "map", "terms": []},
        {"op": "link", "document": {"id": "1", "text": "fever", "mentions": [{"start": 0, "end": 99}]}},
    ]
    together = answers.of(jobs)
    assert together == [answers.of([job])[0] for job in jobs]
    assert [status for status, _ in together] == [200, 404, 200, 400, 200, 200, 400]


def test_other_exceptions_become_codes_without_text(answers: JobRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise ValueError(SECRET)

    monkeypatch.setattr(Pipeline, "run_steps", fail)
    status, refused = one(answers, op="link", text=SECRET)
    assert (status, refused["error"]["code"]) == (500, "internal-error")
    assert "Smith" not in json.dumps(refused)


def test_failing_detector_is_an_error_without_text(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = build_pipeline(tiny_kb, tmp_path / "pipeline")

    def fail(*_: object, **__: object) -> Any:
        raise ValueError(SECRET)

    assert own.detector
    monkeypatch.setattr(type(own.detector), "detect", fail)
    status, refused = one(JobRunner(own), op="link", text=SECRET)
    assert status == 500
    assert "Smith" not in json.dumps(refused)


def test_release_depends_on_kb_and_options(answers: JobRunner, pipeline: Pipeline) -> None:
    assert answers.release["kb"] == pipeline.kb.digest
    assert answers.release != JobRunner(pipeline.with_threshold(0.5)).release
    answers.warm_up()


def test_warm_up_builds_similarity_weights(tiny_kb: Path, tmp_path: Path) -> None:
    model = save_reranker(tmp_path / "model")
    pipeline = build_pipeline(tiny_kb, tmp_path / "pipeline", linker=linker_config("rerank", model=model))
    similarity = pipeline.linker.parts.similarity  # type: ignore[attr-defined]
    answers = JobRunner(pipeline)
    assert "_columns" not in similarity.__dict__
    answers.warm_up()
    assert "_columns" in similarity.__dict__


def test_mapped_rows_have_candidates_if_requested(answers: JobRunner) -> None:
    terms = ["fever", None, "zzz", "fever"]
    plain = one(answers, op="map", terms=terms)[1]["rows"]
    status, found = one(answers, op="map", terms=terms, candidates=1)
    assert status == 200
    assert MapReply.model_validate(found)
    assert [{key: row[key] for key in plain[0]} for row in found["rows"]] == plain
    assert [[each["concept_id"] for each in row["candidates"]] for row in found["rows"]] == [
        ["MESH:D005334"],
        [],
        [],
        ["MESH:D005334"],
    ]


def workbook(*rows: tuple[str, ...]) -> str:
    book = io.BytesIO()
    write_xlsx(rows[1:], rows[0], book)
    return b64encode(book.getvalue()).decode()


def test_workbook_rows_without_empty_ones(answers: JobRunner) -> None:
    content = workbook(("code", "term"), ("1", "fever"), ("", ""), ("2", ""))
    status, found = one(answers, op="workbook", content=content)
    assert (status, WorkbookReply.model_validate(found).rows) == (200, [["code", "term"], ["1", "fever"], ["2", ""]])


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (SECRET, 400, "request-malformed"),
        (b64encode(SECRET.encode()).decode(), 422, "archive-corrupt"),
        (workbook(("a",) * 100, *[("x",) * 100] * 2), 413, "xlsx-limit"),
    ],
)
def test_rejects_invalid_workbook(
    answers: JobRunner, monkeypatch: pytest.MonkeyPatch, content: str, status: int, code: str
) -> None:
    monkeypatch.setattr(route, "MAX_CELLS", 250)
    found = one(answers, op="workbook", content=content)
    assert (found[0], found[1]["error"]["code"]) == (status, code)
    assert found[1]["error"]["where"] in ("the body", "the workbook")
    assert "Smith" not in str(found)


def test_missing_openpyxl_error_names_the_extra(answers: JobRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    content = workbook(("a",), ("x",))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    status, found = one(answers, op="workbook", content=content)
    assert (status, found["error"]["code"]) == (422, "extra-missing")
    assert "onym[serve]" in found["error"]["fix"]
