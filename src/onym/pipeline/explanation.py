"""Explanations of links, as lines for readers and as plain values for programs.

mention          text, offsets, and the expansion of an abbreviation
marks            assertion marks, such as negated
concept          id, preferred name, score, confidence, and the stage of a cascade that linked it
parents          parents of the candidates, and the headings that they are mapped to, if the knowledge base has a hierarchy
matched name     the matching name of the knowledge base, with its kind and sources
reasons          names and annotated mentions that support the concept
effects          contributions of reranker features to the score, relative to the runner-up
runner-up        the second candidate, and the difference of the scores
decided by       the part that decided the answer: a rule of the corrections, the name, or a stage of the linker
not linked       why the mention is not linked
not a mention    names of the knowledge base in the text that the detector did not take as mentions, with the reason
source           everything that the link depends on: digests of knowledge base and models, options
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from onym.corrections.corrections import STAGE, Corrections, Found
from onym.corrections.rules import Rule
from onym.kb import KnowledgeBase
from onym.methods.base import Linker
from onym.methods.detector import Detector, FindsRejections, Rejection
from onym.methods.evidence import Evidence
from onym.pipeline.link import LinkOptions
from onym.pipeline.prepare import Prepared
from onym.text.queries import Query, queries_of
from onym.types import Candidate, Link, LinkedDocument, NameKind, Relative, select_relatives, style_id

_EFFECTS = 5  # maximum number of feature effects in the lines for readers
_PARENTS = 3  # maximum number of parents in a line
_REASONS = {
    "same-name": "the text is the name {text!r}",
    "similar-name": "the most similar name is {text!r} (similarity {value:.2f})",
    "model-name": "the model found the name {text!r} (score {value:.2f})",
    "other-name": "another name is similar: {text!r} (similarity {value:.2f})",
    "memory": "in annotated documents, {text!r} has this concept {value:.0f} times",
    "similar-mention": "in annotated documents, the similar mention {text!r} has this concept (similarity {value:.2f})",
    "species": "the species is {text} (probability {value:.2f})",
    "species-prefix": "the letters before the symbol mean {text}",
    "species-beside": "the text names {text} right beside the mention",
    "species-sentence": "the sentence names {text}",
    "species-document": "the document names {text} {value:.0f} times",
    "species-cues": "the document has words that hint at {text}, {value:.0f} times",
}
_DECIDED_BY = {"name": "the name", "rerank": "the reranker", "exact": "exact match"}
_NOT_LINKED = {
    "no-candidate": "no name of the knowledge base matches",
    "below-threshold": "the score is below the minimum",
    "below-precision": "the confidence is below what the target precision needs",
    "filtered-out": "the best concept is excluded by the filter",
    "corrected": "a correction says that it has no concept",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a mention was linked to its concept, or not linked. `parents` has the parents of the candidates by concept id.

    `correction` says which rule gave the answer, if it was corrected. `decided_by` is the part of the pipeline that decided:
    `name` (the name has this concept alone, or first of all), `correction`, the stage of a linker, or the linker.
    """

    link: Link
    expansion: str | None
    name_kind: str | None
    name_sources: tuple[str, ...]
    evidence: Evidence
    source: dict[str, Any]
    parents: dict[str, tuple[Relative, ...]] = field(default_factory=dict)
    correction: str | None = None
    decided_by: str = ""

    @property
    def runner_up(self) -> Candidate | None:
        """The second candidate, or None."""
        return self.link.candidates[1] if len(self.link.candidates) > 1 else None

    @property
    def margin(self) -> float | None:
        """The difference between the scores of the best candidate and the runner-up; None without a runner-up."""
        return None if self.runner_up is None else self.link.candidates[0].score - self.runner_up.score

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values."""
        link, best = self.link, self.link.candidates[0] if self.link.candidates else None
        return {
            "start": link.mention.start,
            "end": link.mention.end,
            "text": link.mention.surface,
            "expansion": self.expansion,
            "concept_id": None if link.concept_id is None else style_id(link.concept_id),
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
            "assertion": ",".join(link.assertion or ()) or None,
            "correction": self.correction,
            "decided_by": self.decided_by or None,
            "reasons": [asdict(each) for each in self.evidence.reasons],
            "effects": [_without_nan(asdict(each)) for each in self.evidence.effects],
            "runner_up": None if self.runner_up is None else style_id(self.runner_up.concept_id),
            "margin": self.margin,
            "parents": {style_id(key): [each.to_dict() for each in found] for key, found in self.parents.items()},
            "source": self.source,
        }

    def lines(self) -> list[str]:
        """Return the explanation as lines of text."""
        return list(self._lines())

    def _lines(self) -> Iterator[str]:
        link = self.link
        if self.expansion:
            yield f"{link.mention.surface!r} stands for {self.expansion!r} in this document"
        if self.correction:
            yield f"decided by {self.correction}"
        if link.assertion:
            yield f"marks: {', '.join(link.assertion)}"
        if link.nil_reason:
            yield f"not linked: {_NOT_LINKED.get(link.nil_reason, link.nil_reason)}"
        if not link.candidates:
            return
        best = link.candidates[0]
        yield f"{'best candidate' if link.nil_reason else 'concept'}: {style_id(best.concept_id)} {best.preferred_name}"
        above = self._describe_parents(best)
        if above:
            yield above
        yield f"matched name: {best.name!r}{self._provenance()}"
        certainty = "" if link.confidence is None else f", confidence {link.confidence:.2f}"
        is_said = not self.decided_by or self.correction
        decided = "" if is_said else f", decided by {_DECIDED_BY.get(self.decided_by, self.decided_by)}"
        yield f"score {best.score:.3f}{certainty}{decided}"
        for reason in self.evidence.reasons:
            yield f"because {_REASONS[reason.kind].format(text=reason.text, value=reason.value)}"
        if link.tied:
            yield f"{link.tied} other {'concept has' if link.tied == 1 else 'concepts have'} the same score"
        if self.runner_up is not None:
            name = self.runner_up.preferred_name or self.runner_up.name
            beside = self._describe_parents(self.runner_up)
            shown = f" ({beside})" if beside and beside != above else ""
            yield f"runner-up: {style_id(self.runner_up.concept_id)} {name}{shown}, {self.margin:.3f} behind"
        for each in self.evidence.effects[:_EFFECTS]:
            yield f"{each.feature}: {each.value:.3g} against {each.runner_up:.3g}, effect {each.effect:+.2f}"

    def _describe_parents(self, candidate: Candidate) -> str:
        """Return the names of a candidate's parents or, if it has none, of the headings that it is mapped to."""
        found = self.parents.get(candidate.concept_id, ())
        parents, headings = (tuple(select_relatives(found, mapped=mapped).values()) for mapped in (False, True))
        names = parents or headings
        more = f"; and {len(names) - _PARENTS} more" if len(names) > _PARENTS else ""
        return f"{'parents' if parents else 'mapped to'}: {'; '.join(names[:_PARENTS])}{more}" if names else ""

    def _provenance(self) -> str:
        return f" ({self.name_kind}, {', '.join(self.name_sources)})" if self.name_kind else ""


