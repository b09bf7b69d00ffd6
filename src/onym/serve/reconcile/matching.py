"""Reconciliation jobs of a linker process: match the values of a column, suggest concepts and types, describe the service.

A candidate is reported as a match only if its calibrated confidence is high enough for the wanted precision of all matches. Its
score, which OpenRefine shows on a scale from 0 to 100, is the confidence in percent. Types are the semantic groups and types of
the knowledge base.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from onym._version import __version__
from onym.corpora.problems import INTERNAL
from onym.errors import ConfigError, InternalError
from onym.kb import KnowledgeBase
from onym.kb.search import search
from onym.pipeline.pipeline import Pipeline
from onym.serve.reconcile.concepts import extend_concepts, propose_properties, suggest_properties
from onym.types import Candidate, Concept, Document, Link, LinkedDocument, Mention, select_relatives, style_id

Act = Callable[[dict[str, Any]], Any]
Queries = Mapping[str, Mapping[str, Any]]
Filter = tuple[tuple[str, ...], bool]
_VARIANTS = 32  # maximum number of cached pipeline copies, one per type filter
_MAX_DEFAULT = 50
_MAX_DESCRIPTION = 200
WIDTH, HEIGHT = 420, 260
"""Size of a preview in pixels."""
_IDS, _TYPES = "https://bioregistry.io/", "urn:onym:semantic-types"
_LIMIT = {
    "name": "limit",
    "label": "Limit",
    "type": "number",
    "default": 0,
    "help_text": "Maximum number of values per row (0 for no limit)",
}


def reconcile_acts(pipeline: Pipeline) -> dict[str, Act]:
    """Return the function of each reconciliation operation, by `op`.

    >>> from onym.kb import KnowledgeBase
    >>> from onym.methods.exact import ExactLinker
    >>> sorted(reconcile_acts(Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))))
    ['extend', 'manifest', 'propose', 'reconcile', 'suggest']
    """
    kb, matcher, types = pipeline.kb, Matcher(pipeline), SemanticTypes(pipeline.kb)

    def reconcile(job: dict[str, Any]) -> Any:
        return matcher.of(job["queries"], job["precision"])

    def manifest(job: dict[str, Any]) -> Any:
        return manifest_of(job["base"], job["name"], types, job["precision"] if matcher.is_calibrated else None)

    def suggest(job: dict[str, Any]) -> Any:
        return {"result": _SUGGEST[job["kind"]](kb, job["prefix"], job["limit"], job["skip"])}

    def propose(job: dict[str, Any]) -> Any:
        return propose_properties(kb, job["kind"], job["limit"])

    def extend(job: dict[str, Any]) -> Any:
        return extend_concepts(kb, job["ids"], job["properties"])

    return {"reconcile": reconcile, "manifest": manifest, "suggest": suggest, "propose": propose, "extend": extend}


class Matcher:
    """Matches terms with a pipeline. Without a calibration for terms, no candidate is reported as a match.

    >>> from onym.kb import KnowledgeBase
    >>> from onym.methods.exact import ExactLinker
    >>> matcher = Matcher(Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))))
    >>> [found] = matcher.of({"q0": {"text": "Pyrexia"}}, 0.95)["q0"]["result"]
    >>> found["id"], found["name"], found["match"]
    ('MESH:D005334', 'Fever', False)
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline.with_precision(None).with_coverage(None).for_terms()
        self._types = SemanticTypes(pipeline.kb)
        self._among = lru_cache(_VARIANTS)(self._filter_by_types)

    @property
    def is_calibrated(self) -> bool:
        """True if the pipeline has a calibration for terms."""
        return self._pipeline.calibration is not None

    def least_confidence(self, precision: float) -> float | None:
        """Return the confidence from which matches have this precision on the calibration data; None if none is high enough."""
        if self._pipeline.calibration is None:
            return None
        reached = self._pipeline.calibration.calibration.curve.at(precision)
        return reached.threshold if reached.is_reached else None

    def of(self, queries: Queries, precision: float) -> dict[str, Any]:
        """Return the candidates of each query; queries with the same type filter form one batch."""
        least = self.least_confidence(precision)
        found: dict[str, Any] = {key: {"result": []} for key in queries}
        alike: dict[Filter, list[str]] = {}
        for key, query in queries.items():
            if query["text"]:
                alike.setdefault((tuple(query.get("types") or ()), bool(query.get("is_all"))), []).append(key)
        for wanted, keys in alike.items():
            pipeline = self._among(*wanted)
            linked = pipeline.link_many([_document(queries[key]) for key in keys]) if pipeline else ()
            for key, each in zip(keys, linked, strict=False):
                found[key] = {"result": self._result(_link(each), queries[key].get("limit"), least)}
        return found

    def _filter_by_types(self, types: tuple[str, ...], is_all: bool) -> Pipeline | None:
        """Return the pipeline limited to concepts with one of (`is_all`: all of) these types; None if no concept has them."""
        known = self._types.select_known(types)
        if not types:
            return self._pipeline
        if not known or (is_all and len(known) < len(types)):
            return None
        pipeline = self._pipeline
        try:
            for each in [[name] for name in known] if is_all else [known]:
                pipeline = pipeline.with_types(each)
        except ConfigError:  # no concept has them
            return None
        return pipeline

    def _result(self, link: Link | None, limit: int | None, least: float | None) -> list[dict[str, Any]]:
        if link is None:
            return []
        confidence = link.confidence if self.is_calibrated else None
        is_sure = confidence is not None and least is not None and confidence >= least
        is_match = is_sure and not link.nil_reason and not link.tied
        scores = display_scores(link.candidates, confidence)
        return [
            {
                "id": style_id(candidate.concept_id),
                "name": candidate.preferred_name or candidate.name,
                "score": score,
                "match": is_match and rank == 0,
                "type": [as_type(label) for label in self._types.of(candidate)],
            }
            for rank, (candidate, score) in enumerate(zip(link.candidates, scores, strict=True))
        ][:limit]


