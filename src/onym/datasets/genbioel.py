"""NCBI's disease corpus as GenBioEL and ANGEL use it: BioSyn's mentions put back into the abstracts, one document for each.

A document is the abstract in lower case, with BioSyn's form of the mention instead of the original words; of a composite only
the first part is a mention. Train holds the mentions of train **and of dev** that have one id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onym.corpora.formats import pubtator
from onym.corpora.formats.biosyn import OFFSETS
from onym.datasets.base import Reader
from onym.datasets.biosyn import kept_notes, parts_of, queries
from onym.datasets.drops import NO_ID, DropCounts
from onym.datasets.inputs import Inputs
from onym.types import Document, Mention, Problem

COMPOSITE = "a composite, left out of train"
DOCUMENT = "document"
"""The note of a document: the abstract that it was made of."""
_FOLDERS = {"train": ("train", "dev"), "dev": ("dev",), "test": ("test",)}


def reader(archive: str, raw: Mapping[str, str]) -> Reader:
    """Return a reader of BioSyn's archive and of the corpus itself, by split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        abstracts = {folder: _abstracts(inputs, path) for folder, path in raw.items()}
        for split, folders in _FOLDERS.items():
            for folder in folders:
                for doc in queries(inputs, archive, folder, split, drops):
                    for made in _documents(doc, abstracts[folder].get(doc.id), split, drops):
                        yield split, made

    return read


def _abstracts(inputs: Inputs, path: str) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for item in pubtator.read(inputs.source(path)):
        if not isinstance(item, Problem):
            found.setdefault(item.id, item)
    return found


def _documents(doc: Document, abstract: Document | None, split: str, drops: DropCounts) -> Iterator[Document]:
    number = 0
    for mention in doc.mentions:
        if not mention.concept_ids:
            drops.drop(split, NO_ID)
        elif split == "train" and len(mention.concept_ids) > 1:
            drops.drop(split, COMPOSITE)
        else:
            number += 1
            before, after, is_annotated = _context(abstract, dict(mention.notes).get(OFFSETS, ""))
            if not is_annotated:
                drops.problems[split]["corpus-offsets"] += 1
            yield _document(f"{doc.id}.{number}", doc.id, mention, (before.lower(), after.lower()))


def _document(document_id: str, abstract_id: str, mention: Mention, context: tuple[str, str]) -> Document:
    before, after = context
    surface = parts_of(mention.surface)[0].lower()
    start, end = len(before), len(before) + len(surface)
    in_context = Mention(start, end, surface, mention.concept_ids, mention.type, notes=kept_notes(mention))
    return Document(document_id, before + surface + after, (in_context,), notes=((DOCUMENT, abstract_id),))


def _context(abstract: Document | None, offsets: str) -> tuple[str, str, bool]:
    """Return the text before and after a mention, empty without valid offsets, and whether the corpus annotates that span."""
    start, _, end = offsets.partition("|")
    if abstract is None or not (start.isdecimal() and end.isdecimal()):
        return "", "", False
    first, last = int(start), int(end)
    if not first < last <= len(abstract.text):
        return "", "", False
    is_annotated = any((mention.start, mention.end) == (first, last) for mention in abstract.mentions)
    return abstract.text[:first], abstract.text[last:], is_annotated
