"""Onym: biomedical entity linking. Find diseases, drugs, phenotypes ... in text and map them to MeSH, UMLS, SNOMED CT, HPO or
your own ids.

>>> import onym
>>> "KnowledgeBase" in dir(onym)
True
"""  # noqa: D205 - one sentence

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy
from onym._version import __version__ as __version__
from onym.errors import ConfigError, InputError, IntegrityError, LimitError, OnymError
from onym.types import Candidate, Concept, Document, Link, LinkedDocument, Mention, Name, NameKind, Problem

if TYPE_CHECKING:
    from onym.corpora import read_corpus, write_corpus
    from onym.datasets import open_dataset
    from onym.integrations import map_series
    from onym.kb import KnowledgeBase, Recipe, build_kb
    from onym.methods import Detector, Linker, detector_config, linker_config, open_detector, open_linker
    from onym.outputs import Predictions, read_predictions
    from onym.packs import load
    from onym.parts import OpenContext
    from onym.pipeline import Pipeline, build_pipeline

__all__ = [
    "Candidate",
    "Concept",
    "ConfigError",
    "Detector",
    "Document",
    "InputError",
    "IntegrityError",
    "KnowledgeBase",
    "LimitError",
    "Link",
    "LinkedDocument",
    "Linker",
    "Mention",
    "Name",
    "NameKind",
    "OnymError",
    "OpenContext",
    "Pipeline",
    "Predictions",
    "Problem",
    "Recipe",
    "build_kb",
    "build_pipeline",
    "detector_config",
    "linker_config",
    "load",
    "map_series",
    "open_dataset",
    "open_detector",
    "open_linker",
    "read_corpus",
    "read_predictions",
    "write_corpus",
]
_PACKAGES = {
    "corpora": ("read_corpus", "write_corpus"),
    "datasets": ("open_dataset",),
    "integrations": ("map_series",),
    "kb": ("KnowledgeBase", "Recipe", "build_kb"),
    "methods": ("Detector", "Linker", "detector_config", "linker_config", "open_detector", "open_linker"),
    "outputs": ("Predictions", "read_predictions"),
    "packs": ("load",),
    "parts": ("OpenContext",),
    "pipeline": ("Pipeline", "build_pipeline"),
}
__getattr__ = lazy("onym", {name: f"onym.{package}" for package, names in _PACKAGES.items() for name in names})


def __dir__() -> list[str]:
    return sorted(__all__)
