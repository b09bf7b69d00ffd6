"""Matching: the values of a column in, candidates out. A match is certain only where the calibrated confidence says so."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from onym.corpora.isolation import INTERNAL
from onym.errors import InternalError
from onym.pipeline.pipeline import Pipeline
from onym.serve.reconcile.scores import shown_scores
from onym.serve.reconcile.semantic_types import SemanticTypes, as_type
from onym.types import Document, Link, LinkedDocument, Mention, styled

Queries = Mapping[str, Mapping[str, Any]]
Filter = tuple[tuple[str, ...], bool]
_VARIANTS = 32  # pipelines of other types that are kept


class Matcher:
    """Matches terms by a pipeline. `is_calibrated` says whether it has confidences of terms; without them nothing is a match.

    >>> from onym.kb import KnowledgeBase
    >>> from onym.linkers.exact import ExactLinker
    >>> matcher = Matcher(Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))))
    >>> [found] = matcher.of({"q0": {"text": "Pyrexia"}}, 0.95)["q0"]["result"]
    >>> found["id"], found["name"], found["match"]
    ('MESH:D005334', 'Fever', False)
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline.with_precision(None).with_coverage(None).for_terms()
        self._types = SemanticTypes(pipeline.kb)
        self._among = lru_cache(_VARIANTS)(self._filtered)

    @property
    def is_calibrated(self) -> bool:
        """True where the confidences are those of terms."""
        return self._pipeline.calibration is not None

    def of(self, queries: Queries, precision: float) -> dict[str, Any]:
        """Return the candidates of each query; those with the same filter are linked together."""
        found: dict[str, Any] = {key: {"result": []} for key in queries}
        alike: dict[Filter, list[str]] = {}
        for key, query in queries.items():
            if query["text"]:
                alike.setdefault((tuple(query.get("types") or ()), bool(query.get("is_all"))), []).append(key)
        for wanted, keys in alike.items():
            pipeline = self._among(*wanted)
            linked = pipeline.link_many([_document(queries[key]) for key in keys]) if pipeline else ()
            for key, each in zip(keys, linked, strict=False):
                found[key] = {"result": self._result(_link(each), queries[key].get("limit"), precision)}
        return found

    def _filtered(self, types: tuple[str, ...], is_all: bool) -> Pipeline | None:
        """Return the pipeline of some types; None where no concept can be of them."""
        known = self._types.known(types)
        if not types:
            return self._pipeline
        if not known or (is_all and len(known) < len(types)):
            return None
        if not is_all:
            return self._pipeline.with_types(known)
        pipeline = self._pipeline
        for each in known:
            pipeline = pipeline.with_types([each])
        return pipeline

    def _result(self, link: Link | None, limit: int | None, precision: float) -> list[dict[str, Any]]:
        if link is None:
            return []
        confidence = link.confidence if self.is_calibrated else None
        is_match = confidence is not None and confidence >= precision and not link.nil_reason and not link.tied
        scores = shown_scores(link.candidates, confidence)
        return [
            {
                "id": styled(candidate.concept_id),
                "name": candidate.preferred_name or candidate.name,
                "score": score,
                "match": is_match and rank == 0,
                "type": [as_type(label) for label in self._types.of(candidate)],
            }
            for rank, (candidate, score) in enumerate(zip(link.candidates, scores, strict=True))
        ][:limit]


def _document(query: Mapping[str, Any]) -> Document:
    """Return a term as a document of one mention; what is known besides stands in the lines after it."""
    text, context = query["text"], query.get("context") or ""
    return Document("1", f"{text}\n\n{context}" if context else text, (Mention(0, len(text), text),))


def _link(linked: LinkedDocument) -> Link | None:
    """Return the link of a term; one that cannot be linked has none, but a bug is an error."""
    if any(problem.code == INTERNAL for problem in linked.problems):
        raise InternalError("internal-error", linked.problems[0].what)
    return next(iter(linked.links), None)
