"""Build a knowledge base with families of concepts that have similar names."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig

FAMILIES = ("ataxia", "leukemia", "migraine", "vertigo")
WAYS = ("{0} {1}", "{0}, {1}-kind", "the {1} {0}", "{0} of {1}", "{1}al {0} disease", "{0} ({1} form)")


def build_families(folder: Path, *rows: str) -> KnowledgeBase:
    """Build four families of five concepts with six names each, plus the concepts in `rows`."""
    kinds = "bcdfg"
    lines = ["id\tname\tsynonyms\ttypes"]
    for family, disease in enumerate(FAMILIES):
        for number, kind in enumerate(kinds):
            first, *others = (way.format(disease, kind) for way in WAYS)
            lines.append(f"mesh:D{family}{number}\t{first}\t{'|'.join(others)}\tT{family}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kb.tsv").write_text("\n".join([*lines, *rows]) + "\n")
    build_kb(Recipe(sources=(SourceConfig(path="kb.tsv", name="made"),)), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")
