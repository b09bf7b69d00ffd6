"""Tests of converting frames to batches of the schema."""

from __future__ import annotations

import polars as pl

from onym.kb.readers._shared import bar_list, batches, kind, omim_numbers
from onym.kb.schema import SCHEMA
from onym.types import NameKind


def test_missing_columns_are_null() -> None:
    frame = pl.DataFrame({"xrefs": [["a:1"], None], "concept_id": ["x:1", "x:2"], "other": [1, 2]})
    (batch,) = batches(frame)
    assert batch.schema.equals(SCHEMA)
    assert batch.to_pylist()[0] == {**dict.fromkeys(SCHEMA.names), "concept_id": "x:1", "xrefs": ["a:1"]}


def test_an_empty_frame_has_no_batch() -> None:
    assert list(batches(pl.DataFrame({"concept_id": []}, schema={"concept_id": pl.String}))) == []


def test_frames_of_several_chunks() -> None:
    part = pl.DataFrame({"concept_id": ["x:1"], "name": ["a"]})
    frame = pl.concat([part, part, part], rechunk=False).with_columns(kind(NameKind.EXACT))
    assert [row["kind"] for batch in batches(frame) for row in batch.to_pylist()] == [1, 1, 1]


def test_lists_in_cells() -> None:
    frame = pl.DataFrame({"cell": ["a|| b |", "", " |", None]})
    assert frame.select(bar_list("cell"))["cell"].to_list() == [["a", "b"], [], [], None]


def test_bare_numbers_are_omim_ids() -> None:
    frame = pl.DataFrame({"ids": [["613097", "1", "D1", "1a", "٣"]]})
    assert frame.select(pl.col("ids").list.eval(omim_numbers()))["ids"].to_list() == [
        ["omim:613097", "omim:1", "D1", "1a", "٣"]
    ]
