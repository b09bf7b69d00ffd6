"""BRAT standoff format: `ID.txt` and `ID.ann`. T lines are mentions, N lines their concept ids, R lines relations.

Events, attributes, modifications, equivalences and comments (E, A, M, `*`, `#`) are kept as notes of the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from onym.corpora.base import ALL, Draft, Facet, Item, MalformedError, Output, Segment, Style, require_good
from onym.corpora.formats._files import FileNames, file_name, id_of_file, iter_lines, require_few_lines, whole_text
from onym.errors import InputError
from onym.kb.curie import to_curie
from onym.store.files.source import InputFile, Source
from onym.types import Document, Mention, Notes, Offsets, Relation, style_id

HOLDS: frozenset[Facet] = ALL - {"passages"}
IS_FOLDER = True

_TYPE_AND_OFFSETS = re.compile(r"(\S+) ([0-9]{1,9} [0-9]{1,9}(?:;[0-9]{1,9} [0-9]{1,9})*)")
_MENTION, _RELATION = re.compile(r"T[0-9]+"), re.compile(r"R[0-9]+")
_OTHER = re.compile(r"[EAM#][0-9]+|\*")
_TO_SPACE = str.maketrans(dict.fromkeys("\n\r\x00", " "))
_SPACE = re.compile(r"\s")
_BREAK = re.compile(r"[\n\r\x00]")
_NAME = "name "
_ANNOTATIONS = ".ann"


def matches(source: Source) -> bool:
    """Return whether the source contains `.ann` files."""
    return bool(groups(source))


def groups(source: Source) -> list[tuple[InputFile, ...]]:
    """Return each annotation file, together with its text file if there is one."""
    texts = {_stem(file): file for file in source.files if file.stem.endswith(".txt")}
    annotations = [file for file in source.files if file.stem.endswith(_ANNOTATIONS)]
    return [(texts[_stem(file)], file) if _stem(file) in texts else (file,) for file in annotations]


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each text file, with the mentions of its annotation file."""
    pairs = {group[0].name: group for group in groups(source)}
    annotations = {file.name for group in pairs.values() for file in group[1:]}
    for file in source.files:
        if file.name not in annotations:
            yield from _read_group(*pairs.get(file.name, (file,)))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the annotation file of a document as bytes."""
    with file.open() as stream:
        yield Segment(True, stream.read())


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing.

    Mention ids must have the form `T1`, arguments of relations must be mentions, and types must not contain spaces.
    """
    lost: set[Facet] = set()
    stem = file_name(document.id)
    if id_of_file(InputFile.from_bytes(f"{stem}.txt", b"")) != document.id:
        lost.add("document ids")
    if any(not mention.type or _SPACE.search(mention.type) for mention in document.mentions):
        lost.add("types")
    if any(
        _BREAK.search(curie) or to_curie(_format_id(curie, "")) != curie for m in document.mentions for curie in m.concept_ids
    ):
        lost |= {"concept ids", "composites"}
    if any(len(mention.parts) == 1 for mention in document.mentions):
        lost.add("discontinuous")
    if not _are_named(document.mentions):
        lost |= {"mention ids", "relations"}
    if not _are_relations(document):
        lost.add("relations")
    if _loses_notes(document):
        lost.add("notes")
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write two files for each document."""
    names = FileNames()
    for document in documents:
        stem = names.of(document.id)
        with output.file(f"{stem}.txt") as file:
            file.write(document.text.encode())
        with output.file(f"{stem}.ann") as file:
            file.write("".join(f"{line}\n" for line in _lines(document, style)).encode())


def _stem(file: InputFile) -> str:
    """Return the path without extensions, which is the same for a text file and its annotation file."""
    path = re.sub(r"\.(?:gz|zst)$", "", file.name, flags=re.IGNORECASE)
    return path[: -len(_ANNOTATIONS)]


def _read_group(text: InputFile, annotations: InputFile | None = None) -> Iterator[Item]:
    if text.stem.endswith(_ANNOTATIONS):
        what, fix = "an annotation file without its text file", "add the .txt file of the same name to the same folder"
        raise InputError("format-incomplete", what, where=text.name, fix=fix)
    draft = Draft(id_of_file(text), whole_text(text))
    try:
        if annotations:
            _read_annotations(draft, annotations)
    except MalformedError as e:
        yield e.problem(draft.id)
    else:
        yield from draft.items()


def _read_annotations(draft: Draft, file: InputFile) -> None:
    lines: dict[str, list[tuple[str, str, str]]] = {"T": [], "N": [], "R": []}
    notes: list[tuple[str, str]] = []
    for line in iter_lines(file):
        require_good([line])
        require_few_lines(line.number, file, line.number)
        if not line.text.strip():
            continue
        where = f"{file.name}:{line.number}"
        name, tab, rest = line.text.partition("\t")
        if not tab:
            raise MalformedError("a line has no tab", where)
        if _OTHER.fullmatch(name):
            notes.append((name, rest))
        elif name[:1] in lines:
            lines[name[0]].append((name, rest, where))
        else:
            raise MalformedError("a line has an unknown kind of annotation", where)
    draft.notes = (*draft.notes, *notes)
    ids = _normalisations(lines["N"])
    for name, rest, where in lines["T"]:
        _add_mention(draft, name, rest, ids.get(name, []), where)
    for name, rest, where in lines["R"]:
        draft.relations.append(_relation(name, rest, where))


def _normalisations(lines: list[tuple[str, str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Return the concept ids and names of each mention."""
    found: dict[str, list[tuple[str, str]]] = {}
    for _, rest, where in lines:
        reference, _, name = rest.partition("\t")
        words = reference.split(" ", 2)
        if len(words) != 3:
            raise MalformedError("a normalisation does not have the form Reference T1 ID", where)
        found.setdefault(words[1], []).append((to_curie(words[2], "local"), name))
    return found


