"""Small artefacts of every kind: a knowledge base with all its columns in use, its trie, its vectors, its indexes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.dense.vectors import Drawn
from onym.index import KINDS, build_index
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.store.arrays import Ragged, Strings
from onym.trie import build_trie
from onym.trie.artefact import TokenSource

CONCEPTS, WIDTH = 60, 16
ENCODER = Drawn(WIDTH)
_HEADER = "id\tname\tsynonyms\tdefinition\ttypes\txrefs\n"
_FIRST, _SECOND = ("heart", "acute", "familial", "type", "juvenile"), ("attack", "fever", "disease", "syndrome", "pain")


class Letters:
    """A tokenizer with a token for each byte."""

    digest, vocabulary, eos = "letters", 300, 2

    def ids_of(self, texts: list[str]) -> Ragged:
        column = Strings.of(texts)
        return Ragged(column.offsets, column.data.astype("int32") + 3)


class Plain:
    """A template that adds nothing."""

    name = "plain"

    def name_text(self, name: str) -> str:
        return name


def build_artefacts(folder: Path) -> None:
    """Build them all: small ones, so that a reader soon comes by every byte of them."""
    (folder / "release.tsv").write_text(_HEADER + "".join(map(_row, range(CONCEPTS))))
    build_kb(Recipe(sources=(SourceConfig(path="release.tsv", name="made"),)), folder / "kb", root=folder)
    kb, letters = KnowledgeBase.open(folder / "kb"), Letters()
    tokenizer: TokenSource = letters  # type: ignore[assignment]
    build_trie(kb, tokenizer, Plain(), folder / "trie")
    for kind in KINDS:
        build_index(kb, ENCODER, folder / f"index-{kind}", kind)


def artefact_folders(folder: Path) -> dict[str, Path]:
    """Return where each artefact is, by what it is."""
    found = {"kb": folder / "kb", "trie": folder / "trie", "vectors": next((folder / "kb" / "vectors").iterdir())}
    return found | {f"index-{kind}": folder / f"index-{kind}" for kind in KINDS}


def _row(number: int) -> str:
    name = f"{_FIRST[number % 5]} {_SECOND[number // 5 % 5]} {number}"
    synonyms = f"{name} été|{_SECOND[number % 5]} {number}|shared {number // 3}"
    return f"mesh:D{number:06d}\t{name.title()}\t{synonyms}\tWhat {name} is.\tC{number % 4:02d}\tomim:{600_000 + number}\n"
