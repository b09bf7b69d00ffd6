"""Confidence: how probable it is that a link is right, and what follows where a precision or a coverage was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onym.calibrate import Answers, PrecisionCurve, ScoredAnswer, require_coverage
from onym.errors import ConfigError
from onym.pipeline.config import FittedCalibration
from onym.types import Candidate, Link


class Confidence:
    """Gives links the probability that their best candidate is right.

    With `precision`, answers that are not confident enough are left unlinked; with `coverage`, the candidates are cut to the
    fewest that hold the right one that often.
    """

    def __init__(self, fitted: FittedCalibration, precision: float | None = None, coverage: float | None = None) -> None:
        self._calibration = fitted.calibration
        self._least = None if precision is None else _threshold(fitted.calibration.curve, precision)
        self._coverage = None if coverage is None else require_coverage(coverage)

    def of(self, links: Sequence[Link]) -> list[Link]:
        """Return the links with their confidence; those without candidates have none."""
        answers = Answers.of(ScoredAnswer.of_link(link) for link in links if link.candidates)
        confidences = iter(self._calibration.confidences(answers).tolist() if len(answers) else ())
        return [self._above_threshold(link, next(confidences)) if link.candidates else link for link in links]

    def _above_threshold(self, link: Link, confidence: float) -> Link:
        is_below = self._least is not None and confidence < self._least
        nil_reason = link.nil_reason or ("below-precision" if is_below else None)
        return replace(link, confidence=confidence, nil_reason=nil_reason, candidates=self._kept(link, confidence))

    def _kept(self, link: Link, confidence: float) -> tuple[Candidate, ...]:
        if self._coverage is None:
            return link.candidates
        count, sets = len(link.candidates), self._calibration.sets
        return link.candidates[: sets.size(self._coverage, confidence=confidence, candidates=count, of_type=link.mention.type)]


def confidence_of(
    fitted: FittedCalibration | None, precision: float | None = None, coverage: float | None = None
) -> Confidence | None:
    """Return the confidence of a calibration; None without one, where nothing was asked for."""
    if fitted is not None:
        return Confidence(fitted, precision, coverage)
    if precision is None and coverage is None:
        return None
    what = "a precision and a coverage need confidences, and the pipeline is not calibrated"
    raise ConfigError("pipeline-uncalibrated", what, fix="calibrate it with onym calibrate; for terms, with --mentions terms")


def _threshold(curve: PrecisionCurve, precision: float) -> float:
    reached = curve.at(precision)
    if not reached.is_reached:
        best = f"{reached.precision:.3f}, for {100 * reached.coverage:.1f} % of the answers"
        what = f"a precision of {precision} is not reached; the highest is {best}"
        raise ConfigError("precision-unreachable", what, fix="ask for less, or calibrate a better linker")
    return reached.threshold
