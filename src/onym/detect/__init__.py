"""Detectors: they find the mentions in raw documents.

Each module is one detector, except for the modules in `HELPERS`. Detectors do not import each other; only the student composes
the dictionary, and `several` composes any of them. Offsets count code points of the raw text, and a mention's surface is the
text at its offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onym._lazy import lazy
from onym.detect.base import Detected, Detector, DetectorConfig, Rejection, Span, detect_batches
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.parts import OpenContext
from onym.registry import DETECTORS

if TYPE_CHECKING:
    from onym.detect.assertion import assertion_marks, with_assertion
    from onym.detect.several import SeveralDetectorConfig

HELPERS = ("assertion", "classifier", "facts", "name_bits", "names", "spans", "tags")
"""Modules of this package that are not detectors."""
__all__ = [
    "Detected",
    "Detector",
    "DetectorConfig",
    "Rejection",
    "SeveralDetectorConfig",
    "Span",
    "assertion_marks",
    "detect_batches",
    "detector_config",
    "open_detector",
    "with_assertion",
]
_LAZY = {"SeveralDetectorConfig": "onym.detect.several"}
__getattr__ = lazy(__name__, dict.fromkeys(("assertion_marks", "with_assertion"), "onym.detect.assertion") | _LAZY)


def detector_config(name: str, **options: Any) -> DetectorConfig:
    """Return the configuration of a detector by its short name; options that are None are ignored.

    Several names, separated by commas, are the parts of the detector `several`.

    >>> detector_config("dictionary", min_length=2).kind, detector_config("dictionary,student").kind
    ('dictionary', 'several')
    """
    if "," in name:
        name, options = "several", {"parts": name, **options}
    config: DetectorConfig = DETECTORS.load(name).Config.from_options(options)
    return config


def open_detector(
    config: DetectorConfig | str, kb: KnowledgeBase, context: OpenContext | None = None, *, only: ConceptMask | None = None
) -> Detector:
    """Open a detector for a knowledge base, by its configuration or its short name; `only` restricts it to some concepts.

    >>> open_detector("dictionary", KnowledgeBase.open(getfixture("tiny_kb"))).config["detector"]
    'dictionary'
    """
    config = detector_config(config) if isinstance(config, str) else config
    detector: Detector = DETECTORS.load(config.kind).open(config, kb, context or OpenContext(), only=only)
    return detector
