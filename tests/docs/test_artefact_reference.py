"""docs/reference/artefact.md describes what a build writes."""

from __future__ import annotations

import re
from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb.identity import AliasKind
from onym.kb.layout import FORMAT, KIND, NO_CONCEPT
from onym.store.artefact.manifest import Manifest
from onym.types import NameKind

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "artefact.md").read_text("utf-8")
SUFFIXES = {"array": [""], "strings": [".offsets", ".data"], "lists": [".offsets", ".values"]}


def test_the_columns_are_those_on_disk(tiny_kb: Path) -> None:
    described = re.findall(r"^\| `([a-z.]+)` \| (array|strings|lists) \|", PAGE, re.MULTILINE)
    files = {f"{name}{suffix}.npy" for name, shape in described for suffix in SUFFIXES[shape]}
    assert files | {"report.json"} == set(KnowledgeBase.open(tiny_kb).manifest.files)


def test_the_fields_of_the_manifest_are_described() -> None:
    section = PAGE.split("\n## Manifest\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(Manifest.model_fields)


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"format {FORMAT}." in PAGE
    assert f"`{KIND}`" in PAGE
    assert f"{NO_CONCEPT}: none" in PAGE
    assert ", ".join(f"{int(kind)} {kind.label}" for kind in NameKind) in PAGE
    row = next(line for line in PAGE.splitlines() if line.startswith("| `alias.kind`"))
    assert re.findall(r"(\d) \w+", row) == [str(int(kind)) for kind in AliasKind]
