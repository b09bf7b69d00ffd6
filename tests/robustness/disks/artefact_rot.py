"""Flip bits in verified artefacts, as a failing disk does, and check that readers neither crash nor hang.

The size and times of a damaged file stay the same, so that the machine still considers it verified.

flips        single bits flipped in the files of a knowledge base, its trie, vectors and indexes of every kind; readers open the
             artefact or already have it open, and do look-ups, searches and decoding steps
crashes      flips that killed a reader's process, hung it for a minute, or raised an error without a code; must be 0
undetected   flips that a reader with full verification did not reject; must be 0
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from benchmarks.vectors import Drawn

from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.ranking import concepts_of_types, names_of
from onym.kb.recipe import Recipe, SourceConfig
from onym.kb.search import search
from onym.methods.dense.index import KINDS, build_index, open_index
from onym.methods.dense.index.vectors import NameVectors, open_vectors
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.methods.generative.decoding.search import SearchConfig, search_names
from onym.methods.generative.trie import PackedTrie, build_trie, open_trie
from onym.methods.generative.trie.artefact import TokenSource
from onym.pipeline.pipeline import Pipeline
from onym.store import artefact as verified
from onym.store.arrays import Ragged, Strings
from onym.store.artefact import Manifest
from onym.store.cache import Verify
from tests.robustness.children import Child, LostError, judge_all, requests
from tests.robustness.decoding.decode_sound import DrawnSession

_HANGS = 60  # seconds
Flip = tuple[str, str, int, int]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--flips", type=int, default=0, help="number of flips (default: 10,000, or 200 with --quick)")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--workers", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.flips or (200 if options.quick else 10_000)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "made"
        base.mkdir()
        with patch.dict(os.environ, ONYM_CACHE=f"{folder}/cache"):
            build_artefacts(base)
        flips = list(draw_flips(base, random.Random(options.seed), count))
        readers = [Child(work, folder, timeout=_HANGS, env={"OMP_NUM_THREADS": "1"}) for _ in range(options.workers)]
        found = judge_all(flips, readers, _harm)
    crashes, undetected = found.count("crash"), found.count("undetected")
    figures: dict[str, object] = {"flips": count, "crashes": crashes, "undetected": undetected}
    if crashes or undetected:
        sys.exit(f"crashes and undetected must be 0: {figures}")
    return figures


def draw_flips(base: Path, rng: random.Random, count: int) -> Iterator[Flip]:
    """Draw bits; all files are equally likely, so that short columns are hit as often as long ones."""
    files = [
        (what, str(path.relative_to(folder)), path.stat().st_size)
        for what, folder in artefact_folders(base).items()
        for path in sorted([folder / "CURRENT", *(folder / (folder / "CURRENT").read_text().strip()).iterdir()])
    ]
    filled = [each for each in files if each[2]]
    for _ in range(count):
        what, name, size = rng.choice(filled)
        yield what, name, rng.randrange(size), rng.randrange(8)


def _harm(reader: Child, flip: Flip) -> str:
    """Return the outcome of a flip: "" if it was handled, `crash`, or `undetected` if full verification accepts the file."""
    try:
        found, full = reader.ask(flip)
    except LostError as e:
        found, full = [f"crash: the process {e.how}"], ""
    bad = next((each for each in (*found, full) if each.startswith("crash")), "")
    harm = "crash" if bad else "undetected" if full == "answered" else ""
    if harm:
        print(f"{flip}: {bad or 'undetected'}", file=sys.stderr)
    return harm


# Small artefacts of every kind: a knowledge base that uses all columns, its trie, vectors and indexes.

CONCEPTS, WIDTH = 60, 16
ENCODER = Drawn(WIDTH)
_HEADER = "id\tname\tsynonyms\tdefinition\ttypes\txrefs\n"
_FIRST, _SECOND = ("heart", "acute", "familial", "type", "juvenile"), ("attack", "fever", "disease", "syndrome", "pain")


class Letters:
    """A tokenizer with one token per byte."""

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
    """Build all artefacts. They are small, so that the readers use every byte."""
    (folder / "release.tsv").write_text(_HEADER + "".join(map(_row, range(CONCEPTS))))
    build_kb(Recipe(sources=(SourceConfig(path="release.tsv", name="made"),)), folder / "kb", root=folder)
    kb, letters = KnowledgeBase.open(folder / "kb"), Letters()
    tokenizer: TokenSource = letters  # type: ignore[assignment]
    build_trie(kb, tokenizer, Plain(), folder / "trie")
    for kind in KINDS:
        build_index(kb, ENCODER, folder / f"index-{kind}", kind)


def artefact_folders(folder: Path) -> dict[str, Path]:
    """Return the path of each artefact by kind."""
    found = {"kb": folder / "kb", "trie": folder / "trie", "vectors": next((folder / "kb" / "vectors").iterdir())}
    return found | {f"index-{kind}": folder / f"index-{kind}" for kind in KINDS}


def _row(number: int) -> str:
    name = f"{_FIRST[number % 5]} {_SECOND[number // 5 % 5]} {number}"
    synonyms = f"{name} été|{_SECOND[number % 5]} {number}|shared {number // 3}"
    return f"mesh:D{number:06d}\t{name.title()}\t{synonyms}\tWhat {name} is.\tC{number % 4:02d}\tomim:{600_000 + number}\n"


# How artefacts are read: look-ups, searches, decoding steps. Each must return or raise an error with a code.

_TEXT = "Heart attack 0 and acute fever 6 were shared 1; disease 12, pain 4."
_K = 5


def read(what: str, folder: Path, verify: Verify) -> None:
    """Open an artefact, and exercise the operations of its kind."""
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
        raise AssertionError(f"damage of the knowledge base is reported as a document's problem: {linked.problems[0].what}")


def walk(trie: PackedTrie) -> None:
    """Walk to every leaf, and run beam and exact search, with and without a filter of names."""
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


def work(pipe: Connection, folder: str) -> None:
    """Read artefacts with one flipped bit, for requests `(what, file, byte, bit)`.

    Respond with the outcome of a reader that trusts earlier verification, and of one that verifies all digests. The process has
    its own copy of artefacts and cache, so that it does not reuse files of a dead process.
    """
    own = Path(tempfile.mkdtemp(dir=folder))
    os.environ["ONYM_CACHE"] = str(own / "cache")
    folders = artefact_folders(Path(shutil.copytree(Path(folder) / "made", own / "made")))
    for what, path in folders.items():
        read(what, path, "once")
    open_before = {
        "kb": partial(read_kb, KnowledgeBase.open(folders["kb"])),
        "trie": partial(walk, open_trie(folders["trie"])),
    }

    def answer(flip: Flip) -> tuple[list[str], str]:
        what, name, at, bit = flip
        with Flipped(folders[what], name, at, bit):
            found = [_outcome(partial(read, what, folders[what], "once"))]
            found += [_outcome(open_before[what])] if what in open_before else []
            full = _outcome(partial(read, what, folders[what], "full"))
        return found, full

    for request in requests(pipe):
        pipe.send(answer(request))


class Flipped:
    """Flip one bit of an artefact's file within the block, while the machine considers the file verified."""

    def __init__(self, folder: Path, name: str, at: int, bit: int) -> None:
        self._folder, self._path, self._at, self._bit = folder, folder / name, at, bit
        self._version = folder / (folder / "CURRENT").read_text().strip()
        self._manifest = Manifest.from_bytes((self._version / "manifest.json").read_bytes(), where="")

    def __enter__(self) -> None:
        self._flip()

    def __exit__(self, *_: object) -> None:
        self._flip()

    def _flip(self) -> None:
        before = self._path.stat()
        with self._path.open("r+b", buffering=0) as file:
            value = os.pread(file.fileno(), 1, self._at)[0]
            os.pwrite(file.fileno(), bytes([value ^ 1 << self._bit]), self._at)
        os.utime(self._path, ns=(before.st_atime_ns, before.st_mtime_ns))
        # Record the changed files as verified.
        verified.remember(self._version, verified.state_of(self._version, self._manifest))


def _outcome(act: Callable[[], None]) -> str:
    """Return the outcome of a reader: `answered`, an error code, or `crash` with the exception."""
    try:
        act()
    except OnymError as e:
        return e.code
    except BaseException as e:  # any other exception counts as a crash
        return f"crash: {type(e).__name__}: {e}"
    return "answered"
