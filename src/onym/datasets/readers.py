"""Readers of published corpora, one for each way of keeping splits and composites.

BC5CDR is read as by GenBioEL: composites with a column of fragments are cut where that is easy, and dropped where it is not. A
composite is cut if its fragments, joined by spaces, are the mention, or if there are two of them around " and " or " or "; each
piece has the id at its position. A mention with several ids but no fragments keeps them all.

Every phrase of AskAPatient is a document; its dictionary has the labels of the concepts and the fold's training phrases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from onym.corpora.base import documents_of
from onym.corpora.formats import askapatient, cometa, hpo_gsc, pubtator
from onym.corpora.ids import parsed_ids, written_ids
from onym.datasets.base import NO_ID, SPLITS, Dictionary, DropCounts, Inputs, Reader, members
from onym.kb.recipe import Recipe, SourceConfig
from onym.store.files.lines import iter_lines
from onym.store.files.source import InputFile, Source
from onym.types import Document, Mention, NameKind, Problem

DUPLICATE = "duplicate document"
COMPOSITE = "a composite that cannot be cut"
WHOLE = "composite"
"""The note of a piece: the offsets of its composite."""
_FRAGMENTS = "parts"  # the note that PubTator's reader makes of the seventh column
_JOINTS = (" and ", " or ")
NO_SPLIT = "the document is in no list"
_ASKAPATIENT_WORDS = {"train": "train", "dev": "validation", "test": "test"}
_ASKAPATIENT_TABLE = "names.tsv"


def pubtator_reader(files: Mapping[str, str], *, dev: int = 0) -> Reader:
    """Return a reader of files by split; the last `dev` documents of train are dev where it has no file of its own."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            found = list(pubtator.read(inputs.source(path)))
            count = sum(isinstance(item, Document) for item in found)
            for number, doc in enumerate(drops.iter_documents(split, found)):
                own = "dev" if dev and split == "train" and number >= count - dev else split
                yield own, drops.with_ids(own, doc)

    return read


def unique_pubtator_reader(files: Mapping[str, str]) -> Reader:
    """Return a reader that drops duplicate documents of a file: NCBI's training set has PMID 8528200 twice."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        seen: set[tuple[str, str]] = set()
        for split, doc in pubtator_reader(files)(inputs, drops):
            if (split, doc.id) in seen:
                drops.drop(split, DUPLICATE, len(doc.mentions))
            else:
                seen.add((split, doc.id))
                yield split, doc

    return read


def bc5cdr_reader(files: Mapping[str, str]) -> Reader:
    """Return a reader of files by split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            for doc in drops.iter_documents(split, pubtator.read(inputs.source(path))):
                yield split, replace(doc, mentions=tuple(_kept_mentions(doc, split, drops)))

    return read


def _kept_mentions(doc: Document, split: str, drops: DropCounts) -> Iterator[Mention]:
    for mention in doc.mentions:
        pieces = cut(mention)
        if not pieces:
            drops.drop(split, COMPOSITE)
        for piece in pieces:
            if piece.concept_ids:
                yield piece
            else:
                drops.drop(split, NO_ID)


def cut(mention: Mention) -> list[Mention]:
    """Return the pieces of a composite, each with its own id; none if it cannot be cut, and other mentions as they are.

    >>> notes = (("parts", "renal failure|liver failure"),)
    >>> whole = Mention(4, 27, "renal and liver failure", ("mesh:D051437", "mesh:D017093"), "Disease", notes=notes)
    >>> [(piece.start, piece.end, piece.concept_ids) for piece in cut(whole)]
    [(4, 9, ('mesh:D051437',)), (14, 27, ('mesh:D017093',))]
    """
    ids, fragments = written_ids(mention).split("|"), dict(mention.notes).get(_FRAGMENTS)
    if len(ids) == 1 or fragments is None:
        return [mention]
    joint = _joint(mention.surface, fragments.split("|"))
    texts = fragments.split("|") if joint == " " else mention.surface.split(joint) if joint else []
    if not all(texts):
        return []
    pieces, start = [], mention.start
    for text, concept_id in zip(texts, ids, strict=False):  # as published: what has no partner is lost
        end = start + len(text)
        notes = ((WHOLE, f"{mention.start}|{mention.end}"),)
        pieces.append(Mention(start, end, text, parsed_ids(concept_id, mention.type), mention.type, notes=notes))
        start = end + len(joint)
    return pieces


