"""Small corpora of every format, and where in their files each document stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from onym.corpora.formats import READ_ONLY, get
from onym.testing.documents import written
from onym.types import Document, Mention, Passage

BY_LINE = ("pubtator", "jsonl", "bigbio", "hpo_gsc", "cometa", "askapatient")
"""Formats in which a document stands in lines of its own: the rest of the file can be read whatever they hold."""
BY_FILE = ("brat", "biosyn", "text")
"""Formats with files of its own for each document."""
_SUFFIX = {
    "parquet": "parquet", "pubtator": "pubtator", "jsonl": "jsonl", "bigbio": "jsonl", "cometa": "tsv", "askapatient": "txt",
    "hpo_gsc": "txt", "bioc_xml": "xml", "bioc_json": "json", "pubannotation": "json", "docbin": "spacy",
}  # fmt: skip
_MESH, _SNOMED = ("mesh:D005334", "mesh:D001249"), ("snomedct:386661006", "snomedct:195967001")
_HEADERS = {"cometa": b"\n"}  # what ends the first line, which is of no document
_SETS = 3
_PER_SET = 3
_ARTICLE = (
    "<PubmedArticle><MedlineCitation><PMID Version='1'>{id}</PMID><Article><ArticleTitle>{title}</ArticleTitle>"
    "<Abstract><AbstractText Label='METHODS'>{abstract}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>\n"
)


@dataclass(frozen=True)
class Piece:
    """What can be damaged: a stretch of a file. `documents` of the sample stand in it, and may be lost with it."""

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
    sets = [[made(number * _PER_SET + each, ids) for each in range(_PER_SET)] for number in range(_SETS)]
    files: dict[str, bytes] = {}
    pieces: list[Piece] = []
    for number, docs in enumerate(sets):
        first = number * _PER_SET
        for piece, data in _written(name, docs, number, first):
            files[piece.file] = data
            pieces.append(piece)
    return Sample(files, _SETS * _PER_SET, tuple(pieces))


def made(number: int, ids: tuple[str, str]) -> Document:
    """Return a document like no other, of fever and asthma by these ids."""
    title = f"Fever in case {number}."
    text = f"{title} High fever and asthma{number} were seen."
    at = text.index("asthma")
    mentions = (
        Mention(0, 5, "Fever", ids[:1], "Disease", "T1"),
        Mention(at, at + 7, text[at : at + 7], ids[1:], "Disease", "T2"),
    )
    passages = (Passage(0, len(title), "title"), Passage(len(title) + 1, len(text), "abstract"))
    return Document(f"90{number}", text, mentions, passages)


def _written(name: str, docs: list[Document], number: int, first: int) -> Iterator[tuple[Piece, bytes]]:
    everyone = frozenset(range(first, first + len(docs)))
    if name in READ_ONLY:
        data = _articles(docs)
        yield Piece(f"set{number}.xml", 0, len(data), everyone), data
    elif name in BY_FILE:
        for each, doc in enumerate(docs, first):
            for file, data in written(get(name), [doc]).items():
                yield Piece(file, 0, len(data), frozenset({each})), data
    elif name in BY_LINE:
        yield from _lines(name, docs, number, first)
    else:
        for file, data in written(get(name), docs).items():
            own = f"set{number}.{_SUFFIX[name]}" if not file else f"set{number}/{file}"
            yield Piece(own, 0, len(data), everyone), data


def _lines(name: str, docs: list[Document], number: int, first: int) -> Iterator[tuple[Piece, bytes]]:
    """Yield a piece for each document: its lines, without the end of the last."""
    file = f"set{number}.{_SUFFIX[name]}"
    (data,) = written(get(name), docs).values()
    end = data.index(_HEADERS[name]) + 1 if name in _HEADERS else 0
    for each in range(len(docs)):
        start = end
        (until,) = written(get(name), docs[: each + 1]).values()
        end = len(until)
        yield Piece(file, start, start + len(data[start:end].rstrip(b"\n")), frozenset({first + each})), data


def _articles(docs: list[Document]) -> bytes:
    rows = [_ARTICLE.format(id=doc.id, title=doc.text.partition(". ")[0], abstract=doc.text.partition(". ")[2]) for doc in docs]
    return f"<?xml version='1.0' encoding='utf-8'?>\n<PubmedArticleSet>\n{''.join(rows)}</PubmedArticleSet>\n".encode()
