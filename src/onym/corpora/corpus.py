"""Reads a corpus in any format and writes it in any other, one document at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from onym.corpora.base import NO_OPTIONS, Facet, Format, Item, Output, ReadOptions, Style, iter_items
from onym.corpora.formats import READ_ONLY, get
from onym.corpora.plain import with_answers
from onym.corpora.reading import Reading, is_loss
from onym.errors import ConfigError
from onym.store.files.source import Source
from onym.store.output import require_file, require_folder, whole_file, whole_folder
from onym.types import Document, LinkedDocument, Mention, Notes, Problem

View = dict[str, Any]


def facets_of(document: Document) -> frozenset[Facet]:
    """Return the facets that a document uses, such as its text, types and relations.

    >>> sorted(facets_of(Document("1", "fever", (Mention(0, 5, "fever", type="Disease"),))))
    ['document ids', 'mentions', 'text', 'types']
    """
    mentions = document.mentions
    used: dict[Facet, bool] = {
        "document ids": True,
        "text": True,
        "passages": bool(document.passages),
        "mentions": bool(mentions),
        "types": any(mention.type for mention in mentions),
        "concept ids": any(len(mention.concept_ids) == 1 for mention in mentions),
        "composites": any(len(mention.concept_ids) > 1 for mention in mentions),
        "discontinuous": any(mention.parts for mention in mentions),
        "relations": bool(document.relations),
        "mention ids": any(mention.id for mention in mentions),
        "notes": any(_all_notes(document)),
    }
    return frozenset(facet for facet, is_used in used.items() if is_used)


def view(document: Document, facets: Collection[Facet]) -> View:
    """Return the given facets of a document as plain values for comparison; mentions are sorted.

    >>> view(Document("1", "fever"), {"text"})
    {'text': 'fever'}
    """
    seen: View = {}
    if "document ids" in facets:
        seen["id"] = document.id
    if "text" in facets:
        seen["text"] = document.text
    noted = "notes" in facets
    if "passages" in facets:
        seen["passages"] = [(each.start, each.end, each.kind, each.notes if noted else ()) for each in document.passages]
    if "mentions" in facets:
        seen["mentions"] = sorted(_mention_view(mention, facets) for mention in document.mentions)
    if "relations" in facets:
        seen["relations"] = [(each.type, each.arguments, each.id, each.notes if noted else ()) for each in document.relations]
    if noted:
        seen["notes"] = document.notes
    return seen


def describe_loss(format: str, facet: str, documents: int) -> str:  # noqa: A002
    """Describe a facet, or the assertion marks, that a format cannot store, with the number of documents that use it.

    >>> describe_loss("pubtator", "text", 1)
    'pubtator cannot store every character of the text: some are replaced (1 document)'
    >>> describe_loss("brat", "passages", 20)
    'brat cannot store all passages (20 documents)'
    >>> describe_loss("brat", ASSERTION_MARKS, 3)
    'brat cannot store assertion marks, such as negated: these mentions look affirmed (3 documents)'
    """
    what = _LOSSES.get(facet, f"all {facet}")
    return f"{format} cannot store {what} ({documents:,} document{'' if documents == 1 else 's'})"


def _mention_view(mention: Mention, facets: Collection[Facet]) -> tuple[Any, ...]:
    ids_facet: Facet = "composites" if len(mention.concept_ids) > 1 else "concept ids"
    return (
        mention.start,
        mention.end,
        mention.type if "types" in facets else "",
        mention.concept_ids if ids_facet in facets else (),
        mention.parts if "discontinuous" in facets else (),
        mention.id if "mention ids" in facets else "",
        mention.notes if "notes" in facets else (),
    )


def _all_notes(document: Document) -> Iterator[Notes]:
    yield document.notes
    yield from (passage.notes for passage in document.passages)
    yield from (mention.notes for mention in document.mentions)
    yield from (relation.notes for relation in document.relations)


def read_corpus(
    path: Path | str,
    format: str = "",  # noqa: A002 - what it is
    *,
    follow_links: bool = False,
    text_columns: Sequence[str] = (),
    id_column: str = "",
    encoding: str = "",
) -> Reading:
    """Yield the documents and problems of a file, a folder or an archive; detect each file's format unless `format` is given.

    `text_columns` and `id_column` are columns of tables or keys of JSON; by default, they are guessed by name. `encoding` is
    that of text files; by default, UTF-8, UTF-16 and Windows-1252 are recognised.

    The attribute `files` of the returned iterator lists the state of each file.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.pubtator"
    >>> _ = path.write_text("1|t|High fever\\n1|a|\\n1\\t5\\t10\\tfever\\tDisease\\tD005334\\n")
    >>> [doc.mentions[0].concept_ids for doc in read_corpus(path)]
    [('mesh:D005334',)]
    """
    if isinstance(text_columns, str):
        text_columns = [text_columns]
    options = ReadOptions(tuple(text_columns), id_column, encoding)
    return read_sources([Source.open(path, follow_links=follow_links)], format, options)


def read_sources(sources: Sequence[Source], format: str = "", options: ReadOptions = NO_OPTIONS) -> Reading:  # noqa: A002
    """Like `read_corpus`, but for sources that are already open.

    >>> from onym.store.files.source import InputFile
    >>> files = [InputFile.from_bytes(name, b"fever") for name in ("a/1.txt", "b/1.txt")]
    >>> [(item.id, item.source) for item in read_sources([Source.of_files("notes", files)])]
    [('1', 'a/1.txt'), ('1', 'b/1.txt')]
    """
    return Reading(sources, format, options)


_UNWRITABLE = "corpus-encoding"
ASSERTION_MARKS, EXTRA = "assertion marks", "extra"
"""What most formats cannot store of links, besides the facets of documents."""
_LOSSES = {
    "text": "every character of the text: some are replaced",
    ASSERTION_MARKS: "assertion marks, such as negated: these mentions look affirmed",
    EXTRA: "what components say about links",
}


@dataclass
class Written:
    """The result of writing a corpus: counts, problems, and for each facet the number of documents that lost it.

    `lost` may have the key `ASSERTION_MARKS` besides the facets.
    """

    documents: int = 0
    mentions: int = 0
    problems: list[Problem] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def unwritable(self) -> list[Problem]:
        """The problems of documents that were read but could not be written."""
        return [problem for problem in self.problems if problem.code == _UNWRITABLE]

    @property
    def skipping_problems(self) -> list[Problem]:
        """The problems because of which a document or a mention was skipped."""
        return [problem for problem in self.problems if is_loss(problem)]


def write_corpus(
    items: Iterable[Item],
    path: Path,
    format: str,  # noqa: A002
    *,
    force: bool = False,
    style: Style = "",
) -> Written:
    """Write documents atomically: the file or folder appears only when complete. Problems among `items` are returned."""
    form = require_writable(format)
    written = Written()
    with output_at(path, form, force=force) as output:
        form.write(_take_documents(items, form, written), output, style)
    return written


def write_linked_corpus(
    linked: Iterable[LinkedDocument],
    path: Path,
    format: str,  # noqa: A002
    *,
    force: bool = False,
    style: Style = "",
) -> Written:
    """Write linked documents, with all candidates and scores if the format can store links, else only the best concept.

    A document that could not be linked is written without mentions, and with its problems if the format can store them.
    """
    form = require_writable(format)
    if not hasattr(form, "write_linked"):
        return _write_answers(linked, path, format, force=force, style=style)
    written = Written()
    with output_at(path, form, force=force) as output:
        form.write_linked(_take_linked(linked, written), output)
    return written


def _write_answers(linked: Iterable[LinkedDocument], path: Path, form: str, *, force: bool, style: Style) -> Written:
    """Write the best concepts as annotations, and count the documents with assertion marks, which are lost."""
    marked = Counter[str]()

    def answers() -> Iterator[Document]:
        for each in linked:
            marked[ASSERTION_MARKS] += any(link.assertion for link in each.links)
            yield with_answers(each)

    written = write_corpus(answers(), path, form, force=force, style=style)
    written.lost += marked
    return written


def _take_linked(linked: Iterable[LinkedDocument], written: Written) -> Iterator[LinkedDocument]:
    for each in linked:
        if problem := unwritable(each.document):
            written.problems.append(problem)
        else:
            written.documents += 1
            written.mentions += len(each.links)
            yield each


def require_writable(format: str) -> Format:  # noqa: A002
    """Return the format with this name; raise ConfigError if it is read-only."""
    if format in READ_ONLY:
        raise ConfigError("format-read-only", f"{format} can be read but not written", fix="use another format")
    return get(format)


def require_output(path: Path, form: Format, *, force: bool = False) -> None:
    """Raise ConfigError, before any work, if this format's output cannot be written to `path`; `-` is standard output."""
    if form.IS_FOLDER:
        require_folder(path, force=force)
    else:
        require_file(path, force=force, may_stream=True)


