"""Tests of the suite `attacks`: each attack is repelled on a knowledge base of three concepts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from tests.robustness.attacks.rows import Attack, Place, find_attacks
from tests.robustness.serve.browser import missing


def test_attacks_have_unique_names() -> None:
    rows = find_attacks()
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.what for row in rows)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in find_attacks()])
def test_attack_is_repelled(row: Attack, tmp_path: Path, tiny_kb: Path) -> None:
    if row.needs_browser and (why := missing()) and not os.environ.get("CI"):
        pytest.skip(why)
    row.check(Place(tmp_path, KnowledgeBase.open(tiny_kb)))
