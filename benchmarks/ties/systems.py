"""The linkers whose ties are measured, over the open knowledge base.

The dense linker searches the names of all concepts that the kept predictions of its row hold: the ten nearest concepts of each
mention. So the nearest names of all 923,667 are among them, and the first answers are the same; the others need not be encoded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.commands.kb_open import RECIPE
from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.results.store import FOLDER, Store
from benchmarks.results.tasks import SPLITS
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.masks import concepts_with_ids, names_of
from onym.kb.recipe import Recipe
from onym.linkers.base import Linker
from onym.linkers.exact import ExactLinker
from onym.linkers.tfidf import TfidfLinker
from onym.store.cache import cache_folder

DATASET = "ncbi_disease_open"
DENSE_ROWS = {"dev": f"{DATASET}/start/flat-own-on-dev", "test": f"{DATASET}/start/flat-own"}
GENERATIVE_ROWS = {"dev": f"{DATASET}/preferred/beam5-mean-on-dev", "test": f"{DATASET}/preferred/beam5-mean"}
_QUICK_SOURCES = ("MeSH 2024 descriptors", "MONDO")


def systems(kb: KnowledgeBase, *, is_quick: bool) -> Iterator[tuple[str, Linker]]:
    """Yield the linkers by name; a quick run has no model."""
    yield "exact", ExactLinker(kb)
    if not is_quick:
        yield "tfidf", TfidfLinker(kb)
        yield "dense", dense_linker(kb)


def dense_linker(kb: KnowledgeBase) -> Linker:
    """Return MiniLM off the shelf over the names of the concepts that its kept rows hold."""
    from onym.index.build import index_in_memory
    from onym.linkers.dense import DenseLinker
    from onym.models.torch_encoder import Encoder

    store = Store(FOLDER / "dense")
    kept = [store.predictions(store.row(DENSE_ROWS[split])) for split in SPLITS]
    ids = {concept_id for each in kept for one in each for answer, _, _ in one.answers for concept_id in answer}
    encoder = Encoder.open(model_folder("minilm"), name="minilm")
    return DenseLinker(kb, encoder, index_in_memory(kb, encoder, np.flatnonzero(names_of(kb, concepts_with_ids(kb, ids)))))


def quick_kb() -> KnowledgeBase:
    """Return the descriptors of MeSH and MONDO, built in seconds and kept."""
    recipe = Recipe.from_toml(RECIPE)
    few = recipe.model_copy(update={"sources": tuple(each for each in recipe.sources if each.name in _QUICK_SOURCES)})
    folder = cache_folder() / "benchmarks" / "ties-quick-kb"
    if not (folder / "CURRENT").is_file():
        build_kb(few, folder, root=data_folder())
    return KnowledgeBase.open(folder)
