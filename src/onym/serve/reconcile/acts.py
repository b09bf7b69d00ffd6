"""What a linker process does for the reconciliation service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onym.pipeline.pipeline import Pipeline
from onym.serve.reconcile.extension import extended
from onym.serve.reconcile.manifest import manifest_of
from onym.serve.reconcile.matching import Matcher
from onym.serve.reconcile.semantic_types import SemanticTypes
from onym.serve.reconcile.suggestions import suggested_entities, suggested_types

Act = Callable[[dict[str, Any]], Any]


def reconcile_acts(pipeline: Pipeline) -> dict[str, Act]:
    """Return what is done for each kind of job.

    >>> from onym.kb import KnowledgeBase
    >>> from onym.linkers.exact import ExactLinker
    >>> sorted(reconcile_acts(Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))))
    ['extend', 'manifest', 'reconcile', 'suggest']
    """
    kb, matcher, types = pipeline.kb, Matcher(pipeline), SemanticTypes(pipeline.kb)

    def reconcile(job: dict[str, Any]) -> Any:
        return matcher.of(job["queries"], job["precision"])

    def manifest(job: dict[str, Any]) -> Any:
        return manifest_of(job["base"], job["name"], types, job["precision"] if matcher.is_calibrated else None)

    def suggest(job: dict[str, Any]) -> Any:
        find: Callable[..., list[Any]] = suggested_types if job["kind"] == "type" else suggested_entities
        return {"result": find(kb, job["prefix"], job["limit"], job["skip"])}

    def extend(job: dict[str, Any]) -> Any:
        return extended(kb, job["ids"], job["properties"])

    return {"reconcile": reconcile, "manifest": manifest, "suggest": suggest, "extend": extend}
