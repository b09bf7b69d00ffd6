"""JSON objects with texts: JSON lines, a list of objects, or a single object. Read-only.

The keys with the text and the id are guessed by name, as for tables, or given with `--text-column` and `--id-column`. The texts
of several keys are joined, and are passages of the document. Without an id, it is the file name and the number of the object.
Documents with mentions are in another format, such as `jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from onym.corpora.base import Facet, Item, MalformedError, ReadOptions
from onym.corpora.formats._columns import TITLES, guess_columns, join_texts
from onym.corpora.formats._files import any_looks, head, id_of_file, is_json, iter_objects
from onym.corpora.formats._read_only import preserve_nothing, refuse_to_write
from onym.corpora.plain import identifier, string
from onym.store.files.json import keys_in
from onym.store.files.source import InputFile, Source
from onym.types import Document

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "passages"})
IS_FOLDER = False
preserved_facets, write = preserve_nothing, refuse_to_write

_ANNOTATED = ("mentions", "annotations", "denotations", "entities")
_SHOWN = 40  # maximum number of keys of the first object that are looked at
_ENDINGS = (".jsonl", ".ndjson", ".json")


def matches(source: Source) -> bool:
    """Return whether a file begins with a JSON object that has texts, but is none of Onym's own documents (`jsonl`)."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each object, with keys guessed by name."""
    return read_with(source, ReadOptions())


def read_with(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Yield a document for each object."""
    return (item for file in source.files for item in _read_file(file, options))


def first_keys(file: InputFile) -> tuple[list[str], bool]:
    """Return the keys of the first object of a file, as far as its first bytes show them, and whether they show it whole.

    >>> first_keys(InputFile.from_bytes("a.jsonl", b'{"title": "Fever", "year": 2020}'))
    (['title', 'year'], True)
    """
    return keys_in(head(file), _SHOWN) if is_json(file) else ([], False)


def _looks_right(file: InputFile) -> bool:
    keys, is_whole = first_keys(file)
    if any(key in _ANNOTATED for key in keys):
        return False
    has_more = not TITLES.isdisjoint(keys) or "abstract" in keys
    is_onyms_own = "text" in keys and ("id" in keys or not is_whole) and not has_more
    return not is_onyms_own and bool(guess_columns(keys, ReadOptions()).text_columns)


def _read_file(file: InputFile, options: ReadOptions) -> Iterator[Item]:
    stem = id_of_file(file)
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending)
    for number, (where, plain) in enumerate(iter_objects(file), 1):
        try:
            if isinstance(plain, MalformedError):
                raise plain
            yield _document(plain, options, f"{stem}.{number}", where)
        except MalformedError as e:
            yield e.problem(f"{stem}.{number}")


def _document(plain: dict[str, Any], options: ReadOptions, document_id: str, where: str) -> Document:
    if annotated := next((key for key in _ANNOTATED if key in plain), ""):
        raise MalformedError(f"a document has {annotated!r}, which records cannot hold; give its format with --from", where)
    present = list(islice((key for key in plain if plain[key] is not None), _SHOWN))
    found = guess_columns(present, options)
    if not any(key in plain for key in found.text_columns):
        raise MalformedError("no key is known as text; give the keys with the text with --text-column", where)
    document_id = identifier(plain, found.id_column, where) or document_id
    return join_texts(document_id, [(key, string(plain, key, where)) for key in found.text_columns])
