"""Why a linker gave an answer: the reasons for a concept, and what each feature did for it against the runner-up.

A linker that knows more than the name that matched has a method `evidence(doc, links)`; of the others the name is all that is
known. A reason is a fact about the knowledge base or a memory that speaks for the concept, whether or not it decided alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from onym.kb import KnowledgeBase
from onym.rerank.memory import queries
from onym.text.similarity import NameSimilarity
from onym.types import Document, Link

ReasonKind = Literal["same-name", "similar-name", "model-name", "other-name", "memory", "similar-mention"]


@dataclass(frozen=True, slots=True)
class Reason:
    """What speaks for a concept. `value` is a similarity, or how often annotated documents meant the concept.

    same-name         the mention, or what it abbreviates, is this name
    similar-name      this name is the most similar one
    model-name        a model found this name
    other-name        another name of the concept is similar too
    memory            annotated documents have this mention with the concept
    similar-mention   annotated documents have a similar mention with the concept
    """

    kind: ReasonKind
    text: str
    value: float


@dataclass(frozen=True, slots=True)
class FeatureEffect:
    """What a feature did for the answer: by how much its log-odds were lower, had the feature the runner-up's value."""

    feature: str
    value: float
    runner_up: float
    effect: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """The reasons for an answer, the name that matched first; and the effects of features, the largest first."""

    reasons: tuple[Reason, ...] = ()
    effects: tuple[FeatureEffect, ...] = ()


@runtime_checkable
class GivesEvidence(Protocol):
    """A linker that knows more than the name that matched."""

    def evidence(self, doc: Document, links: Sequence[Link]) -> list[Evidence]:
        """Return why each mention of a document got the first candidate of its link."""


def evidence_of(linker: object, doc: Document, links: Sequence[Link]) -> list[Evidence]:
    """Return why a linker gave the first candidates of the links of a document's mentions; without any there is no evidence.

    >>> from onym.linkers.exact import ExactLinker
    >>> from onym.types import Mention
    >>> linker = ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "Pyrexia", (Mention(0, 7, "Pyrexia"),))
    >>> [linked] = linker.link([doc])
    >>> evidence_of(linker, doc, linked.links)[0].reasons
    (Reason(kind='same-name', text='pyrexia', value=1.0),)
    """
    if isinstance(linker, GivesEvidence):
        return linker.evidence(doc, links)
    return [_by_name(query, link) for query, link in zip(queries(doc, expand=True), links, strict=True)]


def _by_name(query: str, link: Link) -> Evidence:
    if not link.candidates:
        return Evidence()
    best = link.candidates[0]
    return Evidence((Reason("same-name" if best.name == query else "model-name", best.name, best.score),))


def name_reasons(kb: KnowledgeBase, similarity: NameSimilarity, query: str, link: Link) -> tuple[Reason, ...]:
    """Return the most similar name of the best candidate, and the next one that is similar at all."""
    if not link.candidates:
        return ()
    concept = kb.concept_ids.find(link.candidates[0].concept_id)
    names = np.unique(np.asarray(kb.names_of(concept)).astype(np.int64))
    scores = similarity.between([query], np.zeros(len(names), dtype=np.int64), names)
    order = np.lexsort((names, -scores))
    found = [(kb.names[int(names[at])], float(scores[at])) for at in order.tolist()]
    first = next((each for each in found if each[0] == query), found[0])
    kind: ReasonKind = "same-name" if first[0] == query else "similar-name"
    others = [each for each in found if each != first and each[1] > 0]
    return (Reason(kind, *first), *(Reason("other-name", *each) for each in others[:1]))
