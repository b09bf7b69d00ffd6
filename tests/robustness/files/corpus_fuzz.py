"""Fuzz the corpus readers: damage one document of a corpus, and check that all others are still read.

readers          number of formats
cases            number of mutated corpora
cases_per_reader number of mutated corpora per format
other_outcomes   cases that did not end with documents, problems and failed files: another exception, a hang of 5 s, a crash,
                 or memory growth of 256 MB
bystanders       undamaged documents that must still be read. For formats that are read line by line, or have one file per
                 document, these are all undamaged documents. For XML, JSON collections, Parquet and compressed files, these
                 are the documents in other files
bystanders_lost  bystanders that were missing or changed

Other outcomes are reported on stderr with a number that `--replay reader:number` runs again.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa

from onym.corpora.base import documents_of
from onym.corpora.formats import get
from onym.corpora.problems import INTERNAL
from onym.corpora.reading import Reading
from onym.registry import FORMATS
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.types import Document, Mention, Passage, Problem
from tests.corpora.citations import ENDINGS, write_citations
from tests.robustness.files.fuzz import OTHER, Suite, add_fuzz_options, fuzz
from tests.robustness.files.mutation import BINARY, mutate
from tests.support.documents import write_to_memory

BY_LINE = ("pubtator", "jsonl", "bigbio", "hpo_gsc", "cometa", "askapatient")
"""Formats in which a document stands in lines of its own: the rest of the file can be read whatever they hold."""
BY_FILE = ("brat", "biosyn", "text")
"""Formats with files of its own for each document."""
_SUFFIX = {
    "parquet": "parquet", "pubtator": "pubtator", "jsonl": "jsonl", "bigbio": "jsonl", "cometa": "tsv", "askapatient": "txt",
    "hpo_gsc": "txt", "bioc_xml": "xml", "bioc_json": "json", "pubannotation": "json", "docbin": "spacy",
    "label_studio": "json", "doccano": "jsonl",
}  # fmt: skip
_MESH, _SNOMED = ("mesh:D005334", "mesh:D001249"), ("snomedct:386661006", "snomedct:195967001")
_HEADERS = {"cometa": b"\n"}  # the header line ends here; it belongs to no document
_SETS = 3
_PER_SET = 3
_ARTICLE = (
    "<PubmedArticle><MedlineCitation><PMID Version='1'>{id}</PMID><Article><ArticleTitle>{title}</ArticleTitle>"
    "<Abstract><AbstractText Label='METHODS'>{abstract}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>\n"
)


@dataclass(frozen=True)
class Piece:
    """A byte range of a file that can be damaged, and the documents in it, which may be lost."""

    file: str
    start: int
    end: int
    documents: frozenset[int]


@dataclass(frozen=True)
class Sample:
    """The files of a corpus, its documents in order, and the pieces that can be damaged."""

    files: dict[str, bytes]
    documents: int
    pieces: tuple[Piece, ...]

    def in_file(self, file: str) -> frozenset[int]:
        """Return the documents of a file."""
        return frozenset().union(*(piece.documents for piece in self.pieces if piece.file == file))


@cache
def sample(name: str) -> Sample:
    """Return a corpus of three sets of three documents."""
    ids = _SNOMED if name in ("askapatient", "cometa") else _MESH
    sets = [[make_document(number * _PER_SET + each, ids) for each in range(_PER_SET)] for number in range(_SETS)]
    files: dict[str, bytes] = {}
    pieces: list[Piece] = []
    for number, docs in enumerate(sets):
        first = number * _PER_SET
        for piece, data in _write_pieces(name, docs, number, first):
            files[piece.file] = data
            pieces.append(piece)
    return Sample(files, _SETS * _PER_SET, tuple(pieces))


def make_document(number: int, ids: tuple[str, str]) -> Document:
    """Return a unique document that mentions fever and asthma with the given ids."""
    title = f"Fever in case {number}."
    text = f"{title} High fever and asthma{number} were seen."
    at = text.index("asthma")
    mentions = (
        Mention(0, 5, "Fever", ids[:1], "Disease", "T1"),
        Mention(at, at + 7, text[at : at + 7], ids[1:], "Disease", "T2"),
    )
    passages = (Passage(0, len(title), "title"), Passage(len(title) + 1, len(text), "abstract"))
    return Document(f"90{number}", text, mentions, passages)


def _write_pieces(name: str, docs: list[Document], number: int, first: int) -> Iterator[tuple[Piece, bytes]]:
    everyone = frozenset(range(first, first + len(docs)))
    if name in ENDINGS:
        data = write_citations(name, docs)
        yield Piece(f"set{number}{ENDINGS[name]}", 0, len(data), everyone), data
    elif name == "pubmed":
        data = _articles(docs)
        yield Piece(f"set{number}.xml", 0, len(data), everyone), data
    elif name in BY_FILE:
        for each, doc in enumerate(docs, first):
            for file, data in write_to_memory(get(name), [doc]).items():
                yield Piece(file, 0, len(data), frozenset({each})), data
    elif name in BY_LINE:
        yield from _lines(name, docs, number, first)
    else:
        for file, data in write_to_memory(get(name), docs).items():
            own = f"set{number}.{_SUFFIX[name]}" if not file else f"set{number}/{file}"
            yield Piece(own, 0, len(data), everyone), data


def _lines(name: str, docs: list[Document], number: int, first: int) -> Iterator[tuple[Piece, bytes]]:
    """Yield a piece for each document: its lines, without the last line break."""
    file = f"set{number}.{_SUFFIX[name]}"
    (data,) = write_to_memory(get(name), docs).values()
    end = data.index(_HEADERS[name]) + 1 if name in _HEADERS else 0
    for each in range(len(docs)):
        start = end
        (until,) = write_to_memory(get(name), docs[: each + 1]).values()
        end = len(until)
        yield Piece(file, start, start + len(data[start:end].rstrip(b"\n")), frozenset({first + each})), data


def _articles(docs: list[Document]) -> bytes:
    rows = [_ARTICLE.format(id=doc.id, title=doc.text.partition(". ")[0], abstract=doc.text.partition(". ")[2]) for doc in docs]
    return f"<?xml version='1.0' encoding='utf-8'?>\n<PubmedArticleSet>\n{''.join(rows)}</PubmedArticleSet>\n".encode()


# One fuzzing case: a corpus with one damaged piece, read to the end in memory.

Said = tuple[object, ...]
BYSTANDERS, LOST = "bystanders", "bystanders_lost"
_PACKED = (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd")
_SMALL = replace(DEFAULT_LIMITS, document_bytes=2_000, json_item_bytes=2_000, xml_record_bytes=4_000)
"""Limits that every honest document of a sample is well within."""


@dataclass(frozen=True)
class Case:
    """The files to read, and the documents that must be found in them."""

    files: tuple[tuple[str, bytes], ...]
    limits: Limits
    bystanders: frozenset[int]
    is_named: bool


def make_case(seed: int, reader: str, number: int) -> Case:
    """Return the case with this number (deterministic)."""
    rng = random.Random(f"{seed}:{reader}:{number}")
    corpus = sample(reader)
    piece = rng.choice(corpus.pieces)
    files = dict(corpus.files)
    files[piece.file] = _damage_piece(rng, files[piece.file], piece, reader)
    is_packed, is_named = rng.random() < 0.1, rng.random() < 0.8
    if is_packed:
        name, data = _pack_file(rng, piece.file, files.pop(piece.file))
        files[name] = data
    # Damage affects the whole file if it is compressed or looks so, or if its format is detected from the first bytes.
    is_whole = is_packed or not is_named or files[piece.file].startswith(_PACKED)
    hurt = corpus.in_file(piece.file) if is_whole else piece.documents
    limits = _SMALL if rng.random() < 0.1 else DEFAULT_LIMITS
    return Case(tuple(files.items()), limits, frozenset(range(corpus.documents)) - hurt, is_named)


def judge(case: Case, reader: str) -> dict[str, int]:
    """Read a case; count the undamaged documents, and those of them that were lost. Unexpected exceptions propagate."""
    files = [InputFile.from_bytes(name, data, case.limits) for name, data in case.files]
    items = list(Reading([Source.of_files("made", files)], reader if case.is_named else ""))
    for item in items:
        if isinstance(item, Problem) and item.code == INTERNAL:
            raise RuntimeError(item.what)
    read = Counter(map(_says, documents_of(items)))
    honest = _honest(reader)
    lost = sum(any(not read[said] for said in honest[number]) for number in case.bystanders)
    return {"cases": 1, BYSTANDERS: len(case.bystanders), LOST: lost}


def judge_case(seed: int, reader: str, number: int) -> dict[str, int]:
    """Make and read a case, and return its counts."""
    return judge(make_case(seed, reader, number), reader)


def files_of(seed: int, reader: str, number: int) -> dict[str, bytes]:
    """Return the files of a case."""
    return dict(make_case(seed, reader, number).files)


@cache
def _honest(reader: str) -> tuple[tuple[Said, ...], ...]:
    """Return the content of each undamaged document; some formats make one document per mention."""
    corpus = sample(reader)
    files = [InputFile.from_bytes(name, data) for name, data in corpus.files.items()]
    said = [_says(doc) for doc in documents_of(Reading([Source.of_files("made", files)], reader))]
    each = len(said) // corpus.documents
    if not each or len(said) % corpus.documents:
        sys.exit(f"the reader {reader} cannot read its own sample")
    return tuple(tuple(said[start : start + each]) for start in range(0, len(said), each))


def _says(document: Document) -> Said:
    return document.text, tuple((each.start, each.end, each.type, each.concept_ids) for each in document.mentions)


def _damage_piece(rng: random.Random, data: bytes, piece: Piece, reader: str) -> bytes:
    part = data[piece.start : piece.end]
    # Damage the data before compression; the checksum would detect any later change.
    if reader == "docbin" and rng.random() < 0.8:
        part = zlib.compress(rng.choice(BINARY)(rng, zlib.decompress(part), _OTHERS))
    else:
        part = rng.choice(BINARY)(rng, part, _OTHERS) if reader in ("parquet", "docbin") else mutate(rng, part, _OTHERS)
    return data[: piece.start] + part + data[piece.end :]


def _pack_file(rng: random.Random, name: str, data: bytes) -> tuple[str, bytes]:
    packed = gzip.compress(data, 1, mtime=0) if rng.random() < 0.5 else pa.compress(data, codec="zstd", asbytes=True)
    suffix = ".gz" if packed.startswith(b"\x1f\x8b") else ".zst"
    return name + suffix, mutate(rng, packed, _OTHERS) if rng.random() < 0.5 else packed


def _pieces() -> Iterator[bytes]:
    for reader in FORMATS.built_in:
        for piece in sample(reader).pieces[:4]:
            yield sample(reader).files[piece.file]


_OTHERS = list(_pieces())
SUITE = Suite(judge_case, files_of)
UPPER_BOUNDS = {OTHER: 0, LOST: 0}


def add_options(parser: argparse.ArgumentParser) -> None:
    add_fuzz_options(parser, FORMATS.built_in)


def run(options: argparse.Namespace) -> dict[str, object]:
    figures, counts = fuzz(options, __name__)
    return {**figures, BYSTANDERS: counts[BYSTANDERS], LOST: counts[LOST]} if figures else {}
