"""Why a link is what it is: for people as lines, for machines as plain values.

mention          text, offsets, and what an abbreviation stands for in the document
concept          id, preferred name, score, confidence, and the stage of a cascade that answered
matched name     as the knowledge base has it, with its kind and sources
reasons          names and memories that speak for the concept
effects          what the features of a reranker did for it, against the runner-up
runner-up        the next candidate, and how far it is behind
not linked       the reason of no answer
source           what the answer depends on: knowledge base and models with their digests, options
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any

from onym.kb import KnowledgeBase
from onym.linkers.base import Linker
from onym.rerank.evidence import Evidence, evidence_of
from onym.text.analysis import analysis_of
from onym.types import Candidate, Link, LinkedDocument, NameKind, styled

_EFFECTS = 5  # that people are shown
_REASONS = {
    "same-name": "the text is the name {text!r}",
    "similar-name": "the most similar name is {text!r} (similarity {value:.2f})",
    "model-name": "the model found the name {text!r} (score {value:.2f})",
    "other-name": "another name is similar: {text!r} (similarity {value:.2f})",
    "memory": "annotated documents have {text!r} with this concept {value:.0f} times",
    "similar-mention": "annotated documents have a mention like {text!r} with this concept (similarity {value:.2f})",
}
_NOT_LINKED = {
    "no-candidate": "no name of the knowledge base matches",
    "below-threshold": "the score is below the minimum",
    "below-precision": "the confidence is below what the target precision needs",
    "filtered-out": "the best meaning is a concept of another type",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a mention got its answer, or none."""

    link: Link
    expansion: str | None
    name_kind: str | None
    name_sources: tuple[str, ...]
    evidence: Evidence
    source: dict[str, Any]

    @property
    def runner_up(self) -> Candidate | None:
        """The second candidate."""
        return self.link.candidates[1] if len(self.link.candidates) > 1 else None

    @property
    def margin(self) -> float | None:
        """How much higher the score of the answer is than that of the runner-up."""
        return None if self.runner_up is None else self.link.candidates[0].score - self.runner_up.score

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        link, best = self.link, self.link.candidates[0] if self.link.candidates else None
        return {
            "start": link.mention.start,
            "end": link.mention.end,
            "text": link.mention.surface,
            "expansion": self.expansion,
            "concept_id": None if link.concept_id is None else styled(link.concept_id),
            "preferred_name": best.preferred_name if best else None,
            "matched_name": best.name if best else None,
            "name_kind": self.name_kind,
            "name_sources": list(self.name_sources),
            "score": best.score if best else None,
            "confidence": link.confidence,
            "detection_score": link.detection_score,
            "stage": link.stage,
            "ties": link.tied,
            "nil_reason": link.nil_reason,
            "reasons": [{"kind": each.kind, "text": each.text, "value": each.value} for each in self.evidence.reasons],
            "effects": [
                {"feature": name, "value": _known(value), "runner_up": _known(other), "effect": effect}
                for name, value, other, effect in map(astuple, self.evidence.effects)
            ],
            "runner_up": None if self.runner_up is None else styled(self.runner_up.concept_id),
            "margin": self.margin,
            "source": self.source,
        }

    def lines(self) -> list[str]:
        """Return what people read."""
        return list(self._lines())

    def _lines(self) -> Iterator[str]:
        link = self.link
        if self.expansion:
            yield f"{link.mention.surface!r} stands for {self.expansion!r} in this document"
        if link.nil_reason:
            yield f"not linked: {_NOT_LINKED.get(link.nil_reason, link.nil_reason)}"
        if not link.candidates:
            return
        best = link.candidates[0]
        yield f"{'best candidate' if link.nil_reason else 'concept'}: {styled(best.concept_id)} {best.preferred_name}"
        yield f"matched name: {best.name!r}{self._provenance()}"
        certainty = "" if link.confidence is None else f", confidence {link.confidence:.2f}"
        yield f"score {best.score:.3f}{certainty}{f', by {link.stage}' if link.stage else ''}"
        for reason in self.evidence.reasons:
            yield f"because {_REASONS[reason.kind].format(text=reason.text, value=reason.value)}"
        if link.tied:
            yield f"{link.tied} other concepts have the same score"
        if self.runner_up is not None:
            name = self.runner_up.preferred_name or self.runner_up.name
            yield f"runner-up: {styled(self.runner_up.concept_id)} {name}, {self.margin:.3f} behind"
        for each in self.evidence.effects[:_EFFECTS]:
            yield f"{each.feature}: {each.value:.3g} against {each.runner_up:.3g}, effect {each.effect:+.2f}"

    def _provenance(self) -> str:
        return f" ({self.name_kind}, {', '.join(self.name_sources)})" if self.name_kind else ""


class Explanations(list[Explanation]):
    """The explanations of a document's links. A notebook shows the text, and each mark says why it is what it is.

    >>> from onym.types import Document
    >>> Explanations(LinkedDocument(Document("1", "nothing")), [])._repr_html_()
    '<div class="onym" style="white-space:pre-wrap;line-height:1.7">nothing</div>'
    """

    def __init__(self, linked: LinkedDocument, explanations: Iterable[Explanation]) -> None:
        super().__init__(explanations)
        self.document, self._linked = linked.document, linked

    def _repr_html_(self) -> str:
        """Return the text with its mentions marked, and the reasons as titles: no script, everything escaped."""
        return self._linked.to_html(["\n".join(each.lines()) for each in self])


def explain_linked(linked: LinkedDocument, linker: Linker, source: dict[str, Any]) -> Explanations:
    """Explain the links of a document."""
    doc = replace(linked.document, mentions=tuple(link.mention for link in linked.links))
    known = analysis_of(doc).abbreviations
    explained = (
        Explanation(link, known.expand(link.mention.surface) or None, *_provenance(linker.kb, link), evidence, source)
        for link, evidence in zip(linked.links, evidence_of(linker, doc, linked.links), strict=True)
    )
    return Explanations(linked, explained)


def _known(value: float) -> float | None:
    """Return a number, or None for one that is not known, which JSON has no number for."""
    return None if math.isnan(value) else value


def _provenance(kb: KnowledgeBase, link: Link) -> tuple[str | None, tuple[str, ...]]:
    """Return the kind and the sources of the name that matched, as the knowledge base has it."""
    if not link.candidates:
        return None, ()
    concept, name = kb.concept_ids.find(link.candidates[0].concept_id), kb.names.find(link.candidates[0].name)
    if concept < 0 or name < 0 or name not in kb.names_of(concept):
        return None, ()
    kind, source = kb.kind_and_source(concept, name)
    return NameKind(kind).name.lower(), (kb.sources[source],) if source < len(kb.sources) else ()
