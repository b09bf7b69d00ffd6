"""Hypothesis strategies for documents, and round trips through corpus formats."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import BinaryIO, get_args

from hypothesis import strategies as st

from onym.corpora.base import Format, Item, Style
from onym.corpora.corpus import view
from onym.corpora.plain import with_answers
from onym.store.files.source import InputFile, Source
from onym.types import AssertionMark, Candidate, Document, Link, LinkedDocument, Mention, Notes, Passage, Problem, Relation

# Letters, astral and combining characters, separators of formats, line ends, and characters that XML forbids.
ALPHABET = "abAB 01\u03b1\u00e9\u0301\u200d\U0001f9ec\U00010348|\t\"'<>&;:,#%[]{}\\\n\r\x01\x85\u2028\ufeff"
PLAIN = "abcXYZ019 \u03b1\u0301\U0001f9ec-"
_text = st.text(ALPHABET, max_size=40) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_word = st.text(PLAIN, min_size=1, max_size=6) | st.text(ALPHABET, min_size=1, max_size=4)
_concept_id = st.sampled_from(
    [
        *("mesh:D003924", "mesh:C000657245", "umls:C0011860", "omim:125853", "hp:0000118", "ncbigene:7157", "ncbitaxon:9606"),
        *(
            "mesh:D1",
            "chebi:1",
            "cellosaurus:CVCL_0224",
            "dbsnp:rs12",
            "tmvar:c|SUB|A|1|T",
            "snomedct:44054006",
            "a:b:c",
            "x:y,z",
        ),
    ]
)
_type = st.sampled_from(["", "Disease", "Chemical", "Gene", "Species", "CellLine", "ProteinMutation", "T047"]) | _word
_notes: st.SearchStrategy[Notes] = st.lists(
    st.tuples(st.sampled_from(["ids", "parts", "MESH", "id", "k"]) | _word, _text | st.sampled_from(["D003924", "-1"])),
    max_size=2,
).map(tuple)


@st.composite
def _mentions(draw: st.DrawFn, text: str) -> Mention:
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    parts: tuple[tuple[int, int], ...] = ()
    if end - start > 2 and draw(st.booleans()):
        middle = draw(st.integers(start + 1, end - 1))
        parts = ((start, middle), (min(middle + 1, end - 1), end))
    concept_ids = tuple(draw(st.lists(_concept_id, max_size=3)))
    return Mention(start, end, text[start:end], concept_ids, draw(_type), draw(st.just("") | _word), parts, draw(_notes))


@st.composite
def _passages(draw: st.DrawFn, text: str) -> tuple[Passage, ...]:
    kind = draw(st.sampled_from(["title and abstract", "none", "any"]))
    if kind == "none":
        return ()
    if kind == "title and abstract" and " " in text[:-1]:
        cut = text.index(" ")
        return Passage(0, cut, "title"), Passage(cut + 1, len(text), "abstract")
    offsets = sorted(draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=4)))
    return tuple(Passage(a, b, draw(_type), draw(_notes)) for a, b in pairwise(offsets))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Draw any document: nested, overlapping and discontinuous mentions, composites, passages, relations, notes."""
    text = draw(_text)
    mentions = tuple(draw(st.lists(_mentions(text), max_size=3))) if text else ()
    named = [mention.id for mention in mentions if mention.id] or ["mesh:D003924"]
    argument = st.sampled_from(named) | _concept_id
    relations = st.builds(
        Relation,
        st.sampled_from(["CID", "Association"]) | _word,
        st.tuples(st.tuples(st.just("Arg1"), argument), st.tuples(st.sampled_from(["Arg2", "Arg2", "x"]), argument)),
        st.just("") | st.sampled_from(["R1", "R2"]) | _word,
        _notes,
    )
    ids = st.sampled_from(["1", "PMC12", "a b", "7#2"]) | _word
    found = tuple(draw(st.lists(relations, max_size=2)))
    document = Document(draw(ids), text, mentions, draw(_passages(text)), found, draw(_notes))
    return _tidy(document) if draw(st.booleans()) else document