def _document(query: Mapping[str, Any]) -> Document:
    """Return a document that consists of the term, annotated as a mention, and its context."""
    text, context = query["text"], query.get("context") or ""
    return Document("1", f"{text}\n\n{context}" if context else text, (Mention(0, len(text), text),))


def _link(linked: LinkedDocument) -> Link | None:
    """Return the link of a term, or None if it could not be linked; raise on an internal error."""
    if any(problem.code == INTERNAL for problem in linked.problems):
        raise InternalError("internal-error", linked.problems[0].what)
    return next(iter(linked.links), None)


def display_scores(candidates: Sequence[Candidate], confidence: float | None) -> list[float]:
    """Return a score from 0 to 100 for each candidate, best first.

    The first candidate, and those that tie with it, get the confidence c. The second gets half of min(c, 1 - c), the third a
    quarter, and so on. Without a confidence, the scores are those of the linker; log-probabilities become probabilities.

    >>> fever, malaria = Candidate("hp:0001945", "fever", 0.9), Candidate("mondo:0005136", "ague", 0.3)
    >>> display_scores([fever, malaria], 0.96)
    [96.0, 2.0]
    >>> display_scores([fever, malaria], None)
    [90.0, 30.0]
    """
    if confidence is None:
        values = [_share(each.score) for each in candidates]
    else:
        rest = min(confidence, 1 - confidence)
        values = [confidence if each.score == candidates[0].score else rest / 2**rank for rank, each in enumerate(candidates)]
    return [_percent(min(values[: rank + 1])) for rank in range(len(candidates))]


def _percent(share: float) -> float:
    """Return a fraction in percent, rounded down so that a score never exceeds the confidence."""
    return math.floor(round(share * 10_000, 6)) / 100


def _share(score: float) -> float:
    if math.isnan(score):
        return 0.0
    return min(1.0, score if score >= 0 else math.exp(score))