def _joint(surface: str, fragments: list[str]) -> str:
    if " ".join(fragments) == surface:
        return " "
    return next((joint for joint in _JOINTS if len(fragments) == 2 and joint in surface), "")


def medmentions_reader(corpus: str, lists: Mapping[str, str]) -> Reader:
    """Return a reader of the corpus; `lists` names the file of PMIDs of each split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        split_of = {pmid: split for split, path in lists.items() for pmid in _pmids(inputs, path)}
        documents: dict[str, list[Document]] = {split: [] for split in SPLITS}
        for item in pubtator.read(inputs.source(corpus)):
            split = split_of.get(item.document_id if isinstance(item, Problem) else item.id, "")
            for doc in drops.iter_documents(split or SPLITS[0], [item]):
                if split:
                    documents[split].append(drops.with_ids(split, doc))
                else:
                    drops.drop(SPLITS[0], NO_SPLIT, len(doc.mentions))
        for split, found in documents.items():
            yield from ((split, doc) for doc in found)

    return read


def _pmids(inputs: Inputs, path: str) -> list[str]:
    return [line.text.strip() for file in inputs.source(path).files for line in iter_lines(file) if line.text.strip()]


def hpo_gsc_reader(archive: str, files: Mapping[str, str]) -> Reader:
    """Return a reader of an archive's files by split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, name in files.items():
            for doc in drops.iter_documents(split, hpo_gsc.read(members(inputs.source(archive), "", name))):
                yield split, drops.with_ids(split, doc)

    return read


def cometa_reader(files: Mapping[str, str]) -> Reader:
    """Return a reader of tables by split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            for doc in drops.iter_documents(split, cometa.read(inputs.source(path))):
                if (kept := drops.with_ids(split, doc)).mentions:
                    yield split, kept

    return read


def askapatient_files(fold: int) -> dict[str, str]:
    """Return the files of a fold by split."""
    return {split: f"askapatient/AskAPatient.fold-{fold}.{word}.txt" for split, word in _ASKAPATIENT_WORDS.items()}


def askapatient_reader(fold: int) -> Reader:
    """Return a reader of a fold."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in askapatient_files(fold).items():
            for doc in drops.iter_documents(split, askapatient.read(inputs.source(path))):
                if (kept := drops.with_ids(split, doc)).mentions:
                    yield split, kept

    return read


def askapatient_dictionary(fold: int) -> Dictionary:
    """Return how the labels and phrases of a fold's training file become a knowledge base."""

    def build(inputs: Inputs) -> tuple[Recipe, dict[str, Source]]:
        rows = [
            row
            for doc in documents_of(askapatient.read(inputs.source(askapatient_files(fold)["train"])))
            for row in dictionary_rows(doc)
        ]
        lines = ["\t".join(map(_quoted, row)) for row in dict.fromkeys([("id", "name", "kind"), *rows])]
        table = InputFile.from_bytes(_ASKAPATIENT_TABLE, "".join(f"{line}\n" for line in lines).encode())
        source = SourceConfig(path=_ASKAPATIENT_TABLE, format="table", name="askapatient", prefix="snomedct")
        return Recipe(sources=(source,)), {_ASKAPATIENT_TABLE: Source.of_files(_ASKAPATIENT_TABLE, [table])}

    return build


def dictionary_rows(doc: Document) -> Iterator[tuple[str, str, str]]:
    """Yield the ids, names and kinds of names that a phrase gives: the labels of its concepts, and itself."""
    for mention in doc.mentions:
        label = dict(mention.notes).get(askapatient.NAME, mention.surface)
        for concept_id in mention.concept_ids:
            yield concept_id, label, NameKind.PREFERRED.label
            if label != mention.surface:
                yield concept_id, mention.surface, NameKind.EXACT.label


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
