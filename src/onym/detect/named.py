"""Detectors by the names that people call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym.detect.base import Detector
from onym.detect.dictionary import DictionaryConfig, DictionaryDetector
from onym.errors import ConfigError

if TYPE_CHECKING:
    from onym.encoders.collective import Collective
    from onym.kb import KnowledgeBase
    from onym.kb.masks import ConceptMask

DETECTORS = ("dictionary", "model", "none")


def detector_of(model: Collective, *, threshold: float | None = None, nested: bool = False) -> Detector:
    """Return the detector that a model was trained to be; `threshold` is its own where none is given."""
    from onym.detect.spans import SpanDetector
    from onym.detect.tags import TagDetector

    if model.settings.detect == "spans":
        return SpanDetector(model, threshold=threshold, nested=nested)
    if model.settings.detect == "tags":
        return TagDetector(model, threshold=threshold)
    fix = "use one that was trained with start.detect"
    raise ConfigError("model-family", "the model links mentions and finds none", where=model.name, fix=fix)


def detector_named(
    name: str, kb: KnowledgeBase, settings: DictionaryConfig | None = None, *, only: ConceptMask | None = None
) -> Detector | None:
    """Return the detector of that name over a knowledge base; `none` is none, and mentions have to be given.

    One with a model is made of it by `detector_of`.

    >>> from onym.kb import KnowledgeBase
    >>> detector_named("dictionary", KnowledgeBase.open(getfixture("tiny_kb"))).config["detector"]
    'dictionary'
    """
    if name == "dictionary":
        return DictionaryDetector(kb, settings, only=only)
    if name == "none":
        return None
    if name == "model":
        raise ConfigError("model-missing", "a trained detector needs its model", fix="name its folder with --detector-model")
    raise ConfigError("detector-unknown", f"no detector is named {name!r}", fix=f"the names are {', '.join(DETECTORS)}")
