"""Tests of mapping pandas and polars columns of terms to concepts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import onym
from onym.errors import InputError
from onym.integrations.dataframes import map_series
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.base import Rank
from onym.methods.exact import ExactLinker
from onym.outputs import map_terms, read_terms
from onym.outputs.mapping import MAPPED_COLUMNS as COLUMNS
from onym.pipeline import Pipeline, build_pipeline
from onym.text.queries import Query

TERMS = ["Pyrexia", None, " fever ", "MI", "", "xyz", "Pyrexia"]


@pytest.fixture
def pipeline(tiny_kb: Path) -> Pipeline:
    return Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))


def values(frame: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a dataframe, with None for nulls."""
    rows = frame.rows() if isinstance(frame, pl.DataFrame) else frame.itertuples(index=False)
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in rows]


def test_maps_polars_series(pipeline: Pipeline) -> None:
    found = map_series(pl.Series("term", TERMS), pipeline)
    assert isinstance(found, pl.DataFrame)
    assert tuple(found.columns) == COLUMNS
    assert found["concept_id"].to_list()[:3] == ["MESH:D005334", None, "MESH:D005334"]
    assert found["preferred_name"].to_list()[0] == "Fever"
    assert found["matched_name"].to_list()[:3] == ["Pyrexia", None, "Fever"]
    assert found["nil_reason"].to_list() == [None, None, None, None, None, "no-candidate", None]
    assert found.schema["score"] == pl.Float64
    assert found.row(1) == found.row(4) == (None,) * len(COLUMNS)


@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_maps_pandas_series_and_keeps_index(pipeline: Pipeline, dtype: Any) -> None:
    index = pd.Index([5, 5, "a", 1, 0, 9, -1])
    found = map_series(pd.Series(TERMS, index, dtype=dtype), pipeline)
    assert isinstance(found, pd.DataFrame)
    assert found.index.equals(index)
    assert values(found) == values(map_series(pl.Series(TERMS), pipeline))
    assert found["score"].dtype == "float64"


@pytest.mark.parametrize("null", [None, float("nan"), pd.NA, pd.NaT])
def test_nulls_stay_nulls(pipeline: Pipeline, null: Any) -> None:
    assert values(map_series(pd.Series([null, "fever"], dtype=object), pipeline))[0] == (None,) * len(COLUMNS)


@pytest.mark.parametrize("series", [pl.Series([], dtype=pl.String), pd.Series([], dtype="string"), pl.Series([None, None])])
def test_empty_columns(pipeline: Pipeline, series: Any) -> None:
    found = map_series(series, pipeline)
    assert (len(found), tuple(found.columns)) == (len(series), COLUMNS)


def test_same_concepts_as_the_command(pipeline: Pipeline, tiny_kb: Path, tmp_path: Path) -> None:
    terms = ["fever", "MI", "xyz", "heart attack"]
    (tmp_path / "t.tsv").write_text("\n".join(["term", *terms]) + "\n")
    for each in (pipeline, build_pipeline(tiny_kb, tmp_path / "pipeline")):
        command = [mapping.answer for mapping in map_terms(read_terms(tmp_path / "t.tsv", "term"), each)]
        found = map_series(pl.Series(terms), each)
        assert found["concept_id"].str.to_lowercase().to_list() == [
            best.concept_id.lower() if best else None for best in command
        ]


def test_concept_filter(pipeline: Pipeline) -> None:
    of_pressure = pipeline.with_filter(concepts=["mesh:D006973"], restrict=True)
    assert map_series(pl.Series(["MI", "fever"]), of_pressure)["concept_id"].to_list() == ["MESH:D006973", None]


def test_repeated_terms_are_linked_once(tiny_kb: Path) -> None:
    seen: list[str] = []

    class Counting(ExactLinker):
        reads_context = True

        def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
            own = super().ranking(top_k, allowed)

            def rank(queries: Sequence[Query]) -> list[Ranked]:
                seen.extend(query.mention.surface for query in queries)
                return own(queries)

            return rank

    map_series(pl.Series(["fever", "MI"] * 50), Pipeline(Counting(KnowledgeBase.open(tiny_kb))))
    assert seen == ["fever", "MI"]


@pytest.mark.parametrize("wrong", [["fever"], "fever", pl.DataFrame({"a": ["fever"]}), None])
def test_rejects_non_series(pipeline: Pipeline, wrong: Any) -> None:
    with pytest.raises(InputError, match="type-series"):
        map_series(wrong, pipeline)


def test_error_for_non_string_names_the_row(pipeline: Pipeline) -> None:
    with pytest.raises(InputError, match="type-text") as caught:
        map_series(pd.Series(["fever", 7], dtype=object), pipeline)
    assert caught.value.where == "row 2"


def test_error_for_failed_term_shows_no_text(tiny_kb: Path) -> None:
    class Failing(ExactLinker):
        def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
            def rank(queries: Sequence[Query]) -> list[Ranked]:
                raise ValueError(queries[0].mention.surface)

            return rank

    with pytest.raises(InputError, match="document-failed") as caught:
        map_series(pl.Series(["patient Smith"]), Pipeline(Failing(KnowledgeBase.open(tiny_kb))))
    assert "Smith" not in str(caught.value)


def test_is_exported_by_onym() -> None:
    assert onym.map_series is map_series
