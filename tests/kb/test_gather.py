"""Tests of reading all sources in one pass: values are encoded as integers, and dropped rows are counted."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from onym.kb.gather import Batches, Codes, Ids, gather
from onym.kb.recipe import Recipe
from onym.types import silent
from tests.kb.conftest import Builder

COLUMNS = st.lists(st.lists(st.sampled_from(["a:1", "a:2", "b:1"]), min_size=1), min_size=1)


@given(COLUMNS)
def test_ids_are_recovered_from_their_numbers(columns: list[list[str]]) -> None:
    ids = Ids()
    numbers = [number for column in columns for number in ids.of(pl.Series(column)).to_list()]
    assert [ids.column()[number] for number in numbers] == [value for column in columns for value in column]


@given(COLUMNS)
def test_values_are_recovered_from_their_codes(columns: list[list[str]]) -> None:
    codes = Codes()
    numbers = [number for column in columns for number in codes.of(pl.Series(column)).to_list()]
    assert [codes.labels[number] for number in numbers] == [value for column in columns for value in column]
    assert len(codes.labels) == len(set(codes.labels))


def test_batches_are_concatenated() -> None:
    batches = Batches(pl.DataFrame(schema={"a": pl.String}))
    batches.add(pl.DataFrame({"a": ["x"]}))
    batches.add(pl.DataFrame({"a": []}, schema={"a": pl.String}))
    batches.add(pl.DataFrame({"a": ["y", "z"]}))
    assert batches.frame()["a"].to_list() == batches.column("a").to_list() == ["x", "y", "z"]


def test_a_name_without_a_source_gets_the_label_of_the_release(build: Builder) -> None:
    kb = build("id\tname\tsource\na:1\tfever\tMSH\na:1\tpyrexia\t\n")
    assert {term.text: term.sources for term in kb["a:1"].terms} == {"fever": ("MSH",), "pyrexia": ("s0",)}


def test_rows_without_a_concept_id_are_dropped_and_counted(build: Builder) -> None:
    kb = build("id\tname\na:1\tfever\na:\tlost\n")
    assert kb.report()["dropped"] == {"empty concept id": 1}


def test_names_of_other_languages_are_dropped_and_counted(build: Builder) -> None:
    kb = build("id\tname\tlanguage\na:1\tfever\ten\na:1\tFieber\tde\na:1\tfebris\t\n")
    assert set(kb["a:1"].names) == {"fever", "febris"}
    assert kb.report()["dropped"] == {"language": 1}


def test_only_cross_references_to_listed_vocabularies_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\tname\txrefs\nx:1\tFever\tcas:1|umls:2\n")
    recipe = Recipe.of({"sources": [{"path": "a.tsv", "xrefs": ["cas"], "groups": ["Chemical"]}]})
    found = gather(recipe, tmp_path, silent)
    assert found.xrefs.frame().rows() == [("x:1", "cas:1")]
    assert found.groups.frame().rows() == [("x:1", "Chemical")]
    assert found.dropped["cross-reference to another vocabulary"] == 1