def _add_mention(draft: Draft, name: str, rest: str, ids: list[tuple[str, str]], where: str) -> None:
    head, _, surface = rest.partition("\t")
    match = _TYPE_AND_OFFSETS.fullmatch(head)
    if not match:
        raise MalformedError("a mention does not have the form Type START END", where)
    spans: list[Offsets] = [(int(start), int(end)) for start, end in (span.split(" ") for span in match[2].split(";"))]
    start, end = min(first for first, _ in spans), max(last for _, last in spans)
    draft.require_short(spans, where)
    flat = _flat(draft.text, spans)
    notes = tuple((f"{_NAME}{curie}", said) for curie, said in ids if said != flat)
    draft.add(
        start,
        end,
        None if surface == flat else surface,
        concept_ids=tuple(curie for curie, _ in ids),
        type=match[1],
        id=name,
        parts=tuple(spans) if len(spans) > 1 else (),
        notes=notes,
        where=where,
    )


def _relation(name: str, rest: str, where: str) -> Relation:
    kind, *arguments = rest.strip().split(" ")
    pairs = tuple((role, value) for role, colon, value in (argument.partition(":") for argument in arguments) if colon)
    if len(pairs) != len(arguments) or not pairs:
        raise MalformedError("a relation does not have the form Type Arg1:T1 Arg2:T2", where)
    return Relation(kind, pairs, name)


def _flat(text: str, spans: Iterable[Offsets]) -> str:
    return " ".join(text[start:end] for start, end in spans).translate(_TO_SPACE)


def _lines(document: Document, style: Style) -> Iterator[str]:
    names = _names(document.mentions)
    count = 0
    for name, mention in zip(names, document.mentions, strict=True):
        spans = mention.parts or ((mention.start, mention.end),)
        offsets = ";".join(f"{start} {end}" for start, end in spans)
        flat = _flat(document.text, spans)
        yield f"{name}\t{_SPACE.sub('_', mention.type) or 'Entity'} {offsets}\t{flat}"
        said = dict(mention.notes)
        for curie in mention.concept_ids:
            count += 1
            shown = said.get(f"{_NAME}{curie}", flat).translate(_TO_SPACE)
            yield f"N{count}\tReference {name} {_format_id(curie, style).translate(_TO_SPACE)}\t{shown}"
    renamed = {mention.id: name for name, mention in zip(names, document.mentions, strict=True) if mention.id}
    for number, relation in enumerate(document.relations, 1):
        if line := _relation_line(relation, renamed):
            yield f"{relation.id if _RELATION.fullmatch(relation.id) else f'R{number}'}\t{line}"
    yield from (f"{key}\t{value}" for key, value in document.notes if _OTHER.fullmatch(key) and not _BREAK.search(value))


def _format_id(curie: str, style: Style) -> str:
    return style_id(curie, style or "obo")


def _names(mentions: tuple[Mention, ...]) -> list[str]:
    return [mention.id if _are_named(mentions) else f"T{number}" for number, mention in enumerate(mentions, 1)]


def _are_named(mentions: tuple[Mention, ...]) -> bool:
    """Return whether all mentions have unique ids of the form `T1`."""
    names = [mention.id for mention in mentions]
    return len(set(names)) == len(names) and all(map(_MENTION.fullmatch, names))


def _relation_line(relation: Relation, renamed: dict[str, str]) -> str:
    """Format a relation between mentions for BRAT; return "" if an argument is not a mention."""
    words = [_SPACE.sub("_", relation.type) or "Relation"]
    for role, argument in relation.arguments:
        if argument not in renamed:
            return ""
        words.append(f"{_SPACE.sub('_', role).replace(':', '_') or 'Arg'}:{renamed[argument]}")
    return " ".join(words) if relation.arguments else ""


def _are_relations(document: Document) -> bool:
    names = {mention.id: mention.id for mention in document.mentions}
    for relation in document.relations:
        words = [relation.type, *(role for role, _ in relation.arguments)]
        if any(not word or _SPACE.search(word) or ":" in word for word in words[1:]) or not _RELATION.fullmatch(relation.id):
            return False
        if not relation.type or _SPACE.search(relation.type) or not _relation_line(relation, names):
            return False
    return True


def _loses_notes(document: Document) -> bool:
    others: list[Notes] = [passage.notes for passage in document.passages]
    others += [relation.notes for relation in document.relations]
    is_plain = all(_OTHER.fullmatch(key) and not _BREAK.search(value) for key, value in document.notes)
    return any(others) or not is_plain or any(not _keeps_names(mention, document.text) for mention in document.mentions)


def _keeps_names(mention: Mention, text: str) -> bool:
    """Return whether a mention's notes are only the names of its concepts, in order, because only those can be written."""
    said = dict(mention.notes)
    flat = _flat(text, mention.parts or ((mention.start, mention.end),))
    pairs = [(f"{_NAME}{curie}", said.get(f"{_NAME}{curie}", flat)) for curie in mention.concept_ids]
    return mention.notes == tuple(pair for pair in pairs if pair[1] != flat) and not any(_BREAK.search(v) for _, v in pairs)
