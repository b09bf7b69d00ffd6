"""Reports of an audit: precision and recall with 95 % intervals, overall and by type, and the labels that the plan saved.

A drawn link is right if the decision that holds for it is `right`; each other decision but `unsure` makes it wrong. A document
has a mention for each link found `right`, `concept`, `broader`, `narrower`, `close` or `span`, and for each missed mention. The
type of a mention is that of the concept that the reviewer named, so recall by type needs the knowledge base.

The queue of a desk is not in random order, so that the first labels are not a random sample. There are therefore no estimates
before everything that was drawn is decided. Links and documents with a decision `unsure` are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from onym.evaluate.pages import render_page
from onym.kb import KnowledgeBase
from onym.review.audit import AuditPlan, read_plan
from onym.review.decisions import Decision, Standing
from onym.review.desk import Desk, DeskLink
from onym.review.estimation import Estimates, LabelSums, estimate_precision, estimate_recall
from onym.review.sampling import labels_at_random

_GOLD = frozenset({"right", "concept", "broader", "narrower", "close", "span"})
"""Verdicts by which a link is a mention of a concept."""
MIN_LABELS_OF_TYPE = 30
"""The fewest labels with which a type has an interval of its own; with fewer, intervals hold the truth too rarely."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval; `items` is how many links or mentions it is of, `labels` how many were labelled."""

    value: float
    low: float
    high: float
    items: int | None = None
    labels: int | None = None

    @property
    def margin(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} ({100 * self.low:.1f} to {100 * self.high:.1f})"


