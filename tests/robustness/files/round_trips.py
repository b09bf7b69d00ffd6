"""Write every document of every corpus in ONYM_DATA with every writer, read it again, and compare.

Every facet that a writer claims to preserve must be unchanged. Source defects that are skipped with a problem must be listed in
known_defects.toml with the reason; every other difference counts as unexplained.
"""

from __future__ import annotations

import argparse
import io
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from benchmarks.report import data_folder

from onym.corpora.base import Format, Item
from onym.corpora.corpus import view
from onym.corpora.formats import READ_ONLY, detect, get
from onym.registry import FORMATS
from onym.store.files.source import InputFile, Source
from onym.types import Document, Problem

# Folder and files of each corpus; for an archive, a part of the member names to read.
CORPORA = (
    ("ncbi_disease/NCBI*.txt", ""),
    ("bc5cdr/*Set.*", ""),
    ("pubtator/*.gz", ""),
    ("umls_like/scispacy_med_mentions.txt", ""),
    ("hpo_gsc/corpus.zip", "gold.tsv"),
    ("hpo_gsc/PubTator_input_format.zip", "GSC/"),
    ("abbreviations/*.tar.gz", "gold.xml"),
    ("biosyn_format/*.tar.gz", "processed_train/"),
    ("biosyn_format/*.tar.gz", "processed_dev/"),
    ("biosyn_format/*.tar.gz", "processed_test/"),
    ("askapatient/AskAPatient.*.txt", ""),
    ("pubmed/*.xml.gz", ""),
)
OF_MENTIONS = ("biosyn", "genbioel", "cometa", "askapatient")  # formats with one mention per document, which split documents
WRITERS = tuple(name for name in FORMATS.built_in if name not in READ_ONLY)
CHUNK, QUICK = 200, 30
DEFECTS = Path(__file__).with_name("known_defects.toml")


def run(options: argparse.Namespace) -> dict[str, object]:
    counts: Counter[str] = Counter()
    unexplained: Counter[tuple[str, str, str]] = Counter()
    found: Counter[tuple[str, str, str]] = Counter()
    for name, source in corpora(data_folder()):
        items = get(detect(source)).read(source)
        for chunk in _chunks(items, QUICK if options.quick else None):
            found.update((name, item.document_id, item.code) for item in chunk if isinstance(item, Problem))
            docs = [item for item in chunk if isinstance(item, Document)]
            counts["documents"] += len(docs)
            for writer in WRITERS:
                trips, wrong = _trip(get(writer), docs, is_split=writer in OF_MENTIONS)
                counts["trips"] += trips
                unexplained.update((name, document_id, writer) for document_id in wrong)
    known = _count_known()
    unexplained.update({key: count - known.get(key, 0) for key, count in found.items() if count > known.get(key, 0)})
    for key in unexplained:
        print(*key, file=sys.stderr)
    stale = 0 if options.quick else sum((Counter(known) - found).values())
    return {
        "documents": counts["documents"],
        "writers": len(WRITERS),
        "trips": counts["trips"],
        "known_defects": sum(found.values()),
        "stale_defects": stale,
        "unexplained": sum(unexplained.values()),
    }


def corpora(folder: Path) -> Iterator[tuple[str, Source]]:
    """Yield each available corpus with its name: the file name and, for an archive, the part that is read."""
    for pattern, part in CORPORA:
        for path in sorted(folder.glob(pattern)):
            source = Source.open(path)
            if part:
                source = Source.of_files(source.name, [file for file in source.files if part in file.name])
            yield f"{path.name} {part}".strip(), source


def _chunks(items: Iterable[Item], limit: int | None) -> Iterator[list[Item]]:
    rest = islice(items, limit)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def _trip(form: Format, docs: list[Document], *, is_split: bool) -> tuple[int, list[str]]:
    """Return the number of documents, and the ids of the documents that changed."""
    preserved = [form.preserved_facets(doc) for doc in docs]
    sent = [(doc, facets) for doc, facets in zip(docs, preserved, strict=True) if not is_split or "mentions" in facets]
    output = _Memory()
    form.write((doc for doc, _ in sent), output)
    back = list(form.read(output.source()))
    if len(back) != len(sent):
        return len(sent), [f"{len(sent)} documents became {len(back)} items"]
    wrong = [doc.id for (doc, facets), item in zip(sent, back, strict=True) if not _is_same(doc, item, facets)]
    return len(sent), wrong


def _is_same(doc: Document, item: Item, facets: frozenset[str]) -> bool:
    return isinstance(item, Document) and view(item, facets) == view(doc, facets)  # type: ignore[arg-type]


def _count_known() -> dict[tuple[str, str, str], int]:
    entries = tomllib.loads(DEFECTS.read_text("utf-8"))["defect"]
    known: Counter[tuple[str, str, str]] = Counter()
    for entry in entries:
        known[entry["corpus"], entry["document"], entry["code"]] += entry["count"]
    return dict(known)


class _Memory:
    """An in-memory output."""

    def __init__(self) -> None:
        self._files: list[InputFile] = []

    @contextmanager
    def file(self, name: str = "") -> Iterator[BinaryIO]:
        buffer = io.BytesIO()
        yield buffer
        self._files.append(InputFile.from_bytes(name or "corpus", buffer.getvalue()))

    def source(self) -> Source:
        """Return the files in the order written."""
        return Source("corpus", tuple(self._files))
