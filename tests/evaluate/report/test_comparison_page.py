"""Tests of the HTML page of a comparison."""

from __future__ import annotations

import re
from dataclasses import replace

from onym.evaluate.evaluation import compare, evaluate
from onym.evaluate.pages import comparison_page
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.methods.exact import ExactLinker
from onym.outputs.predictions import Predictions


def make_page(task: EvaluationTask, names: tuple[str, str]) -> str:
    whole = predict(task, ExactLinker(task.kb))
    silent = Predictions.of((replace(one, answers=()) for one in whole), whole.source)
    one, other = (evaluate(task, each, protocol="any-id") for each in (whole, silent))
    return comparison_page(compare(one, other), (one, other), names, task.kb)


def test_shows_systems_difference_and_exclusive_hits(task: EvaluationTask) -> None:
    page = make_page(task, ("exact.jsonl", "silent.jsonl"))
    assert "+100.0" in page
    assert "McNemar" in page
    assert "Right in exact.jsonl only" in page
    assert "Right in silent.jsonl only" not in page, "it gets nothing right"


def test_file_names_are_escaped_and_ids_are_unique(task: EvaluationTask) -> None:
    page = make_page(task, ("<script>x</script>", "b\x1b"))
    assert "<script" not in page
    assert "\x1b" not in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert sorted(set(ids)) == sorted(ids)