@dataclass(frozen=True, slots=True)
class Savings:
    """Labels that other samples need for the margin that the audit reached.

    `at_random` is for a simple random sample, `with_strata` for the strata without the probabilities; None if all labels are
    right, or all are wrong, so that nothing is known of a random sample.
    """

    labels: int
    with_strata: int | None
    at_random: int | None


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """What is decided of what was drawn. `empty` counts the drawn documents without links that nobody says to have read."""

    links: int
    links_drawn: int
    links_unsure: int
    documents: int
    documents_drawn: int
    documents_unsure: int
    empty: int

    @property
    def is_precision_complete(self) -> bool:
        """Whether all drawn links are decided."""
        return self.links == self.links_drawn

    @property
    def is_recall_complete(self) -> bool:
        """Whether all drawn documents are read."""
        return self.documents_drawn > 0 and self.documents == self.documents_drawn


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit. Estimates are None as long as something that they need is not decided."""

    progress: AuditProgress
    links: int
    documents: int
    margin: float
    precision: Interval | None = None
    precision_by_type: dict[str, Interval] | None = None
    recall: Interval | None = None
    recall_by_type: dict[str, Interval] | None = None
    savings: Savings | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return asdict(self)


def report_audit(desk: Desk, kb: KnowledgeBase | None = None, *, reviewer: str = "", empty_read: bool = False) -> AuditReport:
    """Estimate precision and recall from the decisions of a desk that `onym audit plan` made.

    With `reviewer`, only the decisions of this reviewer count. With `empty_read`, drawn documents without links count as read.
    Recall by type needs the knowledge base.
    """
    plan = read_plan(desk)
    labelled = _Labels(desk, plan, Standing(desk.decisions(), reviewer), empty_read=empty_read)
    progress = labelled.progress()
    report: dict[str, Any] = {}
    if progress.is_precision_complete and progress.links > progress.links_unsure:
        report |= _precision(plan, labelled)
    if progress.is_recall_complete:
        report |= _recall(plan, labelled, kb)
    links = sum(each.links for each in plan.strata)
    return AuditReport(progress, links, plan.total_documents, plan.margin, **report)


class _Labels:
    """The decisions that hold for what an audit drew."""

    def __init__(self, desk: Desk, plan: AuditPlan, standing: Standing, *, empty_read: bool) -> None:
        self.plan, self._standing = plan, standing
        drawn, whole = dict(plan.links), set(plan.documents)
        self.drawn: list[tuple[DeskLink, int, Decision | None]] = []
        self.read: dict[int, list[tuple[DeskLink, Decision | None]]] = {number: [] for number in plan.documents}
        for link in desk.links():
            if link.number in drawn or link.document in whole:
                decision = standing.of(link.number, link.document, link.cluster)
                if link.number in drawn:
                    self.drawn.append((link, drawn[link.number], decision))
                if link.document in whole:
                    self.read[link.document].append((link, decision))
        self.missed: dict[int, list[Decision]] = {number: [] for number in plan.documents}
        for decision in standing.list_missed():
            if decision.document in whole:
                self.missed[decision.document].append(decision)
        self._empty_read = empty_read

    def progress(self) -> AuditProgress:
        """Return what is decided."""
        done = [number for number in self.read if self._is_read(number)]
        return AuditProgress(
            links=sum(decision is not None for _, _, decision in self.drawn),
            links_drawn=len(self.plan.links),
            links_unsure=sum(decision is not None and decision.verdict == "unsure" for _, _, decision in self.drawn),
            documents=len(done),
            documents_drawn=len(self.plan.documents),
            documents_unsure=sum(self._is_unsure(number) for number in done),
            empty=sum(not links and not self._is_read(number) for number, links in self.read.items()),
        )

    def _is_read(self, number: int) -> bool:
        links = self.read[number]
        if not links:
            return self._empty_read or bool(self.missed[number])
        return all(decision is not None for _, decision in links)

    def _is_unsure(self, number: int) -> bool:
        return any(decision is not None and decision.verdict == "unsure" for _, decision in self.read[number])

    def iter_verdicts(self) -> Iterator[tuple[DeskLink, int, bool]]:
        """Yield the drawn links that are right or wrong, with their strata."""
        for link, stratum, decision in self.drawn:
            if decision is not None and decision.verdict != "unsure":
                yield link, stratum, decision.verdict == "right"

    def mentions(self, number: int) -> Iterator[tuple[bool, str, str | None]]:
        """Yield the mentions of a document that was read: whether it was found, the type of its link, and its concept."""
        for link, decision in self.read[number]:
            if decision is not None and decision.verdict in _GOLD:
                yield decision.verdict == "right", link.type, decision.concept_id
        for decision in self.missed[number]:
            yield False, "", decision.concept_id

    def list_clear_documents(self) -> list[int]:
        """Return the numbers of the documents without a decision `unsure`."""
        return [number for number in self.read if not self._is_unsure(number)]


def _precision(plan: AuditPlan, labelled: _Labels) -> dict[str, Any]:
    sums, frame = _sum_labels(plan, labelled), plan.frame
    if (sums.labels < 1).any():  # all labels of a stratum are unsure
        return {}
    kinds = [each.type for each in plan.strata]

    def estimate(strata: Sequence[int], weight: float | None = None) -> Interval:
        rows = np.array(strata)
        found = estimate_precision(frame.part(rows), sums.part(rows), weight=weight)
        return _interval(found, int(frame.sizes[rows].sum()), int(sums.labels[rows].sum()))

    rows = range(len(kinds))
    overall, plain = estimate(rows), estimate(rows, 0.0)
    rows_of = {kind: [row for row in rows if kinds[row] == kind] for kind in dict.fromkeys(kinds)}
    by_type = {kind: estimate(rows) for kind, rows in rows_of.items() if sums.labels[rows].sum() >= MIN_LABELS_OF_TYPE}
    return {"precision": overall, "precision_by_type": by_type, "savings": _savings(overall, plain)}


def _sum_labels(plan: AuditPlan, labelled: _Labels) -> LabelSums:
    decided = list(labelled.iter_verdicts())
    stratum = np.array([row for _, row, _ in decided], dtype=np.int64)
    right = np.array([is_right for _, _, is_right in decided], dtype=np.float64)
    # a link without confidence has the mean of its stratum, which has no other
    means = [each.mean for each in plan.strata]
    likely = np.array([means[row] if link.confidence is None else link.confidence for link, row, _ in decided])
    columns = (np.ones_like(likely), right, likely, likely**2, likely * right)
    return LabelSums(*(np.bincount(stratum, each, len(plan.strata)).astype(np.float64) for each in columns))


def _savings(overall: Interval, plain: Interval) -> Savings:
    labels, links = overall.labels or 0, overall.items or 0
    if not 0 < overall.value < 1 or not overall.margin:
        return Savings(labels, None, None)
    at_random = labels_at_random(overall.value, links, overall.margin)
    # the plain mean has another margin with these labels; to reach this one, it needs as many times more as a random sample
    with_strata = labels * at_random / max(labels_at_random(overall.value, links, plain.margin), 1)
    return Savings(labels, round(with_strata), at_random)


def _recall(plan: AuditPlan, labelled: _Labels, kb: KnowledgeBase | None) -> dict[str, Any]:
    documents = [
        [(is_found, _type(kind, concept, kb)) for is_found, kind, concept in labelled.mentions(number)]
        for number in labelled.list_clear_documents()
    ]
    kinds = sorted({kind for mentions in documents for _, kind in mentions}) if kb else []

    def estimate(wanted: str | None = None) -> Interval | None:
        own = [[is_found for is_found, kind in mentions if wanted in (None, kind)] for mentions in documents]
        found, gold = (np.array([count(each) for each in own], dtype=np.float64) for count in (sum, len))
        if len(gold) < 2 or not gold.sum():
            return None
        return _interval(estimate_recall(found, gold, plan.total_documents), None, int(gold.sum()))

    by_type = {kind: interval for kind in kinds if (interval := estimate(kind)) is not None}
    return {"recall": estimate(), "recall_by_type": by_type or None}


def _type(of_link: str, concept_id: str | None, kb: KnowledgeBase | None) -> str:
    row = kb.concept_ids.find(concept_id) if kb and concept_id else -1
    return kb.label_of(row)[1] if kb and row >= 0 else of_link


def _interval(found: Estimates, items: int | None, labels: int) -> Interval:
    return Interval(float(found.value), float(found.low), float(found.high), items, labels)


def report_rows(report: AuditReport) -> list[tuple[str, str]]:
    """Return a report as rows of text: what, and its value in percent with the 95 % interval."""
    progress = report.progress
    labelled = f"labelled {progress.links:,} of {progress.links_drawn:,} drawn{_unsure(progress.links_unsure)}"
    read = f"read {progress.documents:,} of {progress.documents_drawn:,} drawn{_unsure(progress.documents_unsure)}"
    rows = [("links", f"{report.links:,}; {labelled}"), ("documents", f"{report.documents:,}; {read}")]
    for name, overall, by_type in (
        ("precision", report.precision, report.precision_by_type),
        ("recall", report.recall, report.recall_by_type),
    ):
        rows += [(f"{name}, %", str(overall))] if overall else []
        rows += [(f"  {kind or 'no type'}", str(each)) for kind, each in (by_type or {}).items()]
    return rows + _savings_rows(report.savings)


def _unsure(count: int) -> str:
    return f" ({count:,} unsure, left out)" if count else ""


def _savings_rows(savings: Savings | None) -> list[tuple[str, str]]:
    if savings is None or savings.at_random is None or savings.with_strata is None:
        return []
    return [
        ("labels for this margin", f"{savings.labels:,}"),
        ("  with strata alone", f"{savings.with_strata:,}"),
        ("  random sample", f"{savings.at_random:,}"),
    ]


def open_problems(report: AuditReport) -> list[str]:
    """Return what has to be decided before the report is complete, as sentences."""
    progress, found = report.progress, []
    if not progress.is_precision_complete:
        left = progress.links_drawn - progress.links
        found.append(f"Precision: {left:,} drawn links are not decided yet. The first labels are not a random sample.")
    elif report.precision is None:
        found.append("Precision: all drawn links of a stratum are unsure.")
    if progress.documents_drawn and not progress.is_recall_complete:
        left = progress.documents_drawn - progress.documents - progress.empty
        found += [f"Recall: {left:,} drawn documents are not read yet."] if left else []
        if progress.empty:
            what = f"Recall: {progress.empty:,} drawn documents have no links."
            found.append(f"{what} Read them, add the mentions that were missed, and give --empty-read.")
    elif progress.documents_drawn and report.recall is None:
        found.append("Recall: the documents that were read have no mentions.")
    return found


def report_page(report: AuditReport, title: str) -> str:
    """Return a report as an HTML page without scripts."""
    sections = [
        (name, overall, by_type or {})
        for name, overall, by_type in (
            ("Precision", report.precision, report.precision_by_type),
            ("Recall", report.recall, report.recall_by_type),
        )
    ]
    values = {"report": report, "sections": sections, "rows": report_rows(report)[:2], "problems": open_problems(report)}
    return render_page("audit.html.j2", title, values)
