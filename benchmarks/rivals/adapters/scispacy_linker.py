"""scispaCy's EntityLinker over the knowledge base. It links mentions that are given: annotated ones, or those that Onym found.

The index is built by `create_tfidf_ann_index`. Its parameters are fixed in the source and made for many cores; they are
replaced by those in `_INDEX`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import nmslib
import spacy
from scispacy.candidate_generation import CandidateGenerator, create_tfidf_ann_index
from scispacy.linking import EntityLinker
from scispacy.linking_utils import KnowledgeBase
from spacy.tokens import Doc, Span

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve

_INDEX = {"M": 16, "efConstruction": 100, "indexThreadQty": 1, "post": 0}


class _Index:
    """An index of nmslib that is built with other parameters."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def createIndex(self, _params: dict[str, int], print_progress: bool = False) -> None:  # noqa: N802
        self._index.createIndex(_INDEX, print_progress=print_progress)


def prepare(job: Job) -> None:
    """Build the index."""
    make = nmslib.init
    nmslib.init = lambda **options: _Index(make(**options))
    create_tfidf_ann_index(job["derived"], KnowledgeBase(str(Path(job["kb"]) / "scispacy.jsonl")))


def open_tool(job: Job) -> Tool:
    """Open the linker with the default options but those in the settings."""
    kb = KnowledgeBase(str(Path(job["kb"]) / "scispacy.jsonl"))
    names, vectorizer, index = create_tfidf_ann_index(job["derived"], kb)
    generator = CandidateGenerator(index, vectorizer, names, kb)
    linker = EntityLinker(candidate_generator=generator, resolve_abbreviations=False, **job["settings"])
    nlp = spacy.blank("en")

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        for request in requests:
            spans = request["spans"] or []
            doc = Doc(nlp.vocab, words=[request["text"][start:end] for start, end in spans])
            doc.ents = [Span(doc, row, row + 1, label="Entity") for row in range(len(spans))]
            found = [list(ent._.kb_ents) for ent in linker(doc).ents] if spans else []
            yield [(start, end, concepts) for (start, end), concepts in zip(spans, found, strict=True)]

    return link


if __name__ == "__main__":
    serve(open_tool, prepare)
