"""FastHPOCR over the Human Phenotype Ontology in OBO; `longest` keeps only the longest of overlapping matches.

It collects the tokens of each cluster by reading all 573,507 tokens again; here they are grouped once, with the same result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from FastHPOCR.cr.CRIndexKB import CRIndexKB
from FastHPOCR.HPOAnnotator import HPOAnnotator
from FastHPOCR.IndexHPO import IndexHPO

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve


def prepare(job: Job) -> None:
    """Index the ontology."""
    CRIndexKB.compileClusterList = _TokensByCluster().tokens
    IndexHPO(str(Path(job["kb"]) / "hp.obo"), job["derived"]).index()


class _TokensByCluster:
    """The tokens of each cluster, grouped on first use."""

    def __init__(self) -> None:
        self._tokens: defaultdict[str, list[str]] = defaultdict(list)

    def tokens(self, cluster: str, cluster_of: Mapping[str, str]) -> list[str]:
        """Return a new list of the tokens of a cluster."""
        if not self._tokens:
            for token, own in cluster_of.items():
                self._tokens[own].append(token)
        return list(self._tokens.get(cluster, ()))


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
