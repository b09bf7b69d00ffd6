"""Tests of comparing two releases of a knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.diff import GONE, diff
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
    assert change.kept == 2
    assert change.added.rows() == [("a:6", "added")]
    assert change.renamed.rows() == [("a:2", "old name", "new name")]
    assert change.merged.rows() == [("a:3", "to be merged", "a:1", "same", "replaced by")]
    assert change.retired.rows() == [("a:4", "to be retired")]
    assert change.removed.rows() == [("a:5", "to vanish")]
    assert change.names_gained.rows() == [("a:2", "new name")]
    assert change.names_lost.rows() == [("a:2", "old name")]
    assert change.counts()["names_moved"] == 0


def test_a_replacement_by_a_new_concept_is_no_merge(build: Builder) -> None:
    new = "id\tname\tkind\treplaced_by\na:2\tcold\tpreferred\t\na:1\tchill\tretired\ta:2\n"
    change = diff(build("id\tname\na:1\tchill\n", dest="old"), build(new, dest="new"))
    assert change.replaced.rows() == [("a:1", "chill", "a:2", "cold", "replaced by")]
    assert change.merged.height == 0


def test_names_that_changed_concept(build: Builder) -> None:
    old = "id\tname\na:1\tstroke\na:1\tapoplexy\na:2\theat stroke\na:3\tfit\n"
    new = "id\tname\na:1\tapoplexy\na:2\theat stroke\na:2\tstroke\na:3\tfit\na:4\tfit\n"
    change = diff(build(old, dest="old"), build(new, dest="new"))
    assert change.names_moved.rows() == [("stroke", "a:1", "stroke", ["a:2"], ["heat stroke"])]


OLD_OBO = (
    "[Term]\nid: T:1\nname: root\n\n[Term]\nid: T:2\nname: old parent\nis_a: T:1\n\n"
    "[Term]\nid: T:3\nname: child\nis_a: T:2\n\n[Term]\nid: T:4\nname: other\nis_a: T:2\n\n[Term]\nid: T:5\nname: two things\n"
)
NEW_OBO = (
    "[Term]\nid: T:1\nname: root\n\n[Term]\nid: T:6\nname: new parent\nalt_id: T:2\nis_a: T:1\n\n"
    "[Term]\nid: T:3\nname: child\nis_a: T:6\n\n[Term]\nid: T:4\nname: other\nis_a: T:1\n\n"
    "[Term]\nid: T:5\nname: obsolete two things\nis_obsolete: true\nconsider: T:3\nconsider: T:4\n"
)


def test_a_parent_that_was_only_replaced_has_not_changed(tmp_path: Path) -> None:
    old, new = (_build_obo(tmp_path, name, text) for name, text in (("old", OLD_OBO), ("new", NEW_OBO)))
    change = diff(old, new)
    assert change.parents_changed.rows() == [("t:4", "other", ["t:1"], ["t:2"])]
    assert change.split.rows() == [("t:5", "two things", ["t:3", "t:4"], ["child", "other"], "consider")]


def test_types_are_compared_only_if_both_releases_have_them(build: Builder) -> None:
    typed = ("id\tname\tsemantic_types\na:1\tfever\tSign\n", "id\tname\tsemantic_types\na:1\tfever\tDisease\n")
    old, new = (build(table, dest=f"typed{number}") for number, table in enumerate(typed))
    assert diff(old, new).types_changed.rows() == [("a:1", "fever", ["Disease"], ["Sign"])]
    assert diff(old, build("id\tname\na:1\tfever\n", dest="plain")).types_changed.height == 0


def _build_obo(folder: Path, name: str, text: str) -> KnowledgeBase:
    (folder / f"{name}.obo").write_text(text)
    build_kb(Recipe.of({"sources": [{"path": f"{name}.obo"}]}), folder / name, root=folder)
    return KnowledgeBase.open(folder / name)


@pytest.mark.real_data
def test_two_releases_of_hpo(real_data: Path, tmp_path: Path) -> None:
    kbs = []
    for release in ("2025-01-16", "2026-02-16"):
        build_kb(Recipe.of({"sources": [{"path": f"ontologies/hp-{release}.obo.gz"}]}), tmp_path / release, root=real_data)
        kbs.append(KnowledgeBase.open(tmp_path / release))
    old, new = kbs
    assert (len(new), new.manifest.counts["definitions"]) == (19_389, 16_905)
    change = diff(old, new)
    gone = sum(getattr(change, group).height for group in GONE)
    assert len(old) - gone + change.added.height == len(new)
    assert (change.merged.height, change.split.height, change.removed.height) == (100, 2, 0)
    assert all(new.resolve(row["id"]) == new.resolve(row["into"]) for row in change.merged.to_dicts())
