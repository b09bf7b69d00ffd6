"""Plans an audit: draws links to be labelled and documents to be read, and makes a desk that queues them.

Precision is estimated from links drawn from strata of type and confidence, recall from documents drawn at random, which are
read as a whole (`onym.review.sampling`). The plan is stored in the desk, so that `onym.review.report` knows how each link was
drawn. The population are the linked mentions: a mention that the pipeline left unlinked (NIL) is shown in the documents to be
read, but it is not part of precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationError

from onym.config import Strict
from onym.errors import InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.review.create import DeskCounts, DeskOptions, ReviewedDocument, create_desk
from onym.review.desk import Desk
from onym.review.estimation import Frame
from onym.review.sampling import (
    EXPECTED_RECALL,
    Strata,
    allocate,
    documents_to_read,
    draw_links,
    labels_at_random,
    margin_of,
    stratify,
)
from onym.types import Link, Progress, silent

PLAN = "audit"
"""The key of the plan in a desk."""


class PlannedStratum(Strict):
    """A stratum: its links, mean probability and planned variance, and the labels that it gets."""

    type: str
    low: float | None
    high: float | None
    links: int = Field(gt=0)
    labels: int = Field(gt=0)
    mean: float = Field(ge=0, le=1)
    variance: float = Field(ge=0, le=0.25)


class AuditPlan(Strict):
    """The plan of an audit. `links` has the number and the stratum of each link that was drawn.

    `documents` has the numbers of the documents to be read, of the first `total_documents` of the desk.
    """

    format: Literal[1] = 1
    margin: float = Field(gt=0, lt=0.5)
    recall_margin: float | None = Field(default=None, gt=0, lt=0.5)
    seed: int
    strata: tuple[PlannedStratum, ...] = Field(min_length=1)
    links: tuple[tuple[int, int], ...]
    documents: tuple[int, ...]
    total_documents: int = Field(ge=0)
    planned_margin: float = Field(ge=0)
    labels_at_random: int = Field(ge=0)

    @property
    def frame(self) -> Frame:
        """What is known of the strata without labels."""
        columns = zip(*((each.links, each.mean, each.variance) for each in self.strata), strict=True)
        return Frame(*(np.array(column, dtype=np.float64) for column in columns))


class AuditOptions(NamedTuple):
    """Half widths of the 95 % intervals of precision and recall, and the seed of the draw; None leaves recall out."""

    margin: float = 0.03
    recall_margin: float | None = 0.05
    seed: int = 0


def plan_audit(documents: Sequence[ReviewedDocument], options: AuditOptions | None = None) -> AuditPlan:
    """Draw links and documents for an audit.

    Links are numbered from 1 in the order of the documents, as in the desk. Raise ConfigError if there are no links.
    """
    options = options or AuditOptions()
    every = [link for each in documents for link in each.links]
    linked = [number for number, link in enumerate(every, 1) if link.concept_id is not None]
    strata = _stratify([every[number - 1] for number in linked])
    labels, rng = allocate(strata, options.margin), np.random.default_rng(options.seed)
    rows = draw_links(strata, labels, rng)
    frame, described = Frame.of(strata), strata.describe(labels)
    return AuditPlan(
        margin=options.margin,
        recall_margin=options.recall_margin,
        seed=options.seed,
        strata=tuple(
            PlannedStratum(**vars(each), mean=float(mean), variance=float(variance))
            for each, mean, variance in zip(described, frame.means, frame.variances, strict=True)
        ),
        links=tuple((linked[row], int(strata.stratum[row])) for row in rows.tolist()),
        documents=_draw_documents(len(documents), strata, options.recall_margin, rng),
        total_documents=len(documents),
        planned_margin=margin_of(strata, labels),
        labels_at_random=labels_at_random(float(strata.probabilities.mean()), len(linked), options.margin),
    )


def _stratify(links: Sequence[Link]) -> Strata:
    confidences = [np.nan if link.confidence is None else link.confidence for link in links]
    return stratify(confidences, [link.type for link in links])


def _draw_documents(total: int, strata: Strata, margin: float | None, rng: np.random.Generator) -> tuple[int, ...]:
    if margin is None:
        return ()
    count = documents_to_read(total, float(strata.probabilities.sum()) / EXPECTED_RECALL, margin)
    return tuple((1 + np.sort(rng.choice(total, count, replace=False))).tolist())


def create_audit(
    path: Path,
    documents: Sequence[ReviewedDocument],
    kb: KnowledgeBase,
    source: Mapping[str, Any],
    *,
    plan: AuditPlan,
    options: DeskOptions | None = None,
    missing: Sequence[str] = (),
    progress: Progress = silent,
) -> DeskCounts:
    """Write the desk of an audit atomically, and return its counts. Only what the audit drew is queued."""
    drawn, whole, queued = {number for number, _ in plan.links}, set(plan.documents), []
    start = 1
    for number, each in enumerate(documents, 1):
        own = range(len(each.links))
        kept = own if number in whole else (at for at in own if start + at in drawn)
        queued.append(replace(each, queued=frozenset(kept)))
        start += len(each.links)
    values = {PLAN: plan.model_dump_json()}
    return create_desk(path, queued, kb, source, options, missing=missing, values=values, progress=progress)


def read_plan(desk: Desk) -> AuditPlan:
    """Return the plan of an audit; raise InputError if the desk has none, IntegrityError if it does not fit the desk."""
    text = desk.value(PLAN)
    if text is None:
        what = "the desk was not made for an audit"
        raise InputError("audit-plan", what, where=desk.path.name, fix="make one with onym audit plan")
    try:
        plan = AuditPlan.model_validate_json(text)
    except ValidationError as e:
        raise IntegrityError("database-malformed", "the plan of the audit is invalid", where=desk.path.name) from e
    if any(not 0 <= stratum < len(plan.strata) for _, stratum in plan.links):
        raise IntegrityError("database-malformed", "the plan of the audit is invalid", where=desk.path.name)
    return plan
