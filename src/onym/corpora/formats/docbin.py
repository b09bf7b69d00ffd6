"""spaCy's `DocBin`, `*.spacy`: tokens of a blank English pipeline, entities, and all mentions as `doc.spans["onym"]`.

What spaCy has no room for, such as exact offsets within tokens, several ids of a mention and notes, is in `doc.user_data` under
`onym_document`. It is read as long as the entities are those that were written; else somebody has edited them, and they count.

Files are read without spaCy's own reader, which takes the numbers of such a file as they are. Here each is compared with the
file's bounds before it is used, and no `Doc` is made.
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
_INSIDE, _BEGIN = 1, 3  # of ENT_IOB
_BEGINNING = 64


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity by its tokens, with its offsets in the text."""

    first: int
    last: int
    start: int
    end: int
    label: str
    kb_id: str

    @property
    def key(self) -> list[Any]:
        """What must be equal for an entity to be the same one, as msgpack keeps it."""
        return [self.first, self.last, self.label, self.kb_id]


@dataclass(frozen=True, slots=True)
class PackedDoc:
    """A document of a DocBin: its text, its entities, and what it carries in `user_data`."""

    where: str
    text: str
    entities: tuple[Entity, ...]
    user_data: dict[Any, Any]


def is_docbin(data: bytes) -> bool:
    """Tell whether a file that begins so is a DocBin: a packed map whose first key is the version or the attributes."""
    found = inflate_first_bytes(data, _BEGINNING)
    return found[:1] > b"\x80" and found[:1] < b"\x90" and (b"\xa7version" in found or b"\xa5attrs" in found)


def iter_packed(file: InputFile) -> Iterator[PackedDoc | MalformedError]:
    """Yield the documents of a file; one that cannot be read as an error."""
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
    """A DocBin as its file has it."""

    def __init__(self, message: Any, file: InputFile) -> None:
        import numpy as np

        self._file = file
        if not isinstance(message, dict) or not isinstance(message.get("strings"), list):
            raise self._make_error("it is no DocBin")
        attrs = message.get("attrs")
        if not isinstance(attrs, list) or len(set(map(str, attrs))) != len(attrs):
            raise self._make_error("its attributes are no list")
        self._strings = _strings_by_hash(message["strings"])
        lengths = self._array(message, "lengths", np.int32).astype(np.int64)
        lists = {name: message[name] for name in _LISTS if message.get(name) is not None}
        if not lists or not all(isinstance(each, list) and len(each) == len(lengths) for each in lists.values()):
            raise self._make_error("its lists have other lengths than its documents")
        tokens = self._array(message, "tokens", np.uint64)
        spaces = self._array(message, "spaces", np.uint8)
        if lengths.min(initial=0) < 0 or lengths.sum() != len(spaces) or len(tokens) != len(spaces) * len(attrs):
            raise self._make_error("its tokens are not those of its documents")
        self._columns = _columns(attrs, tokens)
        if "ORTH" not in self._columns:
            raise self._make_error("its tokens have no words")
        self._spaces, self._lists = spaces, lists
        self._bounds = list(pairwise([0, *np.cumsum(lengths).tolist()]))

    def __len__(self) -> int:
        return len(self._bounds)

    def doc(self, number: int) -> PackedDoc:
        """Return a document; its text is no longer than a document may be."""
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
            raise MalformedError("a token has a string that is not in the file", where)
        return self._strings[key]

    def _array(self, message: dict[str, Any], name: str, kind: type[np.generic]) -> Any:
        import numpy as np

        data = message.get(name)
        if not isinstance(data, memoryview) or len(data) % np.dtype(kind).itemsize:
            raise self._make_error(f"{name!r} is no array")
        return np.frombuffer(data, dtype=kind)

    def _make_error(self, what: str) -> InputError:
        return InputError("docbin-malformed", what, where=self._file.name, fix="write it again, or name its format")


def _strings_by_hash(strings: list[Any]) -> dict[int, str]:
    """Return the strings of a file by the numbers that spaCy gives them."""
    try:
        from spacy.strings import get_string_id
    except ImportError as e:
        raise missing_extra("the format docbin", "spacy") from e
    return {0: ""} | {get_string_id(each): each for each in strings if isinstance(each, str)}


def _columns(attrs: list[Any], tokens: Column) -> dict[str, Column]:
    """Return the columns of tokens that are read, by name."""
    from spacy.attrs import IDS

    table = tokens.reshape((-1, len(attrs))) if attrs else tokens.reshape((0, 0))
    return {name: table[:, attrs.index(IDS[name])] for name in ("ORTH", *ENTITY_ATTRS) if IDS[name] in attrs}


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
    concept_ids, notes = parse_ids_with_note(entity.kb_id, entity.label)
    return {
        "start": entity.start, "end": entity.end, "type": entity.label,
        "concept_ids": list(concept_ids), "notes": [list(note) for note in notes],
    }  # fmt: skip


def _doc(nlp: Language, document: Document, style: Style) -> Doc:
    """Return a document as spaCy has it, with its record."""
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
