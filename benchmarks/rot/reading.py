"""What readers do with an artefact: look-ups, searches, steps of decoding. They must answer, or raise an error with a code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from benchmarks.commands.decode_sound import DrawnSession
from benchmarks.rot.artefacts import CONCEPTS, ENCODER
from onym.decoding.search import SearchConfig, search_names
from onym.detect.dictionary import DictionaryDetector
from onym.index import open_index
from onym.index.vectors import NameVectors, open_vectors
from onym.kb import KnowledgeBase
from onym.kb.masks import concepts_of_types, names_of
from onym.kb.search import search
from onym.linkers.exact import ExactLinker
from onym.pipeline.pipeline import Pipeline
from onym.store.cache import Verify
from onym.trie import PackedTrie, open_trie

_TEXT = "Heart attack 0 and acute fever 6 were shared 1; disease 12, pain 4."
_K = 5


def read(what: str, folder: Path, verify: Verify) -> None:
    """Open an artefact, and do with it whatever is done with one of its kind."""
    if what == "kb":
        read_kb(KnowledgeBase.open(folder, verify=verify))
    elif what == "trie":
        walk(open_trie(folder, verify=verify))
    elif what == "vectors":
        _look_at(open_vectors(folder, verify=verify))
    else:
        _search(folder, verify)


def read_kb(kb: KnowledgeBase) -> None:
    """Look up every concept and some names, search, detect and link."""
    for row in range(len(kb)):
        kb.concept(row)
        kb.preferred_form(row)
        kb.names_of(row)
    for name in range(len(kb.names)):
        kb.concepts_named(kb.names[name])
    for number in range(0, CONCEPTS, 7):
        kb.concepts_with_id(f"D{number:06d}")
        kb.resolve(f"omim:{600_000 + number}")
    for text in ("heart attack 0", "acute", "fever"):
        search(kb, text)
    names_of(kb, concepts_of_types(kb, [kb.types[0]]))
    linked = Pipeline(ExactLinker(kb), DictionaryDetector(kb)).link(_TEXT)
    if linked.problems:
        raise AssertionError(f"a damaged knowledge base was taken for a problem of the document: {linked.problems[0].what}")


def walk(trie: PackedTrie) -> None:
    """Walk to every leaf, and search as a decoder does, by beam and exactly, among all names and among some."""
    nodes = np.zeros(1, dtype=np.int64)
    while len(nodes):
        _, tokens, children = trie.children_of(nodes)
        trie.step(nodes, np.full(len(nodes), trie.eos))
        for leaf in children[trie.is_leaf(children)].tolist():
            trie.names_at(leaf)
        nodes = children[~trie.is_leaf(children)]
        del tokens
    trie.chain(0)
    restriction = trie.restriction(np.arange(len(trie.names)) % 2 == 0)
    for limited in (None, restriction):
        for way in ("beam", "exact"):
            _decode(trie, SearchConfig(search=way, width=3, top_k=2, budget=50), limited)


def _decode(trie: PackedTrie, config: SearchConfig, restriction: object) -> None:
    generator = torch.Generator().manual_seed(13)
    prompts: list[list[int]] = [[], []]

    def start(_sources: object) -> DrawnSession:
        return DrawnSession(trie.vocabulary, len(prompts), generator)

    for decoded in search_names(start, trie, [[1], [1, 2]], prompts, config, restriction=restriction):  # type: ignore[arg-type]
        for hypothesis in decoded.hypotheses:
            trie.names_at(hypothesis.leaf)


def _look_at(vectors: NameVectors) -> None:
    for name in range(len(vectors)):
        vectors.names.find(vectors.names[name])
    vectors.names.to_arrow()
    vectors.rows(np.arange(len(vectors)))
    vectors.sample(10)


def _search(folder: Path, verify: Verify) -> None:
    index = open_index(folder, verify=verify)
    queries = ENCODER.encode(["a", "b", "c"])
    few, many = np.arange(3), np.arange(len(index)) % 4 != 0
    for within in (None, few, many):
        index.search(queries, _K, within)
