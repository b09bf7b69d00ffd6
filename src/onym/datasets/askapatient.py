"""AskAPatient's folds: every phrase is a document. The names are the labels of the concepts and the fold's training phrases."""

from __future__ import annotations

from collections.abc import Iterator

from onym.corpora.base import documents_of
from onym.corpora.formats import askapatient
from onym.datasets.base import Dictionary, Reader
from onym.datasets.drops import DropCounts
from onym.datasets.inputs import Inputs
from onym.kb.recipe import Recipe, SourceConfig
from onym.store.files.source import InputFile, Source
from onym.types import Document, NameKind

_FILES = {"train": "train", "dev": "validation", "test": "test"}
_TABLE = "names.tsv"


def files_of(fold: int) -> dict[str, str]:
    """Return the files of a fold by split."""
    return {split: f"askapatient/AskAPatient.fold-{fold}.{word}.txt" for split, word in _FILES.items()}


def reader(fold: int) -> Reader:
    """Return a reader of a fold."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files_of(fold).items():
            for doc in drops.iter_documents(split, askapatient.read(inputs.source(path))):
                if (kept := drops.with_ids(split, doc)).mentions:
                    yield split, kept

    return read


def dictionary(fold: int) -> Dictionary:
    """Return how the labels and phrases of a fold's training file become a knowledge base."""

    def build(inputs: Inputs) -> tuple[Recipe, dict[str, Source]]:
        rows = [row for doc in documents_of(askapatient.read(inputs.source(files_of(fold)["train"]))) for row in rows_of(doc)]
        lines = ["\t".join(map(_quoted, row)) for row in dict.fromkeys([("id", "name", "kind"), *rows])]
        table = InputFile.from_bytes(_TABLE, "".join(f"{line}\n" for line in lines).encode())
        source = SourceConfig(path=_TABLE, format="table", name="askapatient", prefix="snomedct")
        return Recipe(sources=(source,)), {_TABLE: Source.of_files(_TABLE, [table])}

    return build


def rows_of(doc: Document) -> Iterator[tuple[str, str, str]]:
    """Yield the ids, names and kinds of names that a phrase gives: the labels of its concepts, and itself."""
    for mention in doc.mentions:
        label = dict(mention.notes).get(askapatient.NAME, mention.surface)
        for concept_id in mention.concept_ids:
            yield concept_id, label, NameKind.PREFERRED.label
            if label != mention.surface:
                yield concept_id, mention.surface, NameKind.EXACT.label


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
