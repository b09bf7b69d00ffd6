"""Exports the decisions of a desk: corrections, a table, SSSOM, documents as training data, or synonyms for a knowledge base.

The extension of the file decides: `.onymc`, `.sssom.tsv`, `.names.csv`, or another table (.csv, .tsv, .xlsx, .jsonl, .parquet).
Documents are written in a named corpus format, such as PubTator or BioC.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onym.corpora.corpus import write_corpus
from onym.corrections.file import ENDING, write_rules
from onym.corrections.rules import NO_CONCEPT, NOT_A_MENTION
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.outputs.rows import WRITERS, is_formula, require_rows, write_plain_csv, write_rows
from onym.outputs.sssom import ENDING as SSSOM
from onym.outputs.sssom import is_sssom, write_sssom
from onym.review.decisions import Decision, Standing
from onym.review.desk import Desk, DeskLink
from onym.review.rules import export_rules, meaning_of
from onym.store.hidden import owner_only
from onym.store.output import whole_file
from onym.types import Document, Mention, style_id

NAMES = ".names.csv"
_PREDICATES = {"broader": "skos:broadMatch", "narrower": "skos:narrowMatch", "close": "skos:closeMatch"}
_SSSOM_COLUMNS = (
    "subject_label", "subject_type", "predicate_id", "object_id", "object_label", "mapping_justification", "author_label",
    "mapping_date",
)  # fmt: skip
_TABLE: dict[str, type] = {
    "document": str, "start": int, "end": int, "text": str, "linked_id": str, "verdict": str, "concept_id": str,
    "preferred_name": str, "scope": str, "reviewer": str, "time": str, "seconds": float, "decision": str,
}  # fmt: skip
_NO_TERM = "sssom:NoTermFound"
_INEXACT = frozenset(_PREDICATES)


def export_desk(desk: Desk, dest: Path, kb: KnowledgeBase | None = None, *, format: str = "", force: bool = False) -> int:  # noqa: A002
    """Write the decisions that hold, with mode 0600, and return the number of rules, rows or documents.

    `format` is the name of a corpus format for documents; by default the extension of `dest` decides. Names of concepts come
    from `kb`, else from the candidates of the desk.
    """
    with owner_only():
        if format:
            return write_corpus(iter_documents(desk), dest, format, force=force).documents
        if dest.suffix == ENDING:
            with whole_file(dest, force=force) as file:
                return write_rules(export_rules(desk), file, kb=desk.facts.kb)
        if is_sssom(dest):
            return _write_sssom(desk, dest, kb, force=force)
        if dest.name.endswith(NAMES):
            return _write_names(desk, dest, force=force)
        if dest.suffix not in WRITERS:
            what, fix = (
                f"{dest.suffix!r} is no format of decisions",
                f"use {ENDING}, {SSSOM}, {NAMES} or a table, or add --format",
            )
            raise ConfigError("config-invalid", what, where=str(dest), fix=fix)
        return _write_table(desk, dest, kb, force=force)


def _iter_decided(desk: Desk) -> Iterator[tuple[DeskLink, Decision]]:
    """Yield the queued links with the decisions that hold for them."""
    standing = Standing(desk.decisions())
    for link in desk.links(queued=True):
        decision = standing.of(link.number, link.document, link.cluster)
        if decision is not None:
            yield link, decision


def iter_documents(desk: Desk) -> Iterator[Document]:
    """Yield the documents all of whose links are decided, with the decided mentions, as training data.

    Mentions without a concept have no concept ids. Links that are unsure, or decided by a broader, narrower or close concept,
    count as undecided. Raise InputError if the desk stores no texts.
    """
    standing, count = Standing(desk.decisions()), 0
    missed: dict[int, list[Decision]] = {}
    for each in standing.list_missed():
        missed.setdefault(each.document or 0, []).append(each)
    for document in desk.documents():
        if document.text is None:
            continue
        count += 1
        links = [(link, standing.of(link.number, link.document, link.cluster)) for link in desk.links_of(document.number)]
        if all(found is not None and found.verdict not in _INEXACT | {"unsure"} for _, found in links):
            mentions = [mention for link, found in links if found and (mention := _mention(document.text, link, found))]
            mentions += [_make_missed_mention(document.text, each) for each in missed.get(document.number, ())]
            own = tuple(sorted(mentions, key=lambda mention: (mention.start, mention.end)))
            yield Document(document.id, document.text, own, source=document.source, ordinal=document.ordinal)
    if not count:
        what = "the desk stores no texts, so it has no documents to write"
        raise InputError("review-missing", what, where=desk.path.name, fix="make the desk without --context and --no-text")


def _mention(text: str, link: DeskLink, decision: Decision) -> Mention | None:
    if decision.verdict == "span" and decision.start is not None and decision.end is not None:
        named = decision.concept_id or link.concept_id
        surface = text[decision.start : decision.end]
        return Mention(decision.start, decision.end, surface, (named,) if named else (), link.type)
    meaning = meaning_of(decision, link)
    if meaning == NOT_A_MENTION:
        return None
    ids = () if meaning in ("", NO_CONCEPT) else (meaning,)
    return Mention(link.start, link.end, link.surface, ids, link.type)


def _make_missed_mention(text: str, decision: Decision) -> Mention:
    start, end = decision.start or 0, decision.end or 0
    return Mention(start, end, text[start:end], (decision.concept_id,) if decision.concept_id else ())


def _write_table(desk: Desk, dest: Path, kb: KnowledgeBase | None, *, force: bool) -> int:
    """Write a row for each decided link; spreadsheets do not take a cell for a formula."""
    require_rows(dest)
    ids = {document.number: document.id for document in desk.documents()}
    count = 0

    def rows() -> Iterator[list[Any]]:
        nonlocal count
        for link, decision in _iter_decided(desk):
            count += 1
            concept_id = decision.concept_id or ""
            yield [
                ids[link.document], link.start, link.end, link.surface, style_id(link.concept_id) if link.concept_id else None,
                decision.verdict, style_id(concept_id) if concept_id else None, _label(concept_id, link, kb) or None,
                decision.scope, decision.reviewer, decision.time, decision.seconds, decision.id,
            ]  # fmt: skip

    with whole_file(dest, force=force) as file:
        write_rows(rows(), _TABLE, dest, file)
    return count


def _write_sssom(desk: Desk, dest: Path, kb: KnowledgeBase | None, *, force: bool) -> int:
    """Write a mapping for each surface and concept that was decided, with author and justification."""
    rows: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for link, decision in _iter_decided(desk):
        meaning = meaning_of(decision, link)
        if meaning and meaning != NOT_A_MENTION:
            predicate = _PREDICATES.get(decision.verdict, "skos:exactMatch")
            named = _NO_TERM if meaning == NO_CONCEPT else meaning
            label = "" if meaning == NO_CONCEPT else _label(meaning, link, kb)
            surface = " ".join(link.surface.split())
            own = (decision.reviewer, decision.time[:10])
            row = (surface, "rdfs literal", predicate, named, label, "semapv:ManualMappingCuration", *own)
            rows.setdefault((surface, predicate, named), row)
    found = list(rows.values())
    facts = [f"object_source_version: {json.dumps(desk.facts.kb)}", 'comment: "decisions of reviewers"']
    with whole_file(dest, force=force) as file:
        write_sssom(file, _SSSOM_COLUMNS, found, json.dumps([desk.facts.id, found]), facts)
    return len(found)


def _write_names(desk: Desk, dest: Path, *, force: bool) -> int:
    """Write the surfaces of each concept as a table of synonyms, for a source of `onym kb build`.

    Surfaces that a spreadsheet would evaluate are left out, because an apostrophe before them would become part of the name.
    """
    names: dict[str, dict[str, None]] = {}
    for link, decision in _iter_decided(desk):
        meaning = meaning_of(decision, link)
        if (
            meaning
            and meaning not in (NOT_A_MENTION, NO_CONCEPT)
            and decision.verdict not in _INEXACT
            and "|" not in link.surface
            and not is_formula(name := " ".join(link.surface.split()))
        ):
            names.setdefault(meaning, {})[name] = None
    rows = [(concept_id, *_split_first(list(found))) for concept_id, found in sorted(names.items())]
    with whole_file(dest, force=force) as file:
        write_plain_csv(rows, {"id": str, "name": str, "synonyms": str}, file)
    return len(rows)


def _split_first(names: list[str]) -> tuple[str, str]:
    return names[0], "|".join(names[1:])


def _label(concept_id: str, link: DeskLink, kb: KnowledgeBase | None) -> str:
    row = -1 if kb is None or not concept_id else kb.concept_ids.find(concept_id)
    if kb is not None and row >= 0:
        return kb.preferred_form(row)
    return next((each.preferred_name for each in link.candidates if each.concept_id == concept_id), "")