def _tidy(document: Document) -> Document:
    """Return a simplified copy of a document: numbered ids, relations between mentions only, no notes."""
    mentions = [replace(each, id=f"T{n}", type=each.type or "Disease", notes=()) for n, each in enumerate(document.mentions, 1)]
    passages = [replace(each, notes=()) for each in document.passages]
    relations = [
        Relation(each.type, (("Arg1", mentions[0].id), ("Arg2", mentions[-1].id)), f"R{n}")
        for n, each in enumerate(document.relations, 1)
        if mentions
    ]
    return Document(document.id, document.text, tuple(mentions), tuple(passages), tuple(relations))


_score = st.floats(allow_nan=False, allow_infinity=False)
_candidates = st.lists(st.builds(Candidate, _concept_id, _word, _score), max_size=3).map(tuple)


@st.composite
def draw_linked_documents(draw: st.DrawFn) -> LinkedDocument:
    """Draw any document with links, or with problems."""
    document = draw(documents())
    if draw(st.integers(0, 3)) == 0:
        problem = st.builds(Problem, st.just(document.id), st.sampled_from(["limit-record", "internal-error"]), _text, _text)
        return LinkedDocument(document, problems=tuple(draw(st.lists(problem, min_size=1, max_size=2))))
    return LinkedDocument(document, tuple(draw(_links(mention)) for mention in document.mentions))


def _links(mention: Mention) -> st.SearchStrategy[Link]:
    return st.builds(
        Link,
        st.just(mention),
        _candidates,
        detection_score=st.none() | _score,
        stage=st.none() | st.sampled_from(["exact", "generative"]),
        confidence=st.none() | st.floats(0, 1),
        nil_reason=st.none() | st.just("below-threshold"),
        assertion=st.none() | st.lists(st.sampled_from(get_args(AssertionMark)), max_size=2, unique=True).map(tuple),
    )


def after_round_trip(linked: LinkedDocument) -> LinkedDocument:
    """Return a linked document as it is read back from a file: each mention has the concept id of its link."""
    document = with_answers(linked)
    links = (replace(link, mention=own) for link, own in zip(linked.links, document.mentions, strict=True))
    return replace(linked, document=document, links=tuple(links))


@st.composite
def lists_of_mentions(draw: st.DrawFn) -> Document:
    """Draw a document that consists only of mentions, one per line."""
    surfaces = draw(st.lists(_word.map(lambda word: word.replace("\n", " ")), min_size=1, max_size=2))
    mentions, start = [], 0
    for surface in surfaces:
        ids = tuple(draw(st.lists(_concept_id, max_size=2)))
        mentions.append(Mention(start, start + len(surface), surface, ids, draw(_type), notes=draw(_notes)))
        start += len(surface) + 1
    return Document(draw(_word), "\n".join(surfaces), tuple(mentions), notes=draw(_notes))


class MemoryOutput:
    """An in-memory output."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    @contextmanager
    def file(self, name: str = "") -> Iterator[BinaryIO]:
        """Open a file with this name for writing."""
        file = io.BytesIO()
        yield file
        assert name not in self.files
        self.files[name] = file.getvalue()

    def source(self, name: str = "corpus") -> Source:
        """Return the files as a source to read."""
        return Source.of_files(name, [InputFile.from_bytes(key or name, data) for key, data in self.files.items()])


def source_of(**files: str | bytes) -> Source:
    """Return a source with the given files; `__` in a name means a dot."""
    made = [
        InputFile.from_bytes(name.replace("__", "."), data.encode() if isinstance(data, str) else data)
        for name, data in files.items()
    ]
    return Source.of_files("corpus", made)


def write_to_memory(form: Format, docs: Iterable[Document], style: Style = "") -> dict[str, bytes]:
    """Return the files that a format writes, by name."""
    output = MemoryOutput()
    form.write(docs, output, style)
    return output.files


def trip(form: Format, docs: Iterable[Document]) -> list[Item]:
    """Write documents and read them again."""
    output = MemoryOutput()
    form.write(docs, output)
    return list(form.read(output.source()))


def assert_preserved(form: Format, document: Document) -> None:
    """Assert that everything a format claims to preserve survives a round trip."""
    items = trip(form, [document])
    facets = form.preserved_facets(document)
    assert facets <= form.HOLDS
    assert len(items) == 1, items
    back = items[0]
    assert isinstance(back, Document), back
    assert view(back, facets) == view(document, facets)
