"""Tests of comparing two releases of a knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.diff import diff
from onym.kb.recipe import Recipe
from tests.kb.conftest import Builder

OLD = "id\tname\na:1\tsame\na:2\told name\na:3\tto be merged\na:4\tto be retired\na:5\tto vanish\n"
NEW = (
    "id\tname\tkind\treplaced_by\n"
    "a:1\tsame\tpreferred\t\na:2\tnew name\tpreferred\t\na:6\tadded\tpreferred\t\n"
    "a:3\tgone\tretired\ta:7\na:7\tgone too\tretired\ta:1\na:4\tgone\tretired\t\n"
)


def test_each_kind_of_change(build: Builder) -> None:
    change = diff(build(OLD, dest="old"), build(NEW, dest="new"))
    assert change.added.rows() == [("a:6", "added")]
    assert change.renamed.rows() == [("a:2", "old name", "new name")]
    assert change.merged.rows() == [("a:3", "to be merged", "a:1")]
    assert change.retired.rows() == [("a:4", "to be retired")]
    assert change.removed.rows() == [("a:5", "to vanish")]
    assert change.counts()["names_added"] == 2
    assert change.counts()["names_removed"] == 4


@pytest.mark.real_data
def test_two_releases_of_hpo(real_data: Path, tmp_path: Path) -> None:
    kbs = []
    for release in ("2025-01-16", "2026-02-16"):
        build_kb(Recipe.of({"sources": [{"path": f"ontologies/hp-{release}.obo.gz"}]}), tmp_path / release, root=real_data)
        kbs.append(KnowledgeBase.open(tmp_path / release))
    old, new = kbs
    assert (len(new), new.manifest.counts["definitions"]) == (19_389, 16_905)
    change = diff(old, new)
    gone = change.merged.height + change.retired.height + change.removed.height
    assert len(old) - gone + change.added.height == len(new)
    assert change.removed.height == 0
    assert all(new.resolve(row["id"]) == new.resolve(row["into"]) for row in change.merged.to_dicts())
