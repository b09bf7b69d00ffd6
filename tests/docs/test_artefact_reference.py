"""Tests that docs/reference/artefact.md lists the files, columns and manifest fields that a build writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.hierarchy import JOINED_LOOP, LOOP
from onym.kb.identity import AliasKind
from onym.kb.joins import JoinRule
from onym.kb.knowledge_base import FORMAT, KIND, NO_CONCEPT, NO_RULE
from onym.kb.recipe import Recipe
from onym.store.artefact import Manifest
from onym.types import NameKind, ParentKind, SuccessorKind

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "artefact.md").read_text("utf-8")
OPTIONAL = "Only if a source states parents or retired ids"
SUFFIXES = {"array": [""], "strings": [".offsets", ".data"], "lists": [".offsets", ".values"]}


def read_described_files(text: str) -> set[str]:
    described = re.findall(r"^\| (`[a-z.`, ]+`) \| (array|strings|lists) \|", text, re.MULTILINE)
    names = [(name, shape) for cell, shape in described for name in re.findall(r"`([a-z.]+)`", cell)]
    return {f"{name}{suffix}.npy" for name, shape in names for suffix in SUFFIXES[shape]}


def test_page_lists_the_columns_on_disk(tiny_kb: Path) -> None:
    always, _ = PAGE.split(OPTIONAL)
    assert read_described_files(always) | {"report.json"} == set(KnowledgeBase.open(tiny_kb).manifest.files)


def test_page_lists_the_optional_columns(tmp_path: Path) -> None:
    rows = ["mesh:D1,fever,,,preferred", "mesh:D2,chill,mesh:D1,,preferred", "mesh:D3,old chill,,mesh:D2,retired"]
    (tmp_path / "a.csv").write_text("\n".join(["id,name,parents,replaced_by,kind", *rows, ""]))
    recipe = Recipe.of({"sources": [{"path": "a.csv"}], "groups": True, "joins": {"many_to_one": "apart"}})
    files = set(build_kb(recipe, tmp_path / "kb", root=tmp_path).files)
    assert read_described_files(PAGE) | {"report.json"} == files


def test_page_lists_the_numbers_of_join_rules() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `alias.rule`"))
    assert ", ".join(f"{int(rule)} {rule.label}" for rule in JoinRule).replace("shared-id", "shared id") in row
    assert f"{NO_RULE}: not joined" in row


@pytest.mark.parametrize(("column", "kinds"), [("`parent.kind`", ParentKind), ("`successor.kind`", SuccessorKind)])
def test_page_lists_the_numbers_of_relations(column: str, kinds: type[ParentKind | SuccessorKind]) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {column}"))
    assert ", ".join(f"{int(kind)} {kind.label}" for kind in kinds) in row


def test_page_lists_the_flags_of_cycles() -> None:
    assert f"plus {LOOP} if the relation closes a cycle of its source, {JOINED_LOOP} if it closes one of several" in PAGE


def test_page_lists_the_fields_of_the_manifest() -> None:
    section = PAGE.split("\n## Manifest\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(Manifest.model_fields)


def test_numbers_on_the_page_match_the_code() -> None:
    assert f"format {FORMAT}." in PAGE
    assert f"`{KIND}`" in PAGE
    assert f"{NO_CONCEPT}: no concept" in PAGE
    assert ", ".join(f"{int(kind)} {kind.label}" for kind in NameKind) in PAGE
    row = next(line for line in PAGE.splitlines() if line.startswith("| `alias.kind`"))
    assert re.findall(r"(\d) \w+", row) == [str(int(kind)) for kind in AliasKind]
