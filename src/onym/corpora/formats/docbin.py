"""spaCy's `DocBin` (`*.spacy`): tokens of a blank English pipeline, entities, and all mentions as `doc.spans["onym"]`.

Data that spaCy cannot store, such as exact offsets within tokens, several ids per mention and notes, is kept in `doc.user_data`
under `onym_document`. If a user has edited the entities since then, the edited entities are used instead.

Files are parsed without spaCy's own reader, because that does not validate the lengths and indices in a file. Here, they are
checked against the size of the file before use, and no `Doc` is created.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from onym.corpora.base import ALL, Facet, Item, MalformedError, Output, Style, preserve_all
from onym.corpora.formats._files import any_looks, first_bytes
from onym.corpora.ids import ids_text, parse_ids_with_note
from onym.corpora.plain import Plain, from_plain, to_plain
from onym.errors import InputError, LimitError, missing_extra
from onym.store.files.source import InputFile, Source
from onym.store.guards.msgpack import MsgpackReader, inflate, inflate_first_bytes, require_ratio
from onym.store.limits import DEFAULT_LIMITS
from onym.text.boundaries import WholeTokens
from onym.types import Document, Mention

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.uint64]
    from spacy.language import Language
    from spacy.tokens import Doc, Span

ENTITY_ATTRS = ("ENT_IOB", "ENT_TYPE", "ENT_KB_ID", "ENT_ID")
_LISTS = ("cats", "flags", "span_groups", "user_data")
_INSIDE, _BEGIN = 1, 3  # values of spaCy's token attribute ENT_IOB
_BEGINNING = 64


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity: its first and last token, its offsets in the text, label and KB id."""

    first: int
    last: int
    start: int
    end: int
    label: str
    kb_id: str

    @property
    def key(self) -> list[Any]:
        """The values that identify an entity, as stored in msgpack."""
        return [self.first, self.last, self.label, self.kb_id]


@dataclass(frozen=True, slots=True)
class PackedDoc:
    """A document of a DocBin: text, entities and `user_data`."""

    where: str
    text: str
    entities: tuple[Entity, ...]
    user_data: dict[Any, Any]


def is_docbin(data: bytes) -> bool:
    """Return whether a file with these first bytes is a DocBin: a compressed map whose first key is `version` or `attrs`."""
    found = inflate_first_bytes(data, _BEGINNING)
    return found[:1] > b"\x80" and found[:1] < b"\x90" and (b"\xa7version" in found or b"\xa5attrs" in found)


