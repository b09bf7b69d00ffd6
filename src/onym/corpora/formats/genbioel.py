"""GenBioEL's and ANGEL's training files: SPLIT.source, SPLIT.target, SPLITlabel.txt. Each line is a mention in its context.

The text is lower-cased, and the words START and END enclose the mention. The writer writes one line per mention, with
GenBioEL's context window. The target name is the mention's note `target` or, without this note, the mention itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import BinaryIO

from onym.corpora.base import Draft, Facet, Item, MalformedError, Output, Segment, Style, require_good
from onym.corpora.formats._files import iter_lines
from onym.corpora.formats._segments import iter_line_segments
from onym.corpora.ids import drop_type, format_ids, keeps_ids, parse_ids_with_note
from onym.errors import InputError, OnymError
from onym.store.files.json import parse_line
from onym.store.files.lines import Line
from onym.store.files.source import InputFile, Source
from onym.text.window import word_window
from onym.types import Document, Mention, Notes

HOLDS: frozenset[Facet] = frozenset({"text", "mentions", "concept ids", "composites"})
IS_FOLDER = True

SPLIT, TARGET, PROMPT = "split", "target", "prompt"
_START, _END = re.compile(r"(?:^|(?<= ))START "), re.compile(r" END(?= |$)")
_BREAK = re.compile(r"[\n\r\x00]")
_SPLITS = ("train", "dev", "test")
_PREFIX = "mesh"


def matches(source: Source) -> bool:
    """Return whether there is a `.source` file with a `.target` file."""
    return bool(groups(source))


def groups(source: Source) -> list[tuple[InputFile, ...]]:
    """Return the files of each split: the `.source` file, the `.target` file and, if present, the file of labels."""
    files = {file.name: file for file in source.files}
    stems = [name.removesuffix(".source") for name in files if name.endswith(".source")]
    found = [[files.get(f"{stem}{ending}") for ending in (".source", ".target", "label.txt")] for stem in stems]
    return [tuple(file for file in group if file) for group in found if group[1]]


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each line of each split."""
    files = {file.name: file for file in source.files}
    for name, file in files.items():
        if name.endswith(".source"):
            stem = name.removesuffix(".source")
            yield from _read_split(file, files.get(f"{stem}.target"), files.get(f"{stem}label.txt"))
        elif not _is_partner(name, files):
            what, fix = "a file of GenBioEL without its .source file", "add the .source file to the same folder"
            raise InputError("format-incomplete", what, where=name, fix=fix)


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the labels of a split as bytes, and the bytes between them."""
    return iter_line_segments(file, skip_blank=False)


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. The document must be short, in lower case, with one mention."""
    if len(document.mentions) != 1:
        return frozenset()
    mention = document.mentions[0]
    found = _parse_context(_context(document, mention))
    lost: set[Facet] = set()
    if found != (document.text, mention.start, mention.end):
        lost |= {"text", "mentions"}
    untyped = drop_type(mention)
    if not keeps_ids(untyped, _PREFIX) or _BREAK.search(format_ids(untyped, "", _PREFIX)):
        lost |= {"concept ids", "composites"}
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write three files per split. A document's note `split` names its split, by default `test`."""
    with ExitStack() as stack:
        files: dict[str, tuple[BinaryIO, BinaryIO, BinaryIO]] = {}
        for document in documents:
            split = dict(document.notes).get(SPLIT, "test")
            split = split if split in _SPLITS else "test"
            if split not in files:
                names = (f"{split}.source", f"{split}.target", f"{split}label.txt")
                first, second, third = (stack.enter_context(output.file(name)) for name in names)
                files[split] = first, second, third
            for mention in document.mentions:
                _write_mention(document, mention, files[split], style)
        if not files:
            for name in ("test.source", "test.target", "testlabel.txt"):
                stack.enter_context(output.file(name))


def _is_partner(name: str, files: dict[str, InputFile]) -> bool:
    return any(name.endswith(each) and f"{name.removesuffix(each)}.source" in files for each in (".target", "label.txt"))


def _read_split(contexts: InputFile, targets: InputFile | None, labels: InputFile | None) -> Iterator[Item]:
    split = PurePosixPath(contexts.name).name.removesuffix(".source")
    rows = zip_longest(iter_lines(contexts), _lines(targets), _lines(labels))
    for number, (context, target, label) in enumerate(rows, 1):
        document_id, where = f"{split}.{number}", f"{contexts.name}:{number}"
        try:
            if context is None or (targets and target is None) or (labels and label is None):
                raise MalformedError("the files of the split have different numbers of lines", where)
            require_good(line for line in (context, target, label) if line)
            line, prompt = _strings(context.text, 1, where), _strings(target.text, 2, where) if target else []
            draft = Draft(document_id, *_text_and_notes(line[0], split, where))
            _add_mention(draft, line[0], prompt, label.text if label else "-1", where)
            yield from draft.items()
        except MalformedError as e:
            yield e.problem(document_id)


def _lines(file: InputFile | None) -> Iterator[Line]:
    return iter_lines(file) if file else iter(())


def _strings(line: str, count: int, where: str) -> list[str]:
    try:
        value = parse_line(line.encode(), where)
    except OnymError as e:
        raise MalformedError(e.what, where) from e
    if not isinstance(value, list) or len(value) < count or not all(isinstance(member, str) for member in value):
        raise MalformedError("a line is not a JSON list of strings", where)
    return value


def _text_and_notes(context: str, split: str, where: str) -> tuple[str, Notes]:
    found = _parse_context(context)
    if not found:
        raise MalformedError("no mention between START and END", where)
    return found[0], ((SPLIT, split),)


def _add_mention(draft: Draft, context: str, prompt: list[str], label: str, where: str) -> None:
    _, start, end = _parse_context(context) or ("", 0, 0)
    surface = draft.text[start:end]
    concept_ids, notes = parse_ids_with_note(_label(label, where), "", _PREFIX)
    if prompt and prompt[0] != f"{surface} is":
        notes = (*notes, (PROMPT, prompt[0]))
    if prompt and prompt[1] != surface:
        notes = (*notes, (TARGET, prompt[1]))
    draft.add(start, end, concept_ids=concept_ids, notes=notes, where=where)


def _label(line: str, where: str) -> str:
    """Return the ids in a line of a label file, which is a JSON list in ANGEL's files."""
    return "|".join(_strings(line, 0, where)) if line.startswith("[") else line


def _parse_context(context: str) -> tuple[str, int, int] | None:
    first = _START.search(context)
    last = _END.search(context, first.end() + 1) if first else None  # the first END after the first START
    if not first or not last:
        return None
    start, surface = first.start(), context[first.end() : last.start()]
    return context[:start] + surface + context[last.end() :], start, start + len(surface)


def _context(document: Document, mention: Mention) -> str:
    window = word_window(document.text, mention.start, mention.end)
    return f"{window.left.lower()} START {window.surface.lower()} END {window.right.lower()}".strip(" ")


def _write_mention(document: Document, mention: Mention, files: tuple[BinaryIO, ...], style: Style) -> None:
    surface, notes = mention.surface.lower(), dict(mention.notes)
    prompt = [notes.get(PROMPT, f"{surface} is"), notes.get(TARGET, surface)]
    label = format_ids(drop_type(mention), style, _PREFIX) or "-1"
    lines = (
        json.dumps([_context(document, mention)], ensure_ascii=False),
        json.dumps(prompt, ensure_ascii=False),
        _BREAK.sub(" ", label),
    )
    for file, line in zip(files, lines, strict=True):
        file.write(line.encode() + b"\n")
