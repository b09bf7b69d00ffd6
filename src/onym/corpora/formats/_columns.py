"""The columns of tables, and the keys of JSON objects, from which documents are made: guessed by name, or given.

A name is compared in lower case, with underscores for spaces, dots and hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from onym.corpora.base import ReadOptions
from onym.errors import InputError
from onym.store.files.source import InputFile
from onym.store.files.table import describe_columns, require_columns
from onym.types import Document, Passage

TITLES = frozenset({"title", "article_title"})
TEXTS = TITLES | {
    "abstract", "abstract_text", "body", "clinical_note", "comment", "comments", "content", "description", "free_text",
    "full_text", "narrative", "note", "note_body", "note_text", "notes", "report", "report_text", "sentence", "summary", "text",
}  # fmt: skip
"""Names of columns that are read as text."""
IDS = (
    "id",
    "pmid",
    "note_id",
    "doc_id",
    "document_id",
    "report_id",
    "text_id",
    "article_id",
    "record_id",
    "row_id",
    "pmcid",
    "doi",
)
"""Names of the column with the id of a document, the preferred ones first."""
_SEPARATORS = re.compile(r"[\s.\-]+")


def guess_columns(names: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Return options with the text columns and the id column of a table, as its names are written. Given ones are kept.

    >>> options = guess_columns(["PMID", "Title", "Journal", "Abstract"], ReadOptions())
    >>> options.text_columns, options.id_column
    (('Title', 'Abstract'), 'PMID')
    """
    by_name = {_normal(name): name for name in reversed(names)}
    texts = options.text_columns or tuple(name for name in names if _normal(name) in TEXTS)
    rest = [name for name in IDS if name in by_name and by_name[name] not in texts]
    return replace(options, text_columns=texts, id_column=options.id_column or (by_name[rest[0]] if rest else ""))


def resolve_columns(names: Sequence[str], options: ReadOptions, file: InputFile) -> ReadOptions:
    """Like `guess_columns`, but raise InputError if there is no text column, or if a given column is missing."""
    found = guess_columns(names, options)
    if not found.text_columns:
        raise InputError(
            "table-columns", "no column has a name by which it is known as text", where=file.name, fix=advice(names)
        )
    require_columns(names, [*found.text_columns, *([found.id_column] if found.id_column else [])], file)
    return found


def advice(names: Sequence[str], noun: str = "columns") -> str:
    """Return how to name the text columns, for an error message.

    >>> advice(["nr", "befund"])
    'give the columns with the text with --text-column; the columns are nr, befund'
    """
    return f"give the {noun} with the text with --text-column; {describe_columns(names).replace('columns', noun, 1)}"


def join_texts(document_id: str, texts: Sequence[tuple[str, str]]) -> Document:
    """Return a document of the texts of several columns, given as pairs of name and text.

    A title is followed by a space, as in PubMed and PubTator, every other text by a line break.

    >>> doc = join_texts("1", [("Title", "Fever."), ("Abstract", "It rose."), ("Note", "None.")])
    >>> doc.text, [passage.kind for passage in doc.passages]
    ('Fever. It rose.\\nNone.', ['title', 'abstract', 'note'])
    """
    if len(texts) == 1:
        return Document(document_id, texts[0][1])
    text = ""
    passages: list[Passage] = []
    for name, piece in texts:
        if piece.strip():
            text += "" if not passages else " " if passages[-1].kind == "title" else "\n"
            kind = _normal(name)
            passages.append(Passage(len(text), len(text) + len(piece), "title" if kind in TITLES else kind))
            text += piece
    return Document(document_id, text, passages=tuple(passages))


def _normal(name: str) -> str:
    return _SEPARATORS.sub("_", name.strip()).lower()
