"""Label Studio tasks: a JSON list of tasks, each with a text, predictions and annotations.

Mentions are written as predictions, which Label Studio shows as pre-annotations to be corrected. Reading takes the annotations
that people made: the one marked as ground truth, else the last that was not cancelled; and predictions if nobody has annotated
the task. The type of a mention is its label. Concept ids are a text area of the region, named `concept`. Offsets are code
points. The labelling configuration of the project is

    <View>
      <Labels name="label" toName="text"><Label value="Disease"/><Label value="Chemical"/></Labels>
      <TextArea name="concept" toName="text" perRegion="true" editable="true"/>
      <Text name="text" value="$text"/>
    </View>
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from onym.corpora.base import Draft, Facet, Item, MalformedError, Output, Style
from onym.corpora.formats._files import any_looks, head, iter_objects
from onym.corpora.plain import Plain, identifier, objects, string, strings
from onym.kb.curie import to_curie
from onym.store.files.source import InputFile, Source
from onym.types import Document, Mention, style_id

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "mentions", "types", "concept ids", "composites", "mention ids"})
IS_FOLDER = False

_LABEL, _CONCEPT, _TEXT = "label", "concept", "text"
_NO_TYPE = "Mention"
"""The label of a mention without a type, since a region without label is not shown."""
_MADE = re.compile(r"#T[0-9]+")
_TASK = re.compile(rb'"data"\s*:\s*\{|"from_name"\s*:')


def matches(source: Source) -> bool:
    """Return whether a file begins with a JSON object that has the keys of a task."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. Ids of mentions are replaced if they are missing or not unique."""
    lost: set[Facet] = set()
    if any(mention.type == _NO_TYPE for mention in document.mentions):
        lost.add("types")
    ids = [(curie, _format_id(curie, "")) for mention in document.mentions for curie in mention.concept_ids]
    if any(to_curie(written, "local") != curie or _split(written) != [written] for curie, written in ids):
        lost |= {"concept ids", "composites"}
    if not _are_kept(document):
        lost.add("mention ids")
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write all documents as one JSON list, with one task per line."""
    with output.file() as file:
        file.write(b"[")
        for index, document in enumerate(documents):
            plain = json.dumps(_plain(document, style), ensure_ascii=False, separators=(",", ":"))
            file.write((",\n" if index else "\n").encode() + plain.encode())
        file.write(b"\n]\n")


def _looks_right(file: InputFile) -> bool:
    data = head(file)
    return data[:1] in (b"{", b"[") and _TASK.search(data) is not None


def _read_file(file: InputFile) -> Iterator[Item]:
    for where, plain in iter_objects(file):
        document_id = ""
        try:
            if isinstance(plain, MalformedError):
                raise plain
            data = plain.get("data")
            if not isinstance(data, dict):
                raise MalformedError("a task has no 'data'", where)
            document_id = _find_id(plain, data, where) or file.stem.removesuffix(".json")
            yield from _draft(plain, data, document_id, where).items()
        except MalformedError as e:
            yield e.problem(document_id)


def _find_id(plain: Plain, data: Plain, where: str) -> str:
    """Return the id that the document was written with, else that of the task, else ""."""
    if data.get("document_id") is not None:
        return identifier(data, "document_id", where)
    return identifier(plain, "id", where) if plain.get("id") is not None else ""


def _draft(plain: Plain, data: Plain, document_id: str, where: str) -> Draft:
    if not isinstance(data.get(_TEXT), str):
        raise MalformedError("the data of a task has no 'text'", where)
    draft = Draft(document_id, data[_TEXT])
    regions = objects(_choose(plain, where), "result", where)
    concepts: dict[str, list[str]] = {}
    for region in regions:
        if region.get("from_name") == _CONCEPT and region.get("type") == "textarea":
            concepts.setdefault(string(region, "id", where), []).extend(_texts(_value(region, where), where))
    for region in regions:
        if region.get("type") == "labels":
            _add_mention(draft, region, concepts, where)
    return draft


def _choose(plain: Plain, where: str) -> Plain:
    """Return the annotation of a task that counts, or its last prediction."""
    made = [each for each in objects(plain, "annotations", where) if not each.get("was_cancelled")]
    found = [each for each in made if each.get("ground_truth")] or made or objects(plain, "predictions", where)
    return found[-1] if found else {}


def _value(region: Plain, where: str) -> Plain:
    value = region.get("value")
    if not isinstance(value, dict):
        raise MalformedError("a region has no 'value'", where)
    return value


def _texts(value: Plain, where: str) -> tuple[str, ...]:
    """Return the ids of a text area, which may be one text or several."""
    found = (value["text"],) if isinstance(value.get("text"), str) else strings(value, "text", where)
    return tuple(part for text in found for part in _split(text))


def _split(text: str) -> list[str]:
    """Return the ids of a text that a person may have typed: separated by spaces, with or without commas."""
    return [part for part in re.split(r",?\s+", text.strip()) if part]


def _add_mention(draft: Draft, region: Plain, concepts: dict[str, list[str]], where: str) -> None:
    value, name = _value(region, where), string(region, "id", where)
    labels = strings(value, "labels", where)
    kind = labels[0] if labels else ""
    draft.add(
        _offset(value, "start", where),
        _offset(value, "end", where),
        string(value, "text", where) or None,
        concept_ids=tuple(to_curie(each, "local") for each in concepts.get(name, ())),
        type="" if kind == _NO_TYPE else kind,
        id="" if _MADE.fullmatch(name) else name,
        where=where,
    )


def _offset(value: Plain, key: str, where: str) -> int:
    """Return an offset, which Label Studio's documentation allows to be a string of digits."""
    found: Any = value.get(key)
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 12:
        return int(found)
    if isinstance(found, bool) or not isinstance(found, int):
        raise MalformedError(f"{key!r} should be an integer", where)
    return found


def _plain(document: Document, style: Style) -> Plain:
    are_kept = _are_kept(document)
    regions: list[Plain] = []
    for index, mention in enumerate(document.mentions, 1):
        regions += _regions(mention, mention.id if are_kept else f"#T{index}", style)
    return {
        "data": {"document_id": document.id, _TEXT: document.text},
        "predictions": [{"model_version": "onym", "result": regions}],
    }


def _regions(mention: Mention, name: str, style: Style) -> Iterator[Plain]:
    bounds = {"start": mention.start, "end": mention.end}
    labelled = {**bounds, "text": mention.surface, "labels": [mention.type or _NO_TYPE]}
    yield {"id": name, "from_name": _LABEL, "to_name": _TEXT, "type": "labels", "value": labelled}
    if mention.concept_ids:
        ids = {**bounds, "text": [_format_id(curie, style) for curie in mention.concept_ids]}
        yield {"id": name, "from_name": _CONCEPT, "to_name": _TEXT, "type": "textarea", "value": ids}


def _are_kept(document: Document) -> bool:
    """Return whether all mentions have ids that can be those of regions."""
    names = [mention.id for mention in document.mentions]
    return all(names) and len(set(names)) == len(names) and not any(map(_MADE.fullmatch, names))


def _format_id(curie: str, style: Style) -> str:
    return style_id(curie, style or "obo")
