"""Values for ids."""

from __future__ import annotations

import pytest

from onym.kb import KnowledgeBase
from onym.serve.reconcile.extension import extended


def test_each_id_has_each_property(kb: KnowledgeBase) -> None:
    found = extended(kb, ["mesh:d005334", "no-such-id"], [{"id": "xrefs"}, {"id": "nothing"}])
    assert found["meta"] == [{"id": "xrefs", "name": "cross-references"}, {"id": "nothing", "name": "nothing"}]
    assert found["rows"] == {
        "mesh:d005334": {"xrefs": [{"str": "HP:0001945"}], "nothing": []},
        "no-such-id": {"xrefs": [], "nothing": []},
    }


@pytest.mark.parametrize(
    ("limit", "count"), [(1, 1), ("2", 2), (0, 3), (None, 3), ("x", 3), (-1, 3), (float("inf"), 3), ([], 3)]
)
def test_a_limit(kb: KnowledgeBase, limit: object, count: int) -> None:
    wanted = [{"id": "synonyms", "settings": {"limit": limit}}]
    assert len(extended(kb, ["MESH:D005334"], wanted)["rows"]["MESH:D005334"]["synonyms"]) == count