@contextmanager
def output_at(path: Path, form: Format, *, force: bool = False) -> Iterator[Output]:
    """Open the output of a format: a file or a folder."""
    if form.IS_FOLDER:
        with whole_folder(path, force=force) as folder:
            yield folder
    else:
        with whole_file(path, force=force) as file:
            yield _OneFile(file)


class _OneFile:
    """An `Output` with a single file; file names are ignored."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def file(self, name: str = "") -> AbstractContextManager[BinaryIO]:  # noqa: ARG002 - of the protocol
        return nullcontext(self._file)


def _take_documents(items: Iterable[Item], form: Format, written: Written) -> Iterator[Document]:
    for item in iter_items(items):
        if isinstance(item, Problem):
            written.problems.append(item)
        elif problem := unwritable(item):
            written.problems.append(problem)
        else:
            written.documents += 1
            written.mentions += len(item.mentions)
            written.lost.update(sorted(facets_of(item) - form.preserved_facets(item)))
            yield item


def unwritable(document: Document) -> Problem | None:
    """Return a problem if a string of the document has a lone surrogate, which UTF-8 cannot encode."""
    try:
        repr_of = (document.id, document.text, *_strings(document))
        for text in repr_of:
            text.encode()
    except UnicodeEncodeError:
        name, what = document.id.encode("ascii", "replace").decode(), "a lone surrogate in a text"
        return Problem(name, _UNWRITABLE, what, source=document.source, ordinal=document.ordinal)
    return None


def _strings(document: Document) -> Iterator[str]:
    for mention in document.mentions:
        yield from (mention.type, mention.id, *mention.concept_ids, *sum(mention.notes, ()))
    for passage in document.passages:
        yield from (passage.kind, *sum(passage.notes, ()))
    for relation in document.relations:
        yield from (relation.type, relation.id, *sum(relation.arguments, ()), *sum(relation.notes, ()))
    yield from sum(document.notes, ())
