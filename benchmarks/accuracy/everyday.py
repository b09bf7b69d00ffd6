"""Measure detection and linking in everyday sentences: notes, abstracts, forums, drug labels, as anybody writes them.

A mention is right if a link covers at least half of its characters and has one of the ids that a sensible reader accepts. A
link is right if it overlaps a mention that accepts its id. Diseases, phenotypes and chemicals count; links of genes and
species, and links that overlap only such mentions, are counted apart. Every miss is listed with its cause:

no name       the text of the mention is no name of an accepted concept, in any form
rejected      it is a name, and the detector says why it is no mention
linked        it was found and linked to another concept, or not linked
not found     it is a name, and the detector has no reason, as detectors that do not look up names

The sentences are for looking at errors. Choose nothing by them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import data_folder, percent
from onym.kb import KnowledgeBase
from onym.methods import Rejection
from onym.methods.detector import FindsRejections
from onym.packs import load
from onym.pipeline import Pipeline
from onym.text.normal import normal_name
from onym.text.spelling import other_forms
from onym.types import Document, LinkedDocument

TYPES = ("Disease", "Phenotype", "Chemical")
_APART = frozenset(("Gene", "Species"))
_QUICK = 20  # number of sentences with --quick


@dataclass(frozen=True)
class Gold:
    """A mention of a sentence, with all ids that a reader would accept, in lower case."""

    start: int
    end: int
    type: str
    accept: frozenset[str]


@dataclass(frozen=True)
class Found:
    """A link of a sentence: its offsets, the id of its concept with the prefix in lower case, and its semantic group."""

    start: int
    end: int
    concept_id: str
    type: str


@dataclass
class Tally:
    """What was found and missed so far."""

    gold: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    right_links: Counter[str] = field(default_factory=Counter)
    apart: int = 0
    misses: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[dict[str, str]] = field(default_factory=list)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pipeline", default="starter", help="folder, file or name of a pipeline")


def run(options: argparse.Namespace) -> dict[str, object]:
    sentences = read_sentences(data_folder() / "everyday" / "everyday-a.jsonl")[: _QUICK if options.quick else None]
    return score(load(options.pipeline), sentences)


def read_sentences(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def score(pipeline: Pipeline, sentences: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Link the sentences and return recall, precision, and a row for each miss and each wrong link."""
    tally, kb = Tally(), pipeline.linker.kb
    documents = [Document(each["id"], each["text"]) for each in sentences]
    for sentence, linked in zip(sentences, pipeline.link_many(documents), strict=True):
        gold = [gold_of(each) for each in sentence["mentions"]]
        found = list(_links(linked, kb))
        _count_mentions(tally, pipeline, linked.document, gold, found)
        _count_links(tally, linked.document, gold, found)
    recall = {kind: percent(tally.right[kind], tally.gold[kind]) for kind in (*TYPES, *sorted(_APART))}
    precision = {kind: percent(tally.right_links[kind], tally.links[kind]) for kind in TYPES}
    return {
        "sentences": len(documents),
        "mentions": sum(tally.gold[kind] for kind in TYPES),
        "recall": percent(sum(tally.right[kind] for kind in TYPES), sum(tally.gold[kind] for kind in TYPES)),
        "precision": percent(tally.right_links.total(), tally.links.total()),
        "recall_by_type": recall,
        "precision_by_type": precision,
        "links_apart": tally.apart,
        "causes": dict(Counter(each["cause"] for each in tally.misses)),
        "misses": tally.misses,
        "wrong": tally.wrong,
    }


def gold_of(mention: Mapping[str, Any]) -> Gold:
    accept = frozenset(map(_lower_prefix, mention["accept"]))
    return Gold(mention["start"], mention["end"], mention["type"], accept)


def _lower_prefix(concept_id: str) -> str:
    prefix, colon, rest = concept_id.partition(":")
    return f"{prefix.lower()}:{rest}" if colon else concept_id


def _links(linked: LinkedDocument, kb: KnowledgeBase) -> Iterator[Found]:
    for link in linked.links:
        if link.concept_id is not None:
            row = kb.concept_ids.find(link.concept_id)
            kind = kb.label_of(row)[1] if row >= 0 else ""
            yield Found(link.mention.start, link.mention.end, _lower_prefix(link.concept_id), kind)


def _overlap(one: Gold | Found | Rejection, other: Gold | Found) -> int:
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def _covering(gold: Gold, found: Iterable[Found]) -> list[Found]:
    """Return the links that cover at least half of a mention."""
    return [each for each in found if 2 * _overlap(each, gold) >= gold.end - gold.start]


def _count_mentions(tally: Tally, pipeline: Pipeline, document: Document, gold: Sequence[Gold], found: Sequence[Found]) -> None:
    for mention in gold:
        links = _covering(mention, found)
        is_right = any(each.concept_id in mention.accept for each in links)
        tally.gold[mention.type] += 1
        tally.right[mention.type] += is_right
        if not is_right and mention.type in TYPES:
            surface = document.text[mention.start : mention.end]
            cause, detail = explain_miss(pipeline, document, mention, links)
            row = {"id": document.id, "text": surface, "type": mention.type, "cause": cause, "detail": detail}
            tally.misses.append(row)


def explain_miss(pipeline: Pipeline, document: Document, gold: Gold, links: Sequence[Found]) -> tuple[str, str]:
    """Return the cause of a miss and its detail: the other concept, or the detector's reasons."""
    if links:
        return "linked", ", ".join(each.concept_id for each in links)
    if not is_name(pipeline.linker.kb, document.text[gold.start : gold.end], gold.accept):
        return "no name", ""
    detector = pipeline.detector
    rejected = detector.find_rejections(document) if isinstance(detector, FindsRejections) else []
    reasons = [f"{each.surface}: {each.reason} ({each.detail})" for each in rejected if _overlap(each, gold)]
    return ("rejected", "; ".join(reasons)) if reasons else ("not found", "")


def is_name(kb: KnowledgeBase, surface: str, accept: frozenset[str]) -> bool:
    """Return whether a text or another form of it is a name of one of the concepts."""
    normal = normal_name(surface)
    rows = [row for row in map(kb.names.find, (normal, *other_forms(normal))) if row >= 0]
    wanted = {found for concept_id in accept for found in kb.resolve(concept_id)}
    return any(not wanted.isdisjoint(kb.name_concepts[row].tolist()) for row in rows)


def _count_links(tally: Tally, document: Document, gold: Sequence[Gold], found: Sequence[Found]) -> None:
    scored = [each for each in gold if each.type in TYPES]
    for link in found:
        touched = [each for each in gold if _overlap(link, each)]
        is_right = any(each in scored and link.concept_id in each.accept for each in touched)
        if link.type in _APART or (not is_right and touched and all(each.type in _APART for each in touched)):
            tally.apart += 1
            continue
        tally.links[link.type] += 1
        tally.right_links[link.type] += is_right
        if not is_right:
            surface = document.text[link.start : link.end]
            tally.wrong.append({"id": document.id, "text": surface, "type": link.type, "linked": link.concept_id})
