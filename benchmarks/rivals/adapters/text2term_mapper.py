"""text2term over the knowledge base, which it reads as a cached ontology; `mapper` is `tfidf` or another of its mappers."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import text2term
from text2term import Mapper
from text2term.term import OntologyTerm

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve

_NAME, _ROOT = "kb", "https://bioregistry.io/"


def prepare(job: Job) -> None:
    """Write the knowledge base as text2term caches an ontology."""
    terms = {}
    for line in (Path(job["kb"]) / "kb.jsonl").read_text("utf-8").splitlines():
        concept = json.loads(line)
        iri = _ROOT + concept["concept_id"]
        terms[iri] = OntologyTerm(iri, [concept["canonical_name"]], synonyms=concept["aliases"])
    folder = Path(job["derived"]) / _NAME
    folder.mkdir(exist_ok=True)
    (folder / f"{_NAME}-term-details.pickle").write_bytes(pickle.dumps(terms))


def open_tool(job: Job) -> Tool:
    """Map all terms of a call with `map_terms`, which reads the cached ontology each time."""
    mapper = Mapper(job["settings"].get("mapper", "tfidf"))

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        surfaces = [[(start, end, each["text"][start:end]) for start, end in each["spans"] or ()] for each in requests]
        names = list(dict.fromkeys(name for spans in surfaces for *_, name in spans))
        found: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
        if names:
            table = text2term.map_terms(names, _NAME, use_cache=True, cache_folder=job["derived"], mapper=mapper)
            columns = ("Source Term", "Mapped Term IRI", "Mapping Score")
            for name, iri, score in table[list(columns)].itertuples(index=False):
                found[name].append((iri.removeprefix(_ROOT), float(score)))
        return [[(start, end, found[name]) for start, end, name in spans] for spans in surfaces]

    return link


if __name__ == "__main__":
    serve(open_tool, prepare, batch=None)
