"""NCBI's disease corpus as GenBioEL and ANGEL use it: BioSyn's mentions put back into the abstracts, one document for each.

A document is the abstract in lower case with the mention, as BioSyn worked on it, in place of what the authors wrote; of a
composite only the first part is asked for. Train holds the mentions of train **and of dev** that have one id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onym.corpora.formats import pubtator
from onym.corpora.formats.biosyn import OFFSETS
from onym.datasets.base import Reader
from onym.datasets.biosyn import kept_notes, parts_of, queries
from onym.datasets.inputs import Inputs
from onym.datasets.tally import NO_ID, Tally
from onym.types import Document, Mention, Problem

COMPOSITE = "a composite, left out of train"
DOCUMENT = "document"
"""The note of a document: the abstract that it was made of."""
_FOLDERS = {"train": ("train", "dev"), "dev": ("dev",), "test": ("test",)}


def reader(archive: str, raw: Mapping[str, str]) -> Reader:
    """Return a reader of BioSyn's archive and of the corpus itself, by split."""

    def read(inputs: Inputs, tally: Tally) -> Iterator[tuple[str, Document]]:
        abstracts = {folder: _abstracts(inputs, path) for folder, path in raw.items()}
        for split, folders in _FOLDERS.items():
            for folder in folders:
                for doc in queries(inputs, archive, folder, split, tally):
                    for made in _documents(doc, abstracts[folder].get(doc.id), split, tally):
                        yield split, made

    return read


def _abstracts(inputs: Inputs, path: str) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for item in pubtator.read(inputs.source(path)):
        if not isinstance(item, Problem):
            found.setdefault(item.id, item)
    return found


def _documents(doc: Document, abstract: Document | None, split: str, tally: Tally) -> Iterator[Document]:
    number = 0
    for mention in doc.mentions:
        if not mention.concept_ids:
            tally.drop(split, NO_ID)
        elif split == "train" and len(mention.concept_ids) > 1:
            tally.drop(split, COMPOSITE)
        else:
            number += 1
            left, right, is_sure = _around(abstract, dict(mention.notes).get(OFFSETS, ""))
            if not is_sure:
                tally.problems[split]["corpus-offsets"] += 1
            yield _placed(f"{doc.id}.{number}", doc.id, mention, (left, right))


def _placed(own: str, of: str, mention: Mention, around: tuple[str, str]) -> Document:
    left, right = (text.lower() for text in around)
    surface = parts_of(mention.surface)[0].lower()
    start, end = len(left), len(left) + len(surface)
    placed = Mention(start, end, surface, mention.concept_ids, mention.type, notes=kept_notes(mention))
    return Document(own, left + surface + right, (placed,), notes=((DOCUMENT, of),))


def _around(abstract: Document | None, offsets: str) -> tuple[str, str, bool]:
    """Return what stands before and after a mention, nothing where it has no place; and whether the corpus has it there."""
    start, _, end = offsets.partition("|")
    if abstract is None or not (start.isdecimal() and end.isdecimal()):
        return "", "", False
    first, last = int(start), int(end)
    if not first < last <= len(abstract.text):
        return "", "", False
    is_sure = any((mention.start, mention.end) == (first, last) for mention in abstract.mentions)
    return abstract.text[:first], abstract.text[last:], is_sure
