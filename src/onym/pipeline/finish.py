"""Step 4: finish the links: confidence, corrected answers, components, thresholds, candidate sets, and the original text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onym.calibrate import Answers, PrecisionCurve, ScoredAnswer, require_coverage
from onym.corrections.corrections import STAGE, Corrections
from onym.errors import ConfigError
from onym.kb.ranking import ConceptMask
from onym.pipeline.component import Component, run_after
from onym.pipeline.config import FittedCalibration
from onym.pipeline.prepare import Prepared
from onym.text.analysis import plain
from onym.text.typography import restore_text
from onym.types import Link, LinkedDocument, NilReason


class Confidence:
    """Adds confidences to links: the probability that the best candidate is right.

    With `precision`, links whose confidence is too low for this precision are left unlinked (NIL). With `coverage`, candidates
    are cut to the smallest set that contains the right concept with this probability. `is_name_of` says whether a concept,
    given by its id, has a name.
    """

    def __init__(
        self,
        fitted: FittedCalibration,
        precision: float | None = None,
        coverage: float | None = None,
        is_name_of: Callable[[str, str], bool] = lambda _concept_id, _surface: False,
    ) -> None:
        self._calibration, self._by_type, self._is_name_of = fitted.calibration, fitted.by_type, is_name_of
        self._uses_names = any(each.uses_names for each in (fitted.calibration, *fitted.by_type.values()))
        self._minimum = None if precision is None else _minimum_confidence(fitted.calibration.curve, precision)
        self._coverage = None if coverage is None else require_coverage(coverage)

    def estimate(self, links: Sequence[Link]) -> list[Link]:
        """Return the links with confidences. Links without candidates are unchanged."""
        rows = [row for row, link in enumerate(links) if link.candidates]
        estimated = list(links)
        for row, confidence in zip(rows, self._confidences([links[row] for row in rows]), strict=True):
            estimated[row] = replace(links[row], confidence=confidence)
        return estimated

    def select(self, link: Link) -> Link:
        """Return the link with its candidate set, and unlinked if its confidence is too low for the precision."""
        if link.confidence is None:
            return link
        is_below = self._minimum is not None and link.confidence < self._minimum
        nil_reason: NilReason | None = link.nil_reason or ("below-precision" if is_below else None)
        candidates = link.candidates
        if self._coverage is not None:
            sets, kind = self._calibration.sets, link.mention.type
            size = sets.size(self._coverage, confidence=link.confidence, candidates=len(candidates), of_type=kind)
            candidates = candidates[:size]
        return replace(link, nil_reason=nil_reason, candidates=candidates)

    def _confidences(self, links: Sequence[Link]) -> list[float]:
        """Return the confidences of links with candidates, by the calibration of the mention's type if there is one."""
        if not links:
            return []
        answers = Answers.of(ScoredAnswer.of_link(link, is_named=self._is_named(link)) for link in links)
        confidences = np.array(self._calibration.confidences(answers))
        for kind, calibration in self._by_type.items():
            rows = np.flatnonzero([link.mention.type == kind for link in links])
            if len(rows):
                confidences[rows] = calibration.confidences(answers.part(rows))
        return [float(confidence) for confidence in confidences]

    def _is_named(self, link: Link) -> bool:
        return self._uses_names and self._is_name_of(link.candidates[0].concept_id, link.mention.surface)


def confidence_of(
    fitted: FittedCalibration | None,
    precision: float | None = None,
    coverage: float | None = None,
    is_name_of: Callable[[str, str], bool] = lambda _concept_id, _surface: False,
) -> Confidence | None:
    """Return the confidence estimator, or None if there is no calibration.

    Raise ConfigError if precision or coverage is given without a calibration.
    """
    if fitted is not None:
        return Confidence(fitted, precision, coverage, is_name_of)
    if precision is None and coverage is None:
        return None
    what = "precision and coverage need confidences, but the pipeline is not calibrated"
    fix = "calibrate it with `onym calibrate`; for terms, add --mentions terms"
    raise ConfigError("pipeline-uncalibrated", what, fix=fix)


def _minimum_confidence(curve: PrecisionCurve, precision: float) -> float:
    reached = curve.at(precision)
    if not reached.is_reached:
        best = f"{reached.precision:.3f}, for {100 * reached.coverage:.1f} % of the answers"
        what = f"a precision of {precision} cannot be reached; the highest is {best}"
        raise ConfigError("precision-unreachable", what, fix="choose a lower precision, or calibrate a better linker")
    return reached.threshold


@dataclass(frozen=True)
class Finishing:
    """How links are finished: confidences, the rules of people, components, and the minimum score."""

    confidence: Confidence | None = None
    corrections: Corrections | None = None
    allowed: ConceptMask | None = None
    components: tuple[Component, ...] = ()
    threshold: float | None = None

    def finish(
        self, batch: Sequence[Prepared], linked: Sequence[LinkedDocument], done: Callable[[str], None]
    ) -> list[LinkedDocument]:
        """Return the linked documents with everything that is not the linker's, and with their original text."""
        confident = [self._add_confidence(*pair) for pair in zip(batch, linked, strict=True)]
        done("confidence")
        changed = run_after(self.components, confident, done)
        finished = [self._apply_thresholds(*pair) for pair in zip(batch, changed, strict=True)]
        done("finish")
        return finished

    def _add_confidence(self, prepared: Prepared, linked: LinkedDocument) -> LinkedDocument:
        """Add detection scores and confidences, and answers of the corrections, which have no confidence."""
        found = prepared.found if linked.links else ()
        links = [replace(link, detection_score=each.score) for link, each in zip(linked.links, found, strict=True)]
        links = self.confidence.estimate(links) if self.confidence else links
        if self.corrections is not None:
            links = [
                self.corrections.correct_link(link, each.rule, self.allowed) if each.rule else link
                for link, each in zip(links, found, strict=True)
            ]
        return replace(linked, links=tuple(links), problems=(*prepared.problems, *linked.problems))

    def _apply_thresholds(self, prepared: Prepared, linked: LinkedDocument) -> LinkedDocument:
        links = tuple(link if link.stage == STAGE else self._apply_threshold(link) for link in linked.links)
        return restore_text(replace(linked, document=plain(linked.document), links=links), prepared.original.text)

    def _apply_threshold(self, link: Link) -> Link:
        if self.threshold is not None and not link.nil_reason and link.candidates[0].score < self.threshold:
            link = replace(link, nil_reason="below-threshold")
        return self.confidence.select(link) if self.confidence else link
