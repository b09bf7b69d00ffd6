"""Build the open knowledge base; measure its size and its coverage of the gold ids of three test sets.

A mention is covered if all its ids are in the knowledge base. For the `resolved` figures, a retired id also counts as present
if one of its current ids is in the knowledge base. The table of retired ids was made by looking up the texts of gold mentions
as names, so it is used for scoring only, and nothing from it is added to the knowledge base.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from benchmarks.report import data_folder, percent
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.store.files.source import InputFile

RECIPE = Path(__file__).parents[1] / "recipes" / "open-kb.toml"
_NOT_QUICK = ("supp", "indra1.18", "d2014", "cas", "chebi")
DIGEST = "9fedea8e6cbf08c0"
"""The open knowledge base that was used for all stored predictions."""
UPPER_BOUNDS = MappingProxyType({"digest_changed": 0})
JOINED = RECIPE.with_name("open-kb-joined.toml")


def build_open_kb(dest: Path, recipe: Path = RECIPE) -> KnowledgeBase:
    """Build the open knowledge base of the benchmarks, or the knowledge base of another recipe."""
    build_kb(Recipe.from_toml(recipe), dest, root=data_folder())
    return KnowledgeBase.open(dest)


def make_joined_recipe(*, quick: bool) -> Recipe:
    """Return the recipe of the joined knowledge base; `quick` has only MeSH 2024 descriptors and MONDO."""
    recipe = Recipe.from_toml(JOINED)
    small = tuple(source for source in recipe.sources if not any(part in source.path for part in _NOT_QUICK))
    return recipe.model_copy(update={"sources": small}) if quick else recipe


def gold(path: Path, kind: str = "") -> Iterator[list[str]]:
    """Yield the ids of each mention in a PubTator file, skipping mentions without ids."""
    with InputFile.from_path(path).open() as stream:
        lines = stream.read().decode("utf-8").splitlines()
    for line in lines:
        fields = line.split("\t")
        if len(fields) >= 6 and fields[1].isdigit() and kind in ("", fields[4]):
            ids = [part.strip().removeprefix("MESH:") for part in fields[5].replace("+", "|").split("|")]
            if known := [i for i in ids if i not in ("", "-1")]:
                yield known


def coverage(kb: KnowledgeBase, mentions: list[list[str]], replaced: dict[str, list[str]] | None = None) -> tuple[float, float]:
    """Return the percentage of distinct ids and of mentions that the knowledge base covers."""
    replaced = replaced or {}
    ids = {i for mention in mentions for i in mention}
    found = {i for i in ids if i in kb or any(new in kb for new in replaced.get(i, []))}
    return percent(len(found), len(ids)), percent(sum(found.issuperset(mention) for mention in mentions), len(mentions))


def read_retired_ids(path: Path) -> dict[str, list[str]]:
    """Read the table of retired ids: first column (old id) to last column (new ids)."""
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return {row[0].strip(): [new.strip() for new in row[-1].replace(",", "|").split("|") if new.strip()] for row in rows}


def run(_options: argparse.Namespace) -> dict[str, object]:
    data = data_folder()
    with tempfile.TemporaryDirectory() as folder:
        kb = build_open_kb(Path(folder) / "kb")
        first = kb.concept_ids.lower_bound(b"mesh:")
        mesh_ids = kb.concept_ids.lower_bound(b"mesh;") - first
        ncbi = coverage(kb, list(gold(data / "ncbi_disease" / "NCBItestset_corpus.txt")))
        test = data / "bc5cdr" / "CDR_TestSet.PubTator.txt.gz"
        disease, chemical = list(gold(test, "Disease")), list(gold(test, "Chemical"))
        retired = read_retired_ids(data / "bc5cdr" / "retired_mesh_ids_candidates.tsv")
        return {
            "digest": kb.digest,
            "digest_changed": int(kb.digest != DIGEST),
            "mesh_ids": mesh_ids,
            "names": len(kb.names),
            "ncbi_test_ids_pct": ncbi[0],
            "ncbi_test_mentions_pct": ncbi[1],
            "cdr_disease_test_ids_pct": coverage(kb, disease)[0],
            "cdr_disease_test_mentions_pct": coverage(kb, disease)[1],
            "cdr_chemical_test_ids_pct": coverage(kb, chemical)[0],
            "cdr_chemical_test_mentions_pct": coverage(kb, chemical)[1],
            "cdr_chemical_test_mentions_resolved_pct": coverage(kb, chemical, retired)[1],
        }