class Explanations(list[Explanation]):
    """The explanations of a document's links. In a notebook, the text is shown with each explanation as a tooltip.

    `rejections` are the names of the knowledge base in the text that the detector did not take as mentions. If there is nothing
    to explain, `note` says why.

    >>> from onym.types import Document
    >>> Explanations(LinkedDocument(Document("1", "nothing")), [])._repr_html_()
    '<div class="onym" style="white-space:pre-wrap;line-height:1.7">nothing</div>'
    """

    def __init__(
        self,
        linked: LinkedDocument,
        explanations: Iterable[Explanation],
        rejections: Iterable[Rejection] = (),
        note: str = "",
    ) -> None:
        super().__init__(explanations)
        self.document, self._linked = linked.document, linked
        self.rejections, self.note = tuple(rejections), note

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return the explanations of links and the rejected names, as two lists of plain values."""
        return {"explanations": [each.as_dict() for each in self], "rejections": [each.as_dict() for each in self.rejections]}

    def rows(self) -> list[dict[str, Any]]:
        """Return plain values: a row for each link, then a row for each rejected name."""
        return [each.as_dict() for each in (*self, *self.rejections)]

    def lines(self) -> list[str]:
        """Return the explanations of the whole document as lines of text."""
        return list(self._lines())

    def _lines(self) -> Iterator[str]:
        for each in self:
            mention = each.link.mention
            yield f"{self.document.id}:{mention.start}-{mention.end}  {mention.surface}"
            yield from (f"  {line}" for line in each.lines())
        for rejection in self.rejections:
            yield f"{self.document.id}:{rejection.start}-{rejection.end}  {rejection.surface}"
            yield f"  not a mention: {rejection.detail}"
        if self.note:
            yield f"{self.document.id}  {self.note}"

    def _repr_html_(self) -> str:
        """Return the text with marked mentions and explanations as tooltips: no script, everything escaped."""
        marked = self._linked.to_html(["\n".join(each.lines()) for each in self])
        return marked + "".join(self._html_below())

    def _html_below(self) -> Iterator[str]:
        """Yield the HTML below the text: a collapsed list of rejected names, and the note."""
        if self.rejections:
            items = "".join(f"<li>{escape(each.surface)}: {escape(each.detail)}</li>" for each in self.rejections)
            yield f"<details><summary>Not taken as mentions: {len(self.rejections)}</summary><ul>{items}</ul></details>"
        if self.note:
            yield f"<p>{escape(self.note)}</p>"


@dataclass(frozen=True)
class Explaining:
    """What explanations need of a pipeline."""

    linker: Linker
    detector: Detector | None
    corrections: Corrections | None
    link_options: LinkOptions
    source: dict[str, Any]

    def explain(self, prepared: Prepared, linked: LinkedDocument) -> Explanations:
        """Explain the links of a document, and the names in it that the detector did not take as mentions.

        `prepared` is what the steps before linking returned for the document.
        """
        document, kb = prepared.document, self.linker.kb
        mentions = [Found(link.mention).at(document.text).mention for link in linked.links]  # with plain characters
        queries = queries_of(document, mentions, expand=self.link_options.expand)
        rules = {(found.mention.start, found.mention.end): found.rule for found in prepared.found}
        evidences = self.linker.evidence(queries, linked.links)
        explained = [
            Explanation(
                link,
                query.definition.long if query.definition else None,
                *_provenance(kb, link),
                evidence,
                self.source,
                _parents_of_candidates(kb, link),
                self._explain_correction(link, rules.get((link.mention.start, link.mention.end))),
                self._decided_by(query, link),
            )
            for link, query, evidence in zip(linked.links, queries, evidences, strict=True)
        ]
        is_annotated, detector = bool(prepared.original.mentions), self.detector
        rejections = detector.find_rejections(document) if isinstance(detector, FindsRejections) and not is_annotated else []
        note = "" if linked.links or rejections else _explain_nothing(detector)
        return Explanations(linked, explained, rejections, note)

    def _explain_correction(self, link: Link, rule: Rule | None) -> str | None:
        if self.corrections is None or rule is None or link.stage != STAGE:
            return None
        return self.corrections.explain_rule(rule)

    def _decided_by(self, query: Query, link: Link) -> str:
        """Return the part that decided the answer: a correction, the name, a stage of the linker, or the linker."""
        if link.stage == STAGE or not link.candidates:
            return link.stage or ""
        kb = self.linker.kb
        if self.link_options.names:
            allowed = self.link_options.allowed if self.link_options.restrict else None  # else other concepts compete
            concept = kb.order.meaning(kb.names.find(query.text), allowed)
            if concept >= 0 and kb.concept_ids[concept] == link.candidates[0].concept_id:
                return "name"
        return link.stage or str(self.linker.config["linker"])


def _explain_nothing(detector: Detector | None) -> str:
    if detector is None:
        return "the document has no annotated mentions, and the pipeline has no detector"
    if isinstance(detector, FindsRejections):
        return "no name of the knowledge base occurs in this text"
    return "the detector found no mention in this text"


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN (unknown feature values) by None, because JSON has no NaN."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}


def _parents_of_candidates(kb: KnowledgeBase, link: Link) -> dict[str, tuple[Relative, ...]]:
    found = {each.concept_id: kb.parents_of(each.concept_id) for each in link.candidates}
    return {concept_id: parents for concept_id, parents in found.items() if parents}


def _provenance(kb: KnowledgeBase, link: Link) -> tuple[str | None, tuple[str, ...]]:
    """Return the kind and the sources of the matched name in the knowledge base."""
    if not link.candidates:
        return None, ()
    concept, name = kb.concept_ids.find(link.candidates[0].concept_id), kb.find(link.candidates[0].name)
    if concept < 0 or name < 0 or name not in kb.names_of(concept):
        return None, ()
    kind, source = kb.kind_and_source(concept, name)
    return NameKind(kind).name.lower(), (kb.sources[source],) if source < len(kb.sources) else ()
