"""FastHPOCR over the Human Phenotype Ontology in OBO; `longest` keeps only the longest of overlapping matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from FastHPOCR.HPOAnnotator import HPOAnnotator
from FastHPOCR.IndexHPO import IndexHPO

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve


def prepare(job: Job) -> None:
    """Index the ontology."""
    IndexHPO(str(Path(job["kb"]) / "hp.obo"), job["derived"]).index()


def open_tool(job: Job) -> Tool:
    """Open the annotator over the index."""
    annotator = HPOAnnotator(str(Path(job["derived"]) / "hp.index"))
    longest = job["settings"].get("longest", False)

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        for request in requests:
            found = annotator.annotate(request["text"], longestMatch=longest)
            yield [(each.startOffset, each.endOffset, [(each.hpoUri.lower(), 1.0)]) for each in found]

    return link


if __name__ == "__main__":
    serve(open_tool, prepare)
