"""Detectors by the names that people call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym.detect.base import Detector
from onym.detect.dictionary import DictionaryConfig, DictionaryDetector
from onym.errors import ConfigError

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.kb.masks import ConceptMask

DETECTORS = ("dictionary", "none")


def detector_named(
    name: str, kb: KnowledgeBase, settings: DictionaryConfig | None = None, *, only: ConceptMask | None = None
) -> Detector | None:
    """Return the detector of that name over a knowledge base; `none` is none, and mentions have to be given.

    >>> from onym.kb import KnowledgeBase
    >>> detector_named("dictionary", KnowledgeBase.open(getfixture("tiny_kb"))).config["detector"]
    'dictionary'
    """
    if name == "dictionary":
        return DictionaryDetector(kb, settings, only=only)
    if name == "none":
        return None
    raise ConfigError("detector-unknown", f"no detector is named {name!r}", fix=f"the names are {', '.join(DETECTORS)}")