def iter_packed(file: InputFile) -> Iterator[PackedDoc | MalformedError]:
    """Yield the documents of a file, with an error in place of each document that cannot be read."""
    data = inflate(file, file.limits.docbin_bytes)
    message = MsgpackReader(data, file.name, values=file.limits.docbin_values, limits=file.limits).value()
    packed = _Packed(message, file)
    size = 0
    for number in range(len(packed)):
        try:
            doc = packed.doc(number)
        except MalformedError as e:
            yield e
        else:
            size += len(doc.text)
            require_ratio(size, max(file.size, len(data) // file.limits.ratio), file)
            yield doc


class _Packed:
    """The validated content of a DocBin file."""

    def __init__(self, message: Any, file: InputFile) -> None:
        import numpy as np

        self._file = file
        if not isinstance(message, dict) or not isinstance(message.get("strings"), list):
            raise self._make_error("the file is not a DocBin")
        attrs = message.get("attrs")
        if not isinstance(attrs, list) or len(set(map(str, attrs))) != len(attrs):
            raise self._make_error("'attrs' is not a list of distinct attributes")
        self._strings = _strings_by_hash(message["strings"])
        lengths = self._array(message, "lengths", np.int32).astype(np.int64)
        lists = {name: message[name] for name in _LISTS if message.get(name) is not None}
        if not lists or not all(isinstance(each, list) and len(each) == len(lengths) for each in lists.values()):
            raise self._make_error("a list does not have one entry per document")
        tokens = self._array(message, "tokens", np.uint64)
        spaces = self._array(message, "spaces", np.uint8)
        if lengths.min(initial=0) < 0 or lengths.sum() != len(spaces) or len(tokens) != len(spaces) * len(attrs):
            raise self._make_error("the number of tokens does not match the lengths of the documents")
        self._columns = _columns(attrs, tokens)
        if "ORTH" not in self._columns:
            raise self._make_error("the tokens have no attribute ORTH")
        self._spaces, self._lists = spaces, lists
        self._bounds = list(pairwise([0, *np.cumsum(lengths).tolist()]))

    def __len__(self) -> int:
        return len(self._bounds)

    def doc(self, number: int) -> PackedDoc:
        """Return a document; raise MalformedError if it is too long."""
        where = f"{self._file.name}, document {number + 1}"
        start, end = self._bounds[number]
        words = [self._string(each, where) for each in self._columns["ORTH"][start:end].tolist()]
        spaces = self._spaces[start:end].astype(bool).tolist()
        flags = self._of("flags", number)
        if isinstance(flags, dict) and flags.get("has_unknown_spaces"):
            spaces = [True] * len(words)
        if sum(map(len, words)) + len(words) > self._file.limits.document_bytes:
            what = f"a document is longer than {self._file.limits.document_bytes:,} bytes"
            raise MalformedError(what, where, code="limit-record")
        text = "".join(word + " " if space else word for word, space in zip(words, spaces, strict=True))
        return PackedDoc(where, text, tuple(self._entities(start, end, words, spaces, where)), self._user_data(number, where))

    def _entities(self, start: int, end: int, words: list[str], spaces: list[bool], where: str) -> Iterator[Entity]:
        if not self._columns.keys() >= {"ENT_IOB", "ENT_TYPE"}:
            return
        states = self._columns["ENT_IOB"][start:end].tolist()
        offsets = [0]
        for word, space in zip(words, spaces, strict=True):
            offsets.append(offsets[-1] + len(word) + space)
        for first in (number for number, state in enumerate(states) if state == _BEGIN):
            last = first
            while last + 1 < len(states) and states[last + 1] == _INSIDE:
                last += 1
            label, kb_id = (self._cell(name, start + first, where) for name in ("ENT_TYPE", "ENT_KB_ID"))
            yield Entity(first, last, offsets[first], offsets[last] + len(words[last]), label, kb_id)

    def _cell(self, name: str, row: int, where: str) -> str:
        return self._string(int(self._columns[name][row]), where) if name in self._columns else ""

    def _user_data(self, number: int, where: str) -> dict[Any, Any]:
        data = self._of("user_data", number)
        if data is None:
            return {}
        if not isinstance(data, memoryview):
            raise MalformedError("'user_data' should be bytes", where)
        limits = self._file.limits
        try:
            found = MsgpackReader(data, where, values=limits.document_values, limits=limits).value()
        except (InputError, LimitError) as e:
            raise MalformedError.of(e) from e
        return found if isinstance(found, dict) else {}

    def _of(self, name: str, number: int) -> Any:
        return self._lists[name][number] if name in self._lists else None

    def _string(self, key: int, where: str) -> str:
        if key not in self._strings:
            raise MalformedError("a token refers to a string that is not in the file", where)
        return self._strings[key]

    def _array(self, message: dict[str, Any], name: str, kind: type[np.generic]) -> Any:
        import numpy as np

        data = message.get(name)
        if not isinstance(data, memoryview) or len(data) % np.dtype(kind).itemsize:
            raise self._make_error(f"{name!r} is not an array")
        return np.frombuffer(data, dtype=kind)

    def _make_error(self, what: str) -> InputError:
        fix = "write the file again with spaCy, or give its actual format with --from"
        return InputError("docbin-malformed", what, where=self._file.name, fix=fix)


def _strings_by_hash(strings: list[Any]) -> dict[int, str]:
    """Return a dict that maps spaCy hashes to the strings of a file."""
    try:
        from spacy.strings import get_string_id
    except ImportError as e:
        raise missing_extra("the format docbin", "spacy") from e
    return {0: ""} | {get_string_id(each): each for each in strings if isinstance(each, str)}


def _columns(attrs: list[Any], tokens: Column) -> dict[str, Column]:
    """Return a dict of attribute names and token columns, for the attributes that Onym reads."""
    from spacy.attrs import IDS

    table = tokens.reshape((-1, len(attrs))) if attrs else tokens.reshape((0, 0))
    return {name: table[:, attrs.index(IDS[name])] for name in ("ORTH", *ENTITY_ATTRS) if IDS[name] in attrs}


HOLDS: frozenset[Facet] = ALL
IS_FOLDER = False
DECODES = True
EXTENSIONS = (".spacy",)
preserved_facets = preserve_all

RECORD, GROUP = "onym_document", "onym"
_UNTYPED = "ENTITY"
_LONG_RUN = re.compile(r"(\S{500,})")  # spaCy's tokenizer takes quadratic time for such long runs without a space


def matches(source: Source) -> bool:
    """Return whether a file begins like a DocBin."""
    return any_looks(source, lambda file: is_docbin(first_bytes(file)))


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write one DocBin, which is built in memory; by default, ids have upper-case prefixes as in OBO (see `style`)."""
    nlp = _english()
    from spacy.tokens import DocBin

    packed, size = DocBin(attrs=ENTITY_ATTRS, store_user_data=True), 0
    with output.file() as file:
        for document in documents:
            packed.add(_doc(nlp, document, style))
            size += packed.tokens[-1].nbytes + len(packed.user_data[-1] or b"")
            if size > DEFAULT_LIMITS.docbin_bytes:
                what = f"a DocBin would have more than {DEFAULT_LIMITS.docbin_bytes:,} bytes"
                raise LimitError("limit-record", what, fix="write jsonl or parquet instead, or write fewer documents")
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
    """Return a document as plain values. If the entities were edited, they replace the stored mentions."""
    record = packed.user_data.get(RECORD)
    if not isinstance(record, dict):
        record = {"id": str(number)}
    elif record.get("entities") == [each.key for each in packed.entities]:
        return record | {"text": packed.text}
    mentions = [_mention(each) for each in packed.entities]
    return record | {"text": packed.text, "mentions": mentions, "relations": []}


def _mention(entity: Entity) -> Plain:
    concept_ids, notes = parse_ids_with_note(entity.kb_id, entity.label)
    return {
        "start": entity.start, "end": entity.end, "type": entity.label,
        "concept_ids": list(concept_ids), "notes": [list(note) for note in notes],
    }  # fmt: skip


def _doc(nlp: Language, document: Document, style: Style) -> Doc:
    """Convert a document to a spaCy `Doc`, and store what spaCy cannot represent in `user_data`."""
    from spacy.util import filter_spans

    doc = _tokenise(nlp, document.text)
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


def _tokenise(nlp: Language, text: str) -> Doc:
    """Tokenise a text; a very long run of characters without a space becomes one token."""
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
