"""Configure and open linkers and detectors by their short names."""

from __future__ import annotations

from typing import Any

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.methods.base import Linker, LinkerConfig
from onym.methods.detector import Detector, DetectorConfig
from onym.parts import OpenContext
from onym.registry import DETECTORS, LINKERS


def linker_config(name: str, **options: Any) -> LinkerConfig:
    """Return the configuration of a linker by its short name; options that are None are ignored.

    >>> linker_config("tfidf", names_per_mention=20).kind
    'tfidf'
    """
    config: LinkerConfig = LINKERS.load(name).Config.from_options(options)
    return config


def open_linker(config: LinkerConfig | str, kb: KnowledgeBase, context: OpenContext | None = None) -> Linker:
    """Open a linker for a knowledge base, by its configuration or its short name.

    >>> open_linker("exact", KnowledgeBase.open(getfixture("tiny_kb"))).config["linker"]
    'exact'
    """
    config = linker_config(config) if isinstance(config, str) else config
    linker: Linker = LINKERS.load(config.kind).open(config, kb, context or OpenContext())
    return linker


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
