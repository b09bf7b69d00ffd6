"""What a linker process does for the reconciliation service."""

from __future__ import annotations

import json
from typing import Any

from onym.pipeline import Pipeline
from onym.serve.answers import Answers


def test_jobs_are_answered_by_the_pipeline(pipeline: Pipeline) -> None:
    def one(**job: Any) -> Any:
        [(status, body)] = answers.of([job])
        assert status == 200
        return json.loads(body)

    answers = Answers(pipeline)
    query = {"text": "heart attack", "types": [], "is_all": False, "limit": 1, "context": ""}
    assert one(op="reconcile", queries={"q0": query}, precision=0.95)["q0"]["result"][0]["match"] is True
    assert one(op="manifest", base="http://localhost/reconcile", name="Onym", precision=0.9)["matchPrecision"] == 0.9
    assert one(op="suggest", kind="type", prefix="C1", limit=5, skip=0)["result"] == [{"id": "C14", "name": "C14"}]
    assert one(op="suggest", kind="entity", prefix="ague", limit=5, skip=0)["result"][0]["id"] == "MESH:D005334"
    assert one(op="extend", ids=["D005334"], properties=[{"id": "name"}])["rows"]["D005334"]["name"] == [{"str": "Fever"}]


def test_the_release_depends_on_the_calibration_of_terms(pipeline: Pipeline) -> None:
    assert Answers(pipeline).release["release"] != Answers(Pipeline(pipeline.linker, pipeline.detector)).release["release"]
