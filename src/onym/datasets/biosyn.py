"""BioSyn's queries: a document for each `.concept` file, its text the mentions, one per line, composites cut into parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter

from onym.corpora.base import PART_OF
from onym.corpora.formats import biosyn
from onym.corpora.formats.biosyn import OFFSETS
from onym.corpora.ids import KEY
from onym.datasets.base import SPLITS, Dictionary, Reader
from onym.datasets.drops import NO_ID, DropCounts
from onym.datasets.inputs import Inputs, members
from onym.kb.recipe import Recipe, SourceConfig
from onym.store.files.source import Source
from onym.types import Document, Mention, Notes

DICTIONARY = "test_dictionary.txt"
_MARKS = re.compile(r"[|+]")


def reader(archive: str) -> Reader:
    """Return a reader of an archive with folders `processed_train`, `processed_dev` and `processed_test`."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split in SPLITS:
            for doc in queries(inputs, archive, split, split, drops):
                yield split, _cut(doc, split, drops)

    return read


def dictionary(archive: str) -> Dictionary:
    """Return how the archive's dictionary for testing becomes a knowledge base: a row is one concept, whatever ids it has."""

    def build(inputs: Inputs) -> tuple[Recipe, dict[str, Source]]:
        source = SourceConfig(path=DICTIONARY, format="biosyn", name="biosyn")
        return Recipe(sources=(source,), merge=False), {DICTIONARY: members(inputs.source(archive), "", DICTIONARY)}

    return build


def queries(inputs: Inputs, archive: str, folder: str, split: str, drops: DropCounts) -> list[Document]:
    """Return the documents of a folder of queries in the order of their ids, however they were packed."""
    found = members(inputs.source(archive), f"processed_{folder}", "*.concept")
    return sorted(drops.iter_documents(split, biosyn.read(found)), key=attrgetter("id"))


def kept_notes(mention: Mention) -> Notes:
    """Return the notes that a prepared mention keeps: its offsets in the abstract, and its ids as the source wrote them."""
    return tuple(note for note in mention.notes if note[0] in (OFFSETS, KEY))


def parts_of(surface: str) -> list[str]:
    """Return the parts of a mention as BioSyn marks them.

    >>> parts_of("breast cancer|ovarian cancer")
    ['breast cancer', 'ovarian cancer']
    """
    return [part.strip() for part in _MARKS.split(surface) if part.strip()] or [surface]


def _cut(doc: Document, split: str, drops: DropCounts) -> Document:
    lines: list[tuple[str, Mention, Notes]] = []
    for number, mention in enumerate(doc.mentions, 1):
        if not mention.concept_ids:
            drops.drop(split, NO_ID)
            continue
        parts = parts_of(mention.surface)
        notes = kept_notes(mention)
        notes = (*notes, (PART_OF, str(number))) if len(parts) > 1 else notes
        lines += [(part, mention, notes) for part in parts]
    mentions, start = [], 0
    for part, mention, notes in lines:
        end = start + len(part)
        mentions.append(Mention(start, end, part, mention.concept_ids, mention.type, notes=notes))
        start = end + 1
    return Document(doc.id, "\n".join(part for part, _, _ in lines), tuple(mentions))
