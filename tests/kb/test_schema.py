"""Tests of the schema that all readers share, and of collecting rows into batches."""

from __future__ import annotations

import pytest

from onym.errors import InputError
from onym.kb import schema
from onym.kb.schema import SCHEMA, Rows
from onym.types import NameKind


def test_rows_survive_batching() -> None:
    rows = Rows()
    rows.add("x:1", name="a", kind=NameKind.PREFERRED, xrefs=["y:1"])
    rows.add("x:2", successors=["x:1"])
    (batch,) = rows.rest()
    assert batch.schema.equals(SCHEMA)
    batch.validate(full=True)
    unknown = dict.fromkeys(SCHEMA.names)
    assert batch.to_pylist() == [
        {**unknown, "concept_id": "x:1", "name": "a", "kind": 0, "xrefs": ["y:1"]},
        {**unknown, "concept_id": "x:2", "successors": ["x:1"]},
    ]
    assert list(rows.rest()) == []


def test_full_yields_a_batch_after_enough_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_BATCH_ROWS", 3)
    rows, sizes = Rows(), []
    for number in range(8):
        rows.add(f"x:{number}")
        sizes += [batch.num_rows for batch in rows.full()]
    assert sizes + [batch.num_rows for batch in rows.rest()] == [3, 3, 2]


def test_only_the_concept_id_is_required() -> None:
    assert [field.name for field in SCHEMA if not field.nullable] == ["concept_id"]


@pytest.mark.parametrize(
    "values", [{"name": "\ud800"}, {"definition": "a\udfffb"}, {"xrefs": ["\udc00"]}, {"semantic_types": ["a", "\ud800"]}]
)
def test_lone_surrogate_is_rejected(values: dict[str, object]) -> None:
    """Found by fuzzing: Python strings can contain lone surrogates, which UTF-8 cannot encode."""
    rows = Rows("a.json")
    rows.add("x:1", **values)
    with pytest.raises(InputError) as e:
        list(rows.rest())
    assert (e.value.code, e.value.where) == ("input-encoding", "a.json")