class SemanticTypes:
    """Case-insensitive lookup of the semantic groups and types of a knowledge base.

    >>> types = SemanticTypes(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> types.select_known(["c14", "Planet"]), types.beginning("c1")
    (['C14'], ['C14'])
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    @cached_property
    def labels(self) -> dict[str, str]:
        """Groups and types by lower-cased name; a group wins over a type of the same name."""
        labels = [*self._kb.groups, *self._kb.types]
        return {label.lower(): label for label in reversed(labels)}

    def default(self) -> list[str]:
        """Return the default types for a column: the groups, or the types if there are no groups."""
        return (list(self._kb.groups) or list(self._kb.types))[:_MAX_DEFAULT]

    def select_known(self, names: Sequence[str]) -> list[str]:
        """Return those names that are groups or types of the knowledge base, in its spelling."""
        return [self.labels[name.lower()] for name in names if name.lower() in self.labels]

    def of(self, candidate: Candidate) -> list[str]:
        """Return the type of the candidate if the knowledge base lists it, else the types of its concept."""
        if candidate.type.lower() in self.labels:
            return [candidate.type]
        return [self._kb.types[int(each)] for each in self._kb.concept_types[self._kb.concept_ids.find(candidate.concept_id)]]

    def beginning(self, prefix: str) -> list[str]:
        """Return the groups and types that start with the prefix, then those that contain it."""
        wanted = prefix.strip().lower()
        found = [label for name, label in self.labels.items() if wanted in name]
        return sorted(found, key=lambda label: (not label.lower().startswith(wanted), label))


def as_type(label: str) -> dict[str, str]:
    """Return a group or type in the format of the Reconciliation API.

    >>> as_type("Disease")
    {'id': 'Disease', 'name': 'Disease'}
    """
    return {"id": label, "name": label}


def suggest_entities(kb: KnowledgeBase, prefix: str, limit: int, skip: int = 0) -> list[dict[str, Any]]:
    """Find concepts by id, name, prefix or words of a name.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [(each["id"], each["name"]) for each in suggest_entities(kb, "pyre", 5)]
    [('MESH:D005334', 'Fever')]
    """
    by_id = [kb.concept(row) for row in kb.resolve(prefix)]
    by_name = (kb[hit.concept_id] for hit in search(kb, prefix, skip + limit))
    found = {concept.id: concept for concept in (*by_id, *by_name)}
    return [_describe_concept(concept) for concept in islice(found.values(), skip, skip + limit)]


def suggest_types(kb: KnowledgeBase, prefix: str, limit: int, skip: int = 0) -> list[dict[str, str]]:
    """Find semantic groups and types by a prefix or a part of the name.

    >>> suggest_types(KnowledgeBase.open(getfixture("tiny_kb")), "c14", 5)
    [{'id': 'C14', 'name': 'C14'}]
    """
    return [as_type(label) for label in SemanticTypes(kb).beginning(prefix)[skip : skip + limit]]


_SUGGEST: dict[str, Callable[[KnowledgeBase, str, int, int], list[Any]]] = {
    "entity": suggest_entities,
    "type": suggest_types,
    "property": suggest_properties,
}


def _describe_concept(concept: Concept) -> dict[str, Any]:
    kinds = concept.groups or concept.types
    shown: dict[str, Any] = {
        "id": style_id(concept.id),
        "name": concept.preferred_name,
        "notable": [as_type(each) for each in kinds],
    }
    parents = "; ".join(select_relatives(concept.parents).values())
    description = ". ".join(filter(None, (f"Parents: {parents}" * bool(parents), *concept.definitions[:1])))
    return shown | ({"description": description[:_MAX_DESCRIPTION]} if description else {})


def manifest_of(base: str, name: str, types: SemanticTypes, precision: float | None) -> dict[str, Any]:
    """Return the manifest of the service at a URL. `precision` is the minimum confidence of a match; None means no matches.

    >>> from onym.kb import KnowledgeBase
    >>> types = SemanticTypes(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> manifest_of("http://localhost:8080/reconcile", "Onym", types, 0.95)["view"]
    {'url': 'http://localhost:8080/reconcile/preview?id={{id}}'}
    """

    def at(path: str) -> dict[str, str]:
        return {"service_url": base, "service_path": path}

    shown = f"{base}/preview?id={{{{id}}}}"
    return {
        "versions": ["0.2"],
        "name": name if precision is not None else f"{name} (not calibrated: no automatic matches)",
        "identifierSpace": _IDS,
        "schemaSpace": _TYPES,
        "serviceVersion": __version__,
        "defaultTypes": [as_type(label) for label in types.default()],
        "view": {"url": shown},
        "preview": {"url": shown, "width": WIDTH, "height": HEIGHT},
        "suggest": {kind: at(f"/suggest/{kind}") for kind in ("entity", "type", "property")},
        "extend": {"propose_properties": at("/extend/propose"), "property_settings": [_LIMIT]},
        "matchPrecision": precision,
    }
