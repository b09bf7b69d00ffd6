"""Real names and real mentions to measure dense linking with."""

from __future__ import annotations

import numpy as np

from benchmarks.report import data_folder
from benchmarks.results.tasks import open_kb
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.text.normal import normal_name

SEED = 13
_CORPORA = {
    "bc5cdr/CDR_{}Set.PubTator.txt.gz": ("Training", "Development", "Test"),
    "ncbi_disease/NCBI{}set_corpus.txt": ("train", "develop", "test"),
}


def drawn_names(count: int) -> list[str]:
    """Return names of the open knowledge base, drawn at random; without such that a table would have to quote."""
    names = open_kb().names
    found: list[str] = []
    for row in np.random.default_rng(SEED).permutation(len(names)).tolist():
        if len(found) == count:
            break
        if '"' not in names[row]:
            found.append(names[row])
    return found


def surfaces() -> list[str]:
    """Return the distinct surfaces of BC5CDR and of the NCBI disease corpus, as names are written, in an order of chance."""
    found = sorted(
        {
            normal_name(mention.surface)
            for pattern, splits in _CORPORA.items()
            for split in splits
            for doc in documents_of(read_corpus(data_folder() / pattern.format(split)))
            for mention in doc.mentions
            if '"' not in mention.surface
        }
        - {""}
    )
    return [found[row] for row in np.random.default_rng(SEED).permutation(len(found)).tolist()]
