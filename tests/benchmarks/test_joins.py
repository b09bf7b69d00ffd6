"""Tests of the benchmark that checks merged concepts against cross-references hidden from the build, and against names."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from benchmarks.accuracy.joins import (
    Names,
    add_names,
    by_rule,
    compare,
    count_fused_in_one_source,
    judge_held_out_joins,
    precision,
)

from onym.kb.gather import decide, gather
from onym.kb.recipe import Recipe
from onym.types import silent

MESH = "id\tname\tsynonyms\ttypes\nmesh:1\tfever\tpyrexia\tC23\nmesh:2\tcold\t\tC01\nmesh:3\tcough\t\tC08\n"
MONDO = "id\tname\txrefs\nmondo:1\tfever\tmesh:1\nmondo:2\tcold\tmesh:3\nmondo:3\tcough\t\n"


def test_merge_is_right_if_hidden_cross_reference_confirms_it(tmp_path: Path) -> None:
    for name, table in (("mesh.tsv", MESH), ("mondo.tsv", MONDO)):
        (tmp_path / name).write_text(table)
    recipe = Recipe.of({"sources": [{"path": "mesh.tsv"}, {"path": "mondo.tsv"}], "joins": {"by_name": {"mondo": "both"}}})
    judged = judge_held_out_joins(gather(recipe, tmp_path, silent), recipe, folds=1)
    found = {concept: is_right for concept, _, _, is_right in judged.iter_rows()}
    assert found == {"mondo:1": True, "mondo:2": False, "mondo:3": False}
    assert precision(judged) == round(1 / 3, 4)


def test_counts_concepts_with_two_ids_of_one_vocabulary() -> None:
    schema = {"concept": pl.String, "final": pl.String, "rule": pl.UInt8}
    joins = pl.DataFrame([("mondo:1", "mesh:1", 0), ("chebi:1", "mesh:1", 3)], schema=schema, orient="row")
    assert count_fused_in_one_source(joins) == 0
    assert by_rule(joins) == {"chebi name": 1, "mondo one-to-one": 1}
    more = pl.DataFrame([("mondo:2", "mesh:1", 0), ("mesh:9", "mesh:2", 0)], schema=schema, orient="row")
    assert count_fused_in_one_source(pl.concat([joins, more])) == 2


def test_merges_that_names_contradict_are_found(tmp_path: Path) -> None:
    mesh = "id\tname\tsynonyms\ttypes\nmesh:1\tend-stage\t\tC12\nmesh:2\trenal insufficiency\tchronic kidney diseases\tC12\n"
    mondo = "id\tname\tsynonyms\txrefs\nmondo:1\tkidney disease, chronic\trenal insufficiency\tmesh:1\n"
    for name, table in (("mesh.tsv", mesh), ("mondo.tsv", mondo)):
        (tmp_path / name).write_text(table)
    options = {
        "sources": [{"path": "mesh.tsv"}, {"path": "mondo.tsv"}],
        "groups": True,
        "joins": {"by_name": {"mondo": "first"}},
    }
    recipe = Recipe.of(options)
    found = gather(recipe, tmp_path, silent)
    decisions = decide(found, recipe, found.successors.frame())
    names = Names(found, decisions.groups)
    assert names.contradict("mondo:1", "mesh:1")
    assert not names.contradict("mondo:1", "mesh:2")
    row = ("mondo:1", "kidney disease chronic", "mesh:1", "end stage", "mesh:2", "renal insufficiency")
    assert add_names(decisions.identity.misnamed, found).rows() == [row]


def test_gains_and_losses_are_counted() -> None:
    assert compare([(True, True), (True, False), (False, True), (False, True)]) == {
        "before": 2,
        "after": 3,
        "gained": 2,
        "lost": 1,
    }
