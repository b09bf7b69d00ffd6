"""Tests of counting the gold mentions whose ids or names are in a knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets.report import KbCoverage
from onym.kb import KnowledgeBase
from onym.types import Mention


@pytest.mark.parametrize(
    ("surface", "ids", "in_kb", "kb_name"),
    [
        ("Heart-Attack", ("mesh:D009203",), True, True),
        ("Heart-Attack", ("omim:608446",), True, True),
        ("heart attack", ("mesh:D005334",), True, False),
        ("heart attack", ("mesh:D009203", "mesh:D000000"), False, True),
        ("MI", ("mesh:D006973",), True, True),
        ("MI", ("mesh:D000000",), False, False),
    ],
)
def test_checks_gold_ids_and_names_in_kb(tiny_kb: Path, surface: str, ids: tuple[str, ...], in_kb: bool, kb_name: bool) -> None:
    coverage, mention = KbCoverage(KnowledgeBase.open(tiny_kb)), Mention(0, len(surface), surface, ids)
    for _ in range(2):
        assert (coverage.is_in_kb(mention), coverage.is_kb_name(mention)) == (in_kb, kb_name)
