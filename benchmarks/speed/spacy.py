"""Measure the overhead of spaCy: `nlp.pipe` with Onym as its only component against `Pipeline.link_many`, on real abstracts.

The abstracts of BC5CDR's dev split are linked to the open knowledge base by dictionary and exact match. `--quick` links few of
them to HPO; linking is faster there, so that tokenisation weighs more and the bound does not apply. The time includes spaCy's
tokenisation, linking, and storing the links in the docs. It is CPU time: the minimum of seven rounds for each 25 texts, summed.

documents, mentions  abstracts, and mentions found in them
overhead             CPU time of spaCy with Onym, divided by that of Onym alone
tokens_share_pct     share of that time taken by a blank spaCy pipeline, which only tokenises
offsets_lost         mentions in `doc.spans["onym"]` whose offsets, concept or candidates differ from the pipeline's
docbin_differences   documents that change in a DocBin round trip: annotated ones as a corpus, linked ones by spaCy
"""

from __future__ import annotations

import argparse
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc, DocBin
from tests.support.documents import trip

from benchmarks.report import fastest_by_slices, percent
from benchmarks.results.span_rows import documents_of
from benchmarks.results.tasks import hpo_kb, open_kb
from onym.corpora.formats import docbin
from onym.integrations.spacy import GROUP, OnymPipe
from onym.pipeline import build_pipeline
from onym.types import Document, LinkedDocument, style_id

UPPER_BOUNDS = {"offsets_lost": 0, "docbin_differences": 0}
FULL_BOUNDS = {"overhead": 1.25}
_FULL, _QUICK = 500, 40
_SLICE, _TURNS = 25, 7


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=0, help="abstracts; by default 500, or 40 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    documents = documents_of("bc5cdr", "dev")[: options.documents or (_QUICK if options.quick else _FULL)]
    texts = [doc.text for doc in documents]
    kb = hpo_kb() if options.quick else open_kb()
    nlp, blank = spacy.blank("en"), spacy.blank("en")
    with tempfile.TemporaryDirectory() as folder:
        build_pipeline(kb.folder.parent, Path(folder) / "pipeline")
        nlp.add_pipe(GROUP, config={"pipeline": str(Path(folder) / "pipeline")})
    component = nlp.get_pipe(GROUP)
    if not isinstance(component, OnymPipe):
        raise TypeError(GROUP)
    acts: dict[str, Callable[[Sequence[str]], object]] = {
        "bare": lambda some: _consume(component.pipeline.link_many(some)),
        "spacy": lambda some: _consume(nlp.pipe(some)),
        "tokens": lambda some: _consume(blank.pipe(some)),
    }
    seconds = fastest_by_slices(acts, texts, _SLICE, _TURNS)
    linked, docs = list(component.pipeline.link_many(texts)), list(nlp.pipe(texts))
    return {
        "documents": len(docs),
        "mentions": sum(len(each.links) for each in linked),
        "overhead": round(seconds["spacy"] / seconds["bare"], 3),
        "tokens_share_pct": percent(round(1000 * seconds["tokens"]), round(1000 * seconds["spacy"])),
        "offsets_lost": sum(map(count_lost_offsets, linked, docs)),
        "docbin_differences": corpus_differences(documents) + spacy_differences(docs),
    }


def _consume(stream: Iterable[object]) -> None:
    deque(stream, maxlen=0)


def count_lost_offsets(linked: LinkedDocument, doc: Doc) -> int:
    """Return how many links of a document are missing from its doc or changed."""
    spans = list(doc.spans[GROUP])
    if len(spans) != len(linked.links):
        return max(len(spans), len(linked.links))
    wanted = [
        (each.mention.start, each.mention.end, [(style_id(one.concept_id), one.score) for one in each.candidates])
        for each in linked.links
    ]
    return sum(expected != _describe_span(span) for expected, span in zip(wanted, spans, strict=True))


def _describe_span(span: Any) -> tuple[int, int, list[tuple[str, float]]]:
    found = span._.onym
    is_inside = span.start_char <= found.start and found.end <= span.end_char
    return (found.start if is_inside else -1), found.end, [(each.concept_id, each.score) for each in found.candidates]


def corpus_differences(documents: Sequence[Document]) -> int:
    """Return how many documents change when they are written as a DocBin and read again."""
    items = trip(docbin, documents)
    return abs(len(items) - len(documents)) + sum(one != other for one, other in zip(items, documents, strict=False))


def spacy_differences(docs: Sequence[Doc]) -> int:
    """Return how many docs change when spaCy writes and reads them as a DocBin."""
    packed = DocBin(store_user_data=True, docs=docs).to_bytes()
    again = DocBin().from_bytes(packed).get_docs(spacy.blank("en").vocab)
    return sum(_describe_spans(one) != _describe_spans(other) for one, other in zip(docs, again, strict=True))


def _describe_spans(doc: Doc) -> list[Any]:
    groups = (doc.ents, doc.spans[GROUP])
    return [[(each.label_, each.kb_id_, each._.onym, each._.kb_ents) for each in group] for group in groups]
