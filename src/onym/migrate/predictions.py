"""Migrates predictions files. Lines whose ids are all current keep their bytes.

With the documents that were linked, ids with several successors are linked again in context.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from onym.corpora.base import documents_of
from onym.corpora.reading import Reading
from onym.errors import InputError, format_id
from onym.migrate.audit import Migrated, describe_source
from onym.migrate.links import Fate, LinkMigrator, LinkRecord
from onym.outputs.predictions import Line, Prediction, RawLine, open_predictions
from onym.store.files.source import InputFile, Source
from onym.store.output import whole_file
from onym.types import Document, DocumentKey, Mention


def iter_prediction_records(
    path: Path,
    out: Path,
    migrator: LinkMigrator,
    result: Migrated,
    *,
    documents: Source | None = None,
    force: bool = False,
) -> Iterator[LinkRecord]:
    """Migrate a predictions file, and yield what became of every answer. The output appears when the iterator is exhausted."""
    header, lines = open_predictions(InputFile.from_path(path))
    texts = _Texts(documents)
    with whole_file(out, force=force) as file:
        file.write(_format({**header, "source": describe_source(header["source"], migrator.found)}))
        for key, group in groupby(lines, key=_key_of):
            found = list(group)
            result.documents += 1
            fates = _decide(found, texts.find(key) if isinstance(found[0].line, Prediction) else None, migrator)
            new = [_rewrite(raw, own, migrator) for raw, own in zip(found, fates, strict=True)]
            result.changed += any(data != raw.data + b"\n" for data, raw in zip(new, found, strict=True))
            file.writelines(new)
            for raw, own in zip(found, fates, strict=True):
                yield from _records(raw.line, own)


def _records(line: Line, fates: Sequence[Fate]) -> Iterator[LinkRecord]:
    if isinstance(line, Prediction):
        where = line.source, line.ordinal, line.document_id, "prediction", line.start, line.end
        yield from (LinkRecord(*where, fate) for fate in fates)


def _key_of(raw: RawLine) -> DocumentKey:
    return raw.line.document_id, raw.line.source, raw.line.ordinal


class _Texts:
    """Finds the documents of predictions, which are in the order of the documents."""

    def __init__(self, source: Source | None) -> None:
        self._documents = documents_of(Reading([source])) if source else None

    def find(self, key: DocumentKey) -> Document | None:
        """Return a document, by id and ordinal, or None without documents; raise InputError if it is not among them."""
        if self._documents is None:
            return None
        for document in self._documents:
            if (document.id, document.ordinal) == (key[0], key[2] or document.ordinal):
                return document
        what = "a predicted document is not among the documents, or not in their order"
        fix = "give the documents that were linked with --documents"
        raise InputError("predictions-other", what, where=f"document {format_id(key[0])}", fix=fix)


def _decide(lines: Sequence[RawLine], document: Document | None, migrator: LinkMigrator) -> list[tuple[Fate, ...]]:
    """Return what becomes of the ids of each line; none for lines without an answer."""
    answers = [_answer_of(raw) for raw in lines]
    spans = [raw.line for raw in lines]
    if document is None or any(isinstance(each, Prediction) and each.end > len(document.text) for each in spans):
        return [tuple(map(migrator.decide, ids)) for ids in answers]
    mentions = [
        (at, Mention(each.start, each.end, document.text[each.start : each.end], ids))
        for at, (each, ids) in enumerate(zip(spans, answers, strict=True))
        if isinstance(each, Prediction)
    ]
    bare = Document(document.id, document.text, tuple(mention for _, mention in mentions), source=document.source)
    fates: list[tuple[Fate, ...]] = [()] * len(lines)
    for (at, _), own in zip(mentions, migrator.decide_mentions(bare), strict=True):
        fates[at] = own
    return fates


def _answer_of(raw: RawLine) -> tuple[str, ...]:
    line = raw.line
    return line.answers[0][0] if isinstance(line, Prediction) and line.answers and not line.nil_reason else ()


def _rewrite(raw: RawLine, fates: Sequence[Fate], migrator: LinkMigrator) -> bytes:
    """Return a line with new ids; answers that became equal to an earlier one are dropped."""
    line = raw.line
    if not isinstance(line, Prediction):
        return raw.data + b"\n"
    answers = []
    for rank, (ids, score, name) in enumerate(line.answers):
        own = fates if rank == 0 and fates else [migrator.decide(each) for each in ids]
        new = tuple(dict.fromkeys(fate.new for fate in own))
        answers.append((new, score, name))
    if [each[0] for each in answers] == [each[0] for each in line.answers]:
        return raw.data + b"\n"
    distinct = {ids: [ids[0] if len(ids) == 1 else list(ids), score, name] for ids, score, name in reversed(answers)}
    plain = {**raw.plain, "answers": list(distinct.values())[::-1]}
    confidences = [fate.confidence for fate in fates if fate.confidence is not None]
    return _format({**plain, "confidence": min(confidences)} if confidences else plain)


def _format(plain: dict[str, Any]) -> bytes:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
