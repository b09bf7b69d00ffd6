"""Check that a pipeline links the names of its knowledge base to the concepts that have them.

A name is checked if it *decides* for a concept (see `onym.kb.order`), or if only one concept has it. It is linked as a term
without context.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, select_concepts
from onym.pipeline.pipeline import Pipeline
from onym.types import Document, Link, Mention, NameKind

Kind = Literal["preferred", "synonym"]
KINDS: tuple[Kind, ...] = ("preferred", "synonym")


class OwnName(NamedTuple):
    """A name as written in its source, the row of its concept, and whether it is the preferred name."""

    form: str
    concept: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class NameException:
    """A name that is not linked to the concept `concept_id`, its link, and the cause.

    abbreviation            the name is an abbreviation, which does not decide
    no-candidate ...        why the name is not linked: the reasons of `Link.nil_reason`
    other-concept           the linker ranks another concept first
    """

    name: OwnName
    concept_id: str
    link: Link
    cause: str

    def as_dict(self) -> dict[str, str | None]:
        """Return the exception as plain values."""
        own = {"name": self.name.form, "kind": self.name.kind, "concept_id": self.concept_id}
        return own | {"linked_to": self.link.concept_id, "cause": self.cause}


@dataclass(frozen=True, slots=True)
class NamesReport:
    """The number of checked names by kind, the exceptions, and the median confidence of the others, if any."""

    checked: Counter[Kind]
    exceptions: tuple[NameException, ...]
    median_confidence: float | None

    def percent(self, kind: Kind) -> float | None:
        """Return the percentage of the names of a kind that are linked to their concept, or None if none was checked."""
        wrong = sum(each.name.kind == kind for each in self.exceptions)
        return 100 * (1 - wrong / self.checked[kind]) if self.checked[kind] else None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        percent = {kind: self.percent(kind) for kind in KINDS}
        exceptions = [each.as_dict() for each in self.exceptions]
        return {
            "checked": dict(self.checked),
            "percent": percent,
            "median_confidence": self.median_confidence,
            "exceptions": exceptions,
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return the report as (label, value) rows for readers."""
        found = []
        for kind in KINDS:
            wrong = sum(each.name.kind == kind for each in self.exceptions)
            found.append((f"{kind} names", f"{self.checked[kind]:,} checked, {wrong:,} not linked to their concept"))
        if self.median_confidence is not None:
            found.append(("median confidence", f"{self.median_confidence:.3f}"))
        return found + [
            (each.name.form, f"{each.concept_id} -> {each.link.concept_id or 'not linked'} ({each.cause})")
            for each in self.exceptions
        ]


def check_names(pipeline: Pipeline, count: int = 0, *, seed: int = 0) -> NamesReport:
    """Link up to `count` names of each kind (0 means all) as terms, and return those that are not linked to their concept.

    >>> from onym.methods.exact import ExactLinker
    >>> report = check_names(Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))))
    >>> report.percent("preferred"), report.exceptions
    (100.0, ())
    """
    kb = pipeline.kb
    names = [
        each for kind in KINDS for each in sample_names(kb, kind, count, seed=seed, only=select_concepts(kb, pipeline.options))
    ]
    docs = (as_document(name) for name in names)
    exceptions, confidences = [], []
    for name, linked in zip(names, pipeline.for_terms().link_many(docs), strict=True):
        link = linked.links[0] if linked.links else Link(Mention(0, len(name.form), name.form))
        if link.concept_id == kb.concept_ids[name.concept]:
            confidences += [] if link.confidence is None else [link.confidence]
        else:
            exceptions.append(NameException(name, kb.concept_ids[name.concept], link, _cause(kb, name, link)))
    return NamesReport(Counter(each.kind for each in names), tuple(exceptions), median(confidences) if confidences else None)


def as_document(name: OwnName, before: str = "", after: str = "") -> Document:
    """Return a document with a name as its only mention, between two texts."""
    start = len(before)
    return Document("name", f"{before}{name.form}{after}", (Mention(start, start + len(name.form), name.form),))


def sample_names(
    kb: KnowledgeBase, kind: Kind, count: int = 0, *, seed: int = 0, only: ConceptMask | None = None
) -> list[OwnName]:
    """Return up to `count` names of a kind that decide for a concept or that only one concept has; 0 means all.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [name.form for name in sorted(sample_names(kb, "preferred"))]
    ['Fever', 'Hypertension', 'Myocardial Infarction']
    """
    found: list[OwnName] = []
    for name in _iter_names(kb, kind, seed):
        if only is None or only[name.concept]:
            found.append(name)
        if len(found) == count:
            break
    return found


def _iter_names(kb: KnowledgeBase, kind: Kind, seed: int) -> Iterator[OwnName]:
    """Yield the names in a pseudo-random order."""
    counts: npt.NDArray[np.int64] = np.diff(kb.concept_terms).astype(np.int64)
    concepts = np.repeat(np.arange(len(kb)), counts)
    is_kind = (np.asarray(kb.term_kinds) == NameKind.PREFERRED) == (kind == "preferred")
    for term in np.random.default_rng(seed).permutation(np.flatnonzero(is_kind)).tolist():
        concept, name, form = int(concepts[term]), int(kb.term_names[term]), kb.term_forms[term]
        if form.strip() and _is_of(kb, name, concept):
            yield OwnName(form, concept, kind)


def _is_of(kb: KnowledgeBase, name: int, concept: int) -> bool:
    """Return whether a name should be linked to a concept."""
    meaning = kb.order.meaning(name)
    if meaning >= 0 or kb.order.preferred:
        return meaning == concept
    owners: Sequence[int] = kb.name_concepts[name].tolist()
    return owners == [concept]


def _cause(kb: KnowledgeBase, name: OwnName, link: Link) -> str:
    if link.nil_reason:
        return link.nil_reason
    return "other-concept" if kb.order.meaning(kb.find(name.form)) == name.concept else "abbreviation"
