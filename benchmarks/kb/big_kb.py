"""Knowledge bases of a chosen number of names, to measure tries with: as large as UMLS, or small and of invented words."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.kb.synthetic_umls import write_release
from benchmarks.report import data_folder
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.store.arrays import Ragged
from onym.text.normal import normal_names

ROWS = 16_000_000  # of the synthetic release
_WORDS = 20_000
_STRING = 14  # the column of MRCONSO


def kb_of_release(dest: Path, names: int) -> KnowledgeBase:
    """Build the knowledge base of the first distinct normal names of the synthetic release."""
    with tempfile.TemporaryDirectory(dir=dest.parent) as folder:
        write_release(Path(folder), data_folder(), ROWS)
        rows = pl.scan_csv(
            Path(folder) / "MRCONSO.RRF", separator="|", has_header=False, quote_char=None, infer_schema=False
        ).select(pl.nth(_STRING))
        column = rows.collect().to_series()
        column = pl.DataFrame({"name": column}).select(normal_names(pl.col("name"))).to_series()
        column = column.filter(column != "").unique(maintain_order=True).head(names)
    return kb_of_names(dest, column)


def kb_of_words(dest: Path, names: int, seed: int = 13) -> KnowledgeBase:
    """Build a knowledge base of invented names: words as frequent as those of a language, two to eight of them."""
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < names:
        numbers = np.minimum(rng.zipf(1.3, (names, 8)), _WORDS)
        lengths = rng.integers(2, 9, names)
        found |= dict.fromkeys(" ".join(f"w{n}" for n in row[:length]) for row, length in zip(numbers, lengths, strict=True))
    return kb_of_names(dest, pl.Series(list(found)[:names]))


class Words:
    """The tokenizer of invented names: a token for each word."""

    digest, vocabulary, eos = "words", _WORDS + 3, 2

    def ids_of(self, texts: Sequence[str]) -> Ragged:
        lists = [[int(word[1:]) + self.eos for word in text.split()] for text in texts]
        offsets = np.concatenate(([0], np.cumsum([len(each) for each in lists], dtype=np.int64)))
        return Ragged(offsets, np.array([token for each in lists for token in each], dtype=np.int32))


def kb_of_numbers(dest: Path, names: int) -> KnowledgeBase:
    """Build a knowledge base whose names say nothing: quickly, and of any size."""
    return kb_of_names(dest, "name " + pl.Series(np.arange(names)).cast(pl.String).str.zfill(8))


def kb_of_names(dest: Path, names: pl.Series) -> KnowledgeBase:
    """Build a knowledge base with a concept for each name."""
    with tempfile.TemporaryDirectory(dir=dest.parent) as folder:
        ids = "umls:C" + pl.Series(np.arange(len(names))).cast(pl.String).str.zfill(7)
        pl.DataFrame({"id": ids, "name": names}).write_csv(Path(folder) / "names.tsv", separator="\t")
        build_kb(Recipe.of({"sources": [{"path": "names.tsv"}]}), dest, root=Path(folder))
    return KnowledgeBase.open(dest)
