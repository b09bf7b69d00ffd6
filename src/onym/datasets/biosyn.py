"""BioSyn's queries: without context, or inserted into the abstracts as GenBioEL and ANGEL do.

With BioSyn's reader, each `.concept` file is a document. Its text is the mentions, one per line, with composites split into
parts.

With GenBioEL's reader, each mention of the NCBI disease corpus is a document. Its text is the lower-cased abstract, in which
BioSyn's form of the mention (only the first part of a composite) replaces the original words. Train contains the mentions of
train **and of dev** that have one id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from operator import attrgetter

from onym.corpora.base import PART_OF
from onym.corpora.formats import biosyn, pubtator
from onym.corpora.formats.biosyn import OFFSETS
from onym.corpora.ids import KEY
from onym.datasets.base import NO_ID, SPLITS, DatasetFiles, Dictionary, DropCounts, Reader, members
from onym.kb.recipe import Recipe, SourceConfig
from onym.store.files.source import Source
from onym.types import Document, Mention, Notes, Problem

DICTIONARY = "test_dictionary.txt"
_MARKS = re.compile(r"[|+]")
COMPOSITE_IN_TRAIN = "a composite, left out of train"
DOCUMENT = "document"
"""Document note with the id of the abstract that the document was made from."""
_FOLDERS = {"train": ("train", "dev"), "dev": ("dev",), "test": ("test",)}


def biosyn_reader(archive: str) -> Reader:
    """Return a reader of a BioSyn archive, which has the folders `processed_train`, `processed_dev` and `processed_test`."""

    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split in SPLITS:
            for doc in queries(inputs, archive, split, split, drops):
                yield split, _cut_composites(doc, split, drops)

    return read


def biosyn_dictionary(archive: str) -> Dictionary:
    """Return a function that builds a KB from the archive's test dictionary. Each row is one concept, even with several ids."""

    def build(inputs: DatasetFiles) -> tuple[Recipe, dict[str, Source]]:
        source = SourceConfig(path=DICTIONARY, format="biosyn", name="biosyn")
        return Recipe(sources=(source,), merge=False), {DICTIONARY: members(inputs.source(archive), "", DICTIONARY)}

    return build


def queries(inputs: DatasetFiles, archive: str, folder: str, split: str, drops: DropCounts) -> list[Document]:
    """Return the documents of a folder of query files, sorted by id, so that the order in the archive does not matter."""
    found = members(inputs.source(archive), f"processed_{folder}", "*.concept")
    return sorted(drops.iter_documents(split, biosyn.read(found)), key=attrgetter("id"))


def select_notes(mention: Mention) -> Notes:
    """Return the notes to keep in a prepared mention: its offsets in the abstract, and its ids as spelled in the source."""
    return tuple(note for note in mention.notes if note[0] in (OFFSETS, KEY))


def parts_of(surface: str) -> list[str]:
    """Split a mention into the parts that BioSyn separates with `|` or `+`.

    >>> parts_of("breast cancer|ovarian cancer")
    ['breast cancer', 'ovarian cancer']
    """
    return [part.strip() for part in _MARKS.split(surface) if part.strip()] or [surface]


def _cut_composites(doc: Document, split: str, drops: DropCounts) -> Document:
    lines: list[tuple[str, Mention, Notes]] = []
    for number, mention in enumerate(doc.mentions, 1):
        if not mention.concept_ids:
            drops.drop(split, NO_ID)
            continue
        parts = parts_of(mention.surface)
        notes = select_notes(mention)
        notes = (*notes, (PART_OF, str(number))) if len(parts) > 1 else notes
        lines += [(part, mention, notes) for part in parts]
    mentions, start = [], 0
    for part, mention, notes in lines:
        end = start + len(part)
        mentions.append(Mention(start, end, part, mention.concept_ids, mention.type, notes=notes))
        start = end + 1
    return Document(doc.id, "\n".join(part for part, _, _ in lines), tuple(mentions))


def genbioel_reader(archive: str, raw: Mapping[str, str]) -> Reader:
    """Return a reader of a BioSyn archive for GenBioEL's setting. `raw` maps splits to paths of the original corpus files."""

    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        abstracts = {folder: _abstracts(inputs, path) for folder, path in raw.items()}
        for split, folders in _FOLDERS.items():
            for folder in folders:
                for doc in queries(inputs, archive, folder, split, drops):
                    for made in _in_context(doc, abstracts[folder].get(doc.id), split, drops):
                        yield split, made

    return read


def _abstracts(inputs: DatasetFiles, path: str) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for item in pubtator.read(inputs.source(path)):
        if not isinstance(item, Problem):
            found.setdefault(item.id, item)
    return found


def _in_context(doc: Document, abstract: Document | None, split: str, drops: DropCounts) -> Iterator[Document]:
    number = 0
    for mention in doc.mentions:
        if not mention.concept_ids:
            drops.drop(split, NO_ID)
        elif split == "train" and len(mention.concept_ids) > 1:
            drops.drop(split, COMPOSITE_IN_TRAIN)
        else:
            number += 1
            before, after, is_annotated = _context(abstract, dict(mention.notes).get(OFFSETS, ""))
            if not is_annotated:
                drops.problems[split]["corpus-offsets"] += 1
            yield _mention_in_context(f"{doc.id}.{number}", doc.id, mention, (before.lower(), after.lower()))


def _mention_in_context(document_id: str, abstract_id: str, mention: Mention, context: tuple[str, str]) -> Document:
    before, after = context
    surface = parts_of(mention.surface)[0].lower()
    start, end = len(before), len(before) + len(surface)
    in_context = Mention(start, end, surface, mention.concept_ids, mention.type, notes=select_notes(mention))
    return Document(document_id, before + surface + after, (in_context,), notes=((DOCUMENT, abstract_id),))


def _context(abstract: Document | None, offsets: str) -> tuple[str, str, bool]:
    """Return the text before and after a mention ("" if its offsets are invalid), and whether the corpus annotates the span."""
    start, _, end = offsets.partition("|")
    if abstract is None or not (start.isdecimal() and end.isdecimal()):
        return "", "", False
    first, last = int(start), int(end)
    if not first < last <= len(abstract.text):
        return "", "", False
    is_annotated = any((mention.start, mention.end) == (first, last) for mention in abstract.mentions)
    return abstract.text[:first], abstract.text[last:], is_annotated
