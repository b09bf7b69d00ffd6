"""Gold mentions against a knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets.reach import Reach
from onym.kb import KnowledgeBase
from onym.types import Mention


@pytest.mark.parametrize(
    ("surface", "ids", "reachable", "named"),
    [
        ("Heart-Attack", ("mesh:D009203",), True, True),
        ("Heart-Attack", ("omim:608446",), True, True),
        ("heart attack", ("mesh:D005334",), True, False),
        ("heart attack", ("mesh:D009203", "mesh:D000000"), False, True),
        ("MI", ("mesh:D006973",), True, True),
        ("MI", ("mesh:D000000",), False, False),
    ],
)
def test_reachable_and_named(tiny_kb: Path, surface: str, ids: tuple[str, ...], reachable: bool, named: bool) -> None:
    reach, mention = Reach(KnowledgeBase.open(tiny_kb)), Mention(0, len(surface), surface, ids)
    for _ in range(2):
        assert (reach.is_reachable(mention), reach.is_named(mention)) == (reachable, named)
