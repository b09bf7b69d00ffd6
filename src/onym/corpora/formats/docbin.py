"""spaCy's `DocBin`, `*.spacy`: tokens of a blank English pipeline, entities, and all mentions as `doc.spans["onym"]`.

What spaCy has no room for, such as exact offsets within tokens, several ids of a mention and notes, is in `doc.user_data` under
`onym_document`. It is read as long as the entities are those that were written; else somebody has edited them, and they count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from onym.corpora.base import ALL, Facet, Item, MalformedError, Output, Style, preserve_all
from onym.corpora.formats._docbin import ENTITY_ATTRS, Entity, PackedDoc, is_docbin, iter_packed
from onym.corpora.formats._files import any_looks, first_bytes
from onym.corpora.ids import ids_text, noted_ids
from onym.corpora.plain import Plain, from_plain, to_plain
from onym.errors import LimitError, missing_extra
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS
from onym.text.boundaries import WholeTokens
from onym.types import Document, Mention

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

HOLDS: frozenset[Facet] = ALL
IS_FOLDER = False
EXTENSIONS = (".spacy",)
preserved_facets = preserve_all

RECORD, GROUP = "onym_document", "onym"
_UNTYPED = "ENTITY"
_LONG_RUN = re.compile(r"(\S{500,})")  # over which the time of spaCy's tokenizer is quadratic


def matches(source: Source) -> bool:
    """Tell whether a file begins as a DocBin does."""
    return any_looks(source, lambda file: is_docbin(first_bytes(file)))


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write one DocBin, which is made in memory; ids are as their users write them, or in that style."""
    nlp = _english()
    from spacy.tokens import DocBin

    packed, size = DocBin(attrs=ENTITY_ATTRS, store_user_data=True), 0
    with output.file() as file:
        for document in documents:
            packed.add(_doc(nlp, document, style))
            size += packed.tokens[-1].nbytes + len(packed.user_data[-1] or b"")
            if size > DEFAULT_LIMITS.docbin_bytes:
                what = f"a DocBin would have more than {DEFAULT_LIMITS.docbin_bytes:,} bytes"
                raise LimitError("limit-record", what, fix="write jsonl or parquet, or fewer documents at once")
        file.write(packed.to_bytes())


def _read_file(file: InputFile) -> Iterator[Item]:
    for number, packed in enumerate(iter_packed(file), 1):
        try:
            if isinstance(packed, MalformedError):
                raise packed
            yield from from_plain(_plain(packed, number), packed.where)
        except MalformedError as e:
            yield e.problem()


def _plain(packed: PackedDoc, number: int) -> Plain:
    """Return a document as plain values: as it was written, or with the entities that somebody has put there since."""
    record = packed.user_data.get(RECORD)
    if not isinstance(record, dict):
        record = {"id": str(number)}
    elif record.get("entities") == [each.key for each in packed.entities]:
        return record | {"text": packed.text}
    mentions = [_mention(each) for each in packed.entities]
    return record | {"text": packed.text, "mentions": mentions, "relations": []}


def _mention(entity: Entity) -> Plain:
    concept_ids, notes = noted_ids(entity.kb_id, entity.label)
    return {
        "start": entity.start, "end": entity.end, "type": entity.label,
        "concept_ids": list(concept_ids), "notes": [list(note) for note in notes],
    }  # fmt: skip


def _doc(nlp: Language, document: Document, style: Style) -> Doc:
    """Return a document as spaCy has it, with its record."""
    from spacy.util import filter_spans

    doc = _tokenised(nlp, document.text)
    tokens = WholeTokens(doc)
    spans = [_span(tokens, mention, style) for mention in document.mentions]
    doc.spans[GROUP] = spans
    doc.ents = filter_spans(spans)
    record: dict[str, Any] = to_plain(document)
    del record["text"]
    record["entities"] = [[ent.start, ent.end - 1, ent.label_, ent.kb_id_] for ent in doc.ents]
    doc.user_data = {RECORD: record}
    return doc


def _span(tokens: WholeTokens, mention: Mention, style: Style) -> Span:
    kb_id = ids_text(mention.concept_ids, mention.type, style=style or "obo")
    return tokens.span(mention.start, mention.end, mention.type or _UNTYPED, kb_id, mention.id)


def _tokenised(nlp: Language, text: str) -> Doc:
    """Return a text in tokens. A run of many characters without a space is one token."""
    from spacy.tokens import Doc

    words: list[str] = []
    spaces: list[bool] = []
    for number, part in enumerate(_LONG_RUN.split(text)):
        if number % 2:
            words.append(part)
            spaces.append(False)
        else:
            tokens = nlp.tokenizer(part)
            words += [token.text for token in tokens]
            spaces += [bool(token.whitespace_) for token in tokens]
    return Doc(nlp.vocab, words=words, spaces=spaces)


@cache
def _english() -> Language:
    try:
        import spacy
    except ImportError as e:
        raise missing_extra("the format docbin", "spacy") from e
    return spacy.blank("en")
