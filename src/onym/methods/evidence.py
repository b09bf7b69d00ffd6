"""Explain answers: the reasons for a concept, and the effect of each feature compared with the runner-up.

A reason is a fact from the knowledge base or the memory that supports the concept, even if it was not decisive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.text.normal import normal_name
from onym.text.similarity import NameSimilarity
from onym.types import Link

Floats = npt.NDArray[np.float64]
_TINY = 1e-12  # probabilities are clipped to this distance from 0 and 1, so that log-odds are finite
ReasonKind = Literal[
    "same-name", "similar-name", "model-name", "other-name", "memory", "similar-mention", "species", "species-prefix",
    "species-beside", "species-sentence", "species-document", "species-cues",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a concept. `value` is a similarity, a probability, or a number of annotated mentions or of names.

    same-name         the mention, or its expanded abbreviation, is this name
    similar-name      this is the most similar name of the concept
    model-name        a model matched this name
    other-name        another name of the concept is similar too
    memory            this mention is annotated with the concept in the training documents
    similar-mention   a similar mention is annotated with the concept in the training documents
    species           the species of the gene, and its probability
    species-prefix    the letters before the symbol mean the species
    species-beside    a name of the species is in the mention or right beside it
    species-sentence  the sentence names the species
    species-document  the document names the species
    species-cues      the document has words that hint at the species, such as patients
    """

    kind: ReasonKind
    text: str
    value: float


@dataclass(frozen=True, slots=True)
class FeatureEffect:
    """The effect of a feature: how much the log-odds of the answer drop if this feature has the runner-up's value."""

    feature: str
    value: float
    runner_up: float
    effect: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """The reasons for an answer, starting with the matched name, and the effects of features, largest first."""

    reasons: tuple[Reason, ...] = ()
    effects: tuple[FeatureEffect, ...] = ()


def evidence_of_name(query: str, link: Link) -> Evidence:
    """Return the matched name of a link as its evidence; nothing for a link without candidates."""
    if not link.candidates:
        return Evidence()
    best = link.candidates[0]
    return Evidence((Reason("same-name" if normal_name(best.name) == query else "model-name", best.name, best.score),))


def name_reasons(kb: KnowledgeBase, similarity: NameSimilarity, query: str, link: Link) -> tuple[Reason, ...]:
    """Return the two most similar names of the best candidate as reasons; a second name with similarity 0 is left out."""
    if not link.candidates:
        return ()
    concept = kb.concept_ids.find(link.candidates[0].concept_id)
    names = np.unique(np.asarray(kb.names_of(concept)).astype(np.int64))
    scores = similarity.between([query], np.zeros(len(names), dtype=np.int64), names)
    order = np.lexsort((names, -scores))
    same = next((at for at in order.tolist() if kb.names[int(names[at])] == query), None)
    first = int(order[0]) if same is None else same
    others = [at for at in order.tolist() if at != first and scores[at] > 0]

    def reason(kind: ReasonKind, at: int) -> Reason:
        return Reason(kind, kb.form_of(concept, int(names[at])), float(scores[at]))

    kind: ReasonKind = "similar-name" if same is None else "same-name"
    return (reason(kind, first), *(reason("other-name", at) for at in others[:1]))


def effects_of(
    probabilities: Callable[[Floats], Floats], names: Sequence[str], answer: Floats, runner_up: Floats
) -> tuple[FeatureEffect, ...]:
    """Return the effect of each feature: how much the answer's log-odds drop if the feature has the runner-up's value."""
    changed = np.repeat(answer[None, :], len(names) + 1, axis=0)
    changed[np.arange(len(names)), np.arange(len(names))] = runner_up
    clipped = np.clip(probabilities(changed), _TINY, 1 - _TINY)
    odds = np.log(clipped / (1 - clipped))
    found = [
        FeatureEffect(name, float(answer[column]), float(runner_up[column]), float(odds[-1] - odds[column]))
        for column, name in enumerate(names)
        if odds[-1] != odds[column]
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.effect), each.feature)))
