"""spaCy's PhraseMatcher and EntityRuler over the names of the knowledge base.

`component` is `matcher` or `ruler`; `attribute` (`ORTH`, `LOWER`) is what is compared. Of overlapping matches of the
PhraseMatcher the longest is used, with `spacy.util.filter_spans`. The EntityRuler keeps one concept for each name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import spacy
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc
from spacy.util import filter_spans

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve


def open_tool(job: Job) -> Tool:
    """Open a blank English pipeline with the component."""
    nlp = spacy.blank("en")
    nlp.max_length = 10_000_000
    lines = (Path(job["kb"]) / "patterns.jsonl").read_text("utf-8").splitlines()
    patterns = [json.loads(line) for line in lines]
    open_component = {"matcher": _open_matcher, "ruler": _open_ruler}[job["settings"]["component"]]
    return open_component(nlp, patterns, job["settings"]["attribute"])


def _open_matcher(nlp: Any, patterns: list[dict[str, str]], attribute: str) -> Tool:
    matcher = PhraseMatcher(nlp.vocab, attr=attribute)
    docs: dict[str, list[Doc]] = defaultdict(list)
    texts = nlp.tokenizer.pipe(each["pattern"] for each in patterns)
    for pattern, doc in zip(patterns, texts, strict=True):
        docs[pattern["id"]].append(doc)
    for concept_id, own in docs.items():
        matcher.add(concept_id, own)

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        for request in requests:
            for_spans = (
                [request["text"][start:end] for start, end in request["spans"]] if request["spans"] is not None else None
            )
            if for_spans is None:
                yield [_answer(doc_span, ids) for doc_span, ids in _match(nlp(request["text"]))]
            else:
                yield [
                    _whole(nlp(text), start, end) for text, (start, end) in zip(for_spans, request["spans"] or [], strict=True)
                ]

    def _match(doc: Doc) -> Iterable[tuple[Any, list[str]]]:
        ids: dict[tuple[int, int], list[str]] = defaultdict(list)
        for key, start, end in matcher(doc):
            ids[start, end].append(nlp.vocab.strings[key])
        for span in filter_spans([doc[start:end] for start, end in ids]):
            yield span, ids[span.start, span.end]

    def _whole(doc: Doc, start: int, end: int) -> Answer:
        found = [nlp.vocab.strings[key] for key, first, last in matcher(doc) if (first, last) == (0, len(doc))]
        return start, end, [(each, 1.0) for each in found]

    return link


def _answer(span: Any, ids: Sequence[str]) -> Answer:
    return span.start_char, span.end_char, [(each, 1.0) for each in ids]


def _open_ruler(nlp: Any, patterns: list[dict[str, str]], attribute: str) -> Tool:
    ruler = nlp.add_pipe("entity_ruler", config={"phrase_matcher_attr": attribute})
    ruler.add_patterns(patterns)

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        for request in requests:
            yield [_answer(span, [span.ent_id_]) for span in nlp(request["text"]).ents]

    return link


if __name__ == "__main__":
    serve(open_tool)
