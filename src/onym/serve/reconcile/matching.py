"""What a linker process does for the reconciliation service: match the values of a column, suggest, describe the service.

A match is certain only where the calibrated confidence says so. The score of a candidate, from 0 to 100 as OpenRefine shows it,
is the confidence in percent. Types are the semantic groups and types of the knowledge base, by their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from onym._version import __version__
from onym.corpora.problems import INTERNAL
from onym.errors import InternalError
from onym.kb import KnowledgeBase
from onym.kb.search import search
from onym.pipeline.pipeline import Pipeline
from onym.serve.reconcile.concepts import extend_concepts
from onym.store.arrays import Strings
from onym.types import Candidate, Concept, Document, Link, LinkedDocument, Mention, style_id

Act = Callable[[dict[str, Any]], Any]
Queries = Mapping[str, Mapping[str, Any]]
Filter = tuple[tuple[str, ...], bool]
_VARIANTS = 32  # pipelines of other types that are kept
_MAX_DEFAULT = 50
_MAX_DESCRIPTION = 200
WIDTH, HEIGHT = 420, 260
"""Of a preview, in pixels."""
_IDS, _TYPES = "https://bioregistry.io/", "urn:onym:semantic-types"
_LIMIT = {
    "name": "limit",
    "label": "Limit",
    "type": "number",
    "default": 0,
    "help_text": "Maximum number of values per row (0 for no limit)",
}


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
        find: Callable[..., list[Any]] = suggest_types if job["kind"] == "type" else suggest_entities
        return {"result": find(kb, job["prefix"], job["limit"], job["skip"])}

    def extend(job: dict[str, Any]) -> Any:
        return extend_concepts(kb, job["ids"], job["properties"])

    return {"reconcile": reconcile, "manifest": manifest, "suggest": suggest, "extend": extend}


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
        self._among = lru_cache(_VARIANTS)(self._filter_by_types)

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

    def _filter_by_types(self, types: tuple[str, ...], is_all: bool) -> Pipeline | None:
        """Return the pipeline of some types; None where no concept can be of them."""
        known = self._types.select_known(types)
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
    """Return a term as a document of one mention; what is known besides stands in the lines after it."""
    text, context = query["text"], query.get("context") or ""
    return Document("1", f"{text}\n\n{context}" if context else text, (Mention(0, len(text), text),))


def _link(linked: LinkedDocument) -> Link | None:
    """Return the link of a term; one that cannot be linked has none, but a bug is an error."""
    if any(problem.code == INTERNAL for problem in linked.problems):
        raise InternalError("internal-error", linked.problems[0].what)
    return next(iter(linked.links), None)


def display_scores(candidates: Sequence[Candidate], confidence: float | None) -> list[float]:
    """Return a score for each candidate, best first.

    The first one has its confidence, and so have those that tie with it. The others share the rest by rank: the second has half
    of what is left of the probability, at most half of the first, the third half of that. Without a confidence, the scores are
    those of the linker, log-probabilities as probabilities.

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
    """Return a share in percent, rounded down, so that a score is never higher than the confidence is."""
    return math.floor(round(share * 10_000, 6)) / 100


def _share(score: float) -> float:
    if math.isnan(score):
        return 0.0
    return min(1.0, score if score >= 0 else math.exp(score))


class SemanticTypes:
    """Finds groups and types, in any case.

    >>> types = SemanticTypes(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> types.select_known(["c14", "Planet"]), types.beginning("c1")
    (['C14'], ['C14'])
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    @cached_property
    def labels(self) -> dict[str, str]:
        """All groups, then all types, by their names in lower case."""
        labels = [*_all(self._kb.groups), *_all(self._kb.types)]
        return {label.lower(): label for label in reversed(labels)}

    def default(self) -> list[str]:
        """Return what columns are of: the groups, or the types where there are no groups."""
        return (_all(self._kb.groups) or _all(self._kb.types))[:_MAX_DEFAULT]

    def select_known(self, names: Sequence[str]) -> list[str]:
        """Return those of the names that the knowledge base has."""
        return [self.labels[name.lower()] for name in names if name.lower() in self.labels]

    def of(self, candidate: Candidate) -> list[str]:
        """Return the group of a candidate, or its types where the knowledge base has no such group: what can be wanted."""
        if candidate.type.lower() in self.labels:
            return [candidate.type]
        return [self._kb.types[int(each)] for each in self._kb.concept_types[self._kb.concept_ids.find(candidate.concept_id)]]

    def beginning(self, prefix: str) -> list[str]:
        """Return the groups and types that begin so, then those that hold it."""
        wanted = prefix.strip().lower()
        found = [label for name, label in self.labels.items() if wanted in name]
        return sorted(found, key=lambda label: (not label.lower().startswith(wanted), label))


def _all(labels: Strings) -> list[str]:
    return [labels[row] for row in range(len(labels))]


def as_type(label: str) -> dict[str, str]:
    """Return a group or type as the specification has it.

    >>> as_type("Disease")
    {'id': 'Disease', 'name': 'Disease'}
    """
    return {"id": label, "name": label}


def suggest_entities(kb: KnowledgeBase, prefix: str, limit: int, skip: int = 0) -> list[dict[str, Any]]:
    """Return concepts by an id, a name, its beginning, or some of its words.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [(each["id"], each["name"]) for each in suggest_entities(kb, "pyre", 5)]
    [('MESH:D005334', 'Fever')]
    """
    by_id = [kb.concept(row) for row in kb.resolve(prefix)]
    by_name = (kb[hit.concept_id] for hit in search(kb, prefix, skip + limit))
    found = {concept.id: concept for concept in (*by_id, *by_name)}
    return [_describe_concept(concept) for concept in islice(found.values(), skip, skip + limit)]


def suggest_types(kb: KnowledgeBase, prefix: str, limit: int, skip: int = 0) -> list[dict[str, str]]:
    """Return semantic groups and types.

    >>> suggest_types(KnowledgeBase.open(getfixture("tiny_kb")), "c14", 5)
    [{'id': 'C14', 'name': 'C14'}]
    """
    return [as_type(label) for label in SemanticTypes(kb).beginning(prefix)[skip : skip + limit]]


def _describe_concept(concept: Concept) -> dict[str, Any]:
    kinds = concept.groups or concept.types
    shown: dict[str, Any] = {
        "id": style_id(concept.id),
        "name": concept.preferred_name,
        "notable": [as_type(each) for each in kinds],
    }
    return shown | ({"description": concept.definitions[0][:_MAX_DESCRIPTION]} if concept.definitions else {})


def manifest_of(base: str, name: str, types: SemanticTypes, precision: float | None) -> dict[str, Any]:
    """Return the manifest of a service at an address. `precision` is that of matches; None where nothing is matched.

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
