"""Build HPO from OBO; count active terms and definitions of release 2026-02-16, and the changes since 2025-01-16."""

from __future__ import annotations

import argparse
import gzip
import tempfile
from pathlib import Path

from benchmarks.report import data_folder
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.diff import Difference, diff
from onym.kb.export import term_frame
from onym.kb.recipe import Recipe, SourceConfig

NEWEST = "2026-02-16"


def run(_options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        old, new = (build_hpo_kb(Path(folder) / release, release) for release in ("2025-01-16", NEWEST))
        changes = {f"diff_{name}": count for name, count in _count(diff(old, new), old, new).items()}
        return {"active_terms": len(new), "definitions": new.manifest.counts["definitions"], **changes}


def _count(found: Difference, old: KnowledgeBase, new: KnowledgeBase) -> dict[str, int]:
    """Return the changes; names count for all concepts, also for added and gone ones."""
    counts, pairs = found.counts(), [term_frame(kb).select("id", "name") for kb in (old, new)]
    return {
        "added": counts["added"],
        "removed": counts["removed"],
        "renamed": counts["renamed"],
        "merged": counts["merged"] + counts["replaced"],
        "retired": counts["split"] + counts["suggested"] + counts["retired"],
        "parents_changed": counts["parents_changed"],
        "names_moved": counts["names_moved"],
        "names_added": pairs[1].join(pairs[0], on=["id", "name"], how="anti").height,
        "names_removed": pairs[0].join(pairs[1], on=["id", "name"], how="anti").height,
    }


def hpo_parents(release: str = NEWEST) -> dict[str, list[str]]:
    """Return the active terms of a release, each with its parents."""
    with gzip.open(data_folder() / f"ontologies/hp-{release}.obo.gz", "rt", encoding="utf-8") as lines:
        stanzas = lines.read().split("\n[Term]\n")[1:]
    clauses = [[line.partition(": ")[::2] for line in stanza.partition("\n[")[0].split("\n")] for stanza in stanzas]
    return {
        dict(each)["id"]: [value.partition(" ")[0] for tag, value in each if tag == "is_a"]
        for each in clauses
        if ("is_obsolete", "true") not in each
    }


def build_hpo_kb(dest: Path, release: str = NEWEST) -> KnowledgeBase:
    """Build the knowledge base of a release."""
    recipe = Recipe(sources=(SourceConfig(path=f"ontologies/hp-{release}.obo.gz"),))
    build_kb(recipe, dest, root=data_folder())
    return KnowledgeBase.open(dest)
