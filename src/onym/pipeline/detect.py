"""Step 2: find the mentions to link. Annotated mentions are used; in documents without any, the detector finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onym.corrections.corrections import Corrections, Found
from onym.methods.detector import Detector
from onym.pipeline.prepare import Prepared
from onym.types import Problem


def detect(batch: Sequence[Prepared], detector: Detector | None, corrections: Corrections | None = None) -> list[Prepared]:
    """Return the documents with their mentions. Corrections remove and add detected mentions, and give mentions their rules."""
    bare = [prepared.document for prepared in batch if not prepared.document.mentions]
    detected = iter(detector.detect(bare) if detector is not None and bare else ())
    results = []
    for prepared in batch:
        is_detected = detector is not None and not prepared.document.mentions
        problems: tuple[Problem, ...] = ()
        if is_detected:
            result = next(detected)
            scores = result.scores or (None,) * len(result.document.mentions)
            found, problems = list(map(Found, result.document.mentions, scores)), result.problems
        else:
            found = [Found(mention) for mention in prepared.document.mentions]
        if corrections is not None and not problems:
            found = _correct(prepared, found, corrections, is_detected=is_detected)
        results.append(prepared.with_found(found, problems))
    return results


def _correct(prepared: Prepared, found: Sequence[Found], corrections: Corrections, *, is_detected: bool) -> list[Found]:
    """Return the mentions after corrections. Rules read the text as given, because they may be bound to its digest."""
    given, text = prepared.original.text, prepared.document.text
    original = replace(prepared.document, text=given, mentions=()) if given != text else prepared.document
    corrected = corrections.correct_mentions(original, [each.at(given) for each in found], is_detected=is_detected)
    return [each.at(text) for each in corrected]
