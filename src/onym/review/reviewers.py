"""Several reviewers of one desk: what each said of a link, where they disagree, and how far.

A reviewer's label of a link is the concept that is right by the decision that holds for the reviewer; a broader, narrower or
close match, other bounds, `not-a-mention` and `no-concept` are labels of their own. `unsure` is no label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from onym.kb import KnowledgeBase
from onym.outputs.rows import require_rows, write_rows
from onym.review.agreement import HierarchyDistance, cohen_kappa, krippendorff_alpha
from onym.review.decisions import Decision, Standing
from onym.review.desk import Desk, DeskLink
from onym.store.hidden import owner_only
from onym.store.output import whole_file


class Disagreement(NamedTuple):
    """A link with the labels of the reviewers who gave one; they are not all equal."""

    link: DeskLink
    labels: dict[str, str]


@dataclass(frozen=True)
class AgreementReport:
    """Agreement on a desk. `links` counts those with labels of two reviewers or more, `equal` those with equal labels.

    `kappa` is Cohen's kappa by pair of reviewers, `alpha` is Krippendorff's; None where all labels are equal, so that it is
    undefined. The coefficients by distance in the hierarchy are None without a knowledge base.
    """

    reviewers: dict[str, int]
    links: int
    equal: int
    alpha: float | None
    alpha_by_distance: float | None
    kappa: dict[str, float | None]
    kappa_by_distance: dict[str, float | None] | None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return dict(vars(self))


class Reviewers:
    """The reviewers of a desk, in alphabetical order, without those in `without`, such as an adjudicator."""

    def __init__(self, decisions: Iterable[Decision], without: Sequence[str] = ()) -> None:
        own = list(decisions)
        self.names = sorted({each.reviewer for each in own} - set(without))
        self._standing = {reviewer: Standing(own, reviewer) for reviewer in self.names}

    def labels(self, link: DeskLink) -> dict[str, str]:
        """Return the labels of a link by reviewer."""
        found = {reviewer: each.of(link.number, link.document, link.cluster) for reviewer, each in self._standing.items()}
        said = {reviewer: label_of(decision) for reviewer, decision in found.items() if decision is not None}
        return {reviewer: label for reviewer, label in said.items() if label is not None}

    def iter_disagreements(self, desk: Desk) -> Iterator[Disagreement]:
        """Yield the links of a desk whose reviewers gave different labels."""
        for link in desk.links():
            labels = self.labels(link)
            if len(set(labels.values())) > 1:
                yield Disagreement(link, labels)

    def measure(self, desk: Desk, kb: KnowledgeBase | None = None) -> AgreementReport:
        """Return the agreement of the reviewers, with a knowledge base also by distance in its hierarchy."""
        units = [labels for link in desk.links() if (labels := self.labels(link))]
        rows = [[labels.get(reviewer) for reviewer in self.names] for labels in units]
        both = [labels for labels in units if len(labels) > 1]
        distance = HierarchyDistance.open(kb) if kb else None
        columns = dict(zip(self.names, zip(*rows, strict=True), strict=True)) if rows else {}
        pairs = list(combinations(columns, 2))
        return AgreementReport(
            reviewers={reviewer: sum(reviewer in labels for labels in units) for reviewer in self.names},
            links=len(both),
            equal=sum(len(set(labels.values())) == 1 for labels in both),
            alpha=krippendorff_alpha(rows),
            alpha_by_distance=krippendorff_alpha(rows, distance) if distance else None,
            kappa={f"{one}, {other}": cohen_kappa(columns[one], columns[other]) for one, other in pairs},
            kappa_by_distance={f"{one}, {other}": cohen_kappa(columns[one], columns[other], distance) for one, other in pairs}
            if distance
            else None,
        )


def label_of(decision: Decision) -> str | None:
    """Return the label that a decision gives a link; None if the reviewer was unsure.

    >>> label_of(Decision(id="decision-1", reviewer="ann", time="", verdict="broader", link=1, concept_id="mesh:D005334"))
    'broader mesh:D005334'
    """
    if decision.verdict == "unsure":
        return None
    if decision.verdict in ("right", "concept"):
        return decision.concept_id
    bounds = f"{decision.start}-{decision.end}" if decision.verdict == "span" else ""
    return " ".join(filter(None, (decision.verdict, bounds, decision.concept_id)))


def agreement_rows(report: AgreementReport) -> list[tuple[str, str]]:
    """Return a report as rows of text."""
    rows = [(f"labels of {reviewer}", f"{count:,}") for reviewer, count in report.reviewers.items()]
    rows += [("links with two labels", f"{report.links:,}"), ("  equal", f"{report.equal:,}")]
    rows += [("alpha", _number(report.alpha)), *((f"kappa of {pair}", _number(kappa)) for pair, kappa in report.kappa.items())]
    if report.kappa_by_distance is not None:
        rows += [("alpha by distance", _number(report.alpha_by_distance))]
        rows += [(f"kappa by distance of {pair}", _number(kappa)) for pair, kappa in report.kappa_by_distance.items()]
    return rows


def _number(coefficient: float | None) -> str:
    return "undefined: all labels are equal" if coefficient is None else f"{coefficient:.3f}"


def write_disagreements(reviewers: Reviewers, desk: Desk, path: Path) -> None:
    """Write the links with different labels as a table: document, offsets, text, linked concept, the label of each reviewer.

    The name of the file sets its format: .tsv, .csv, .jsonl, .parquet or .xlsx. The file has mode 0600.
    """
    require_rows(path)
    documents = {document.number: document.id for document in desk.documents()}
    columns = {"document": str, "start": int, "end": int, "text": str, "concept_id": str}
    columns |= {f"label of {reviewer}": str for reviewer in reviewers.names}
    rows = (
        [
            *(documents.get(link.document), link.start, link.end, link.surface, link.concept_id),
            *(labels.get(reviewer) for reviewer in reviewers.names),
        ]
        for link, labels in reviewers.iter_disagreements(desk)
    )
    with owner_only(), whole_file(path) as file:
        write_rows(rows, columns, path, file)
