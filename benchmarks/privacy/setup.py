"""What the runs share: a knowledge base, a pipeline, a dataset with canary phrases, and a plug-in that raises with text."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from benchmarks.privacy.canaries import Canaries
from onym.datasets import prepare
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.pipeline.folder import build_pipeline

PLUG_INS = "plug-ins"
_PLUG_IN = """
from typing import Literal

from onym.linkers.base import LinkerConfig, link_batches


class Config(LinkerConfig):
    kind: Literal["broken"] = "broken"


def open(config, kb, context):
    return Broken(kb)


class Broken:
    def __init__(self, kb):
        self.kb = kb

    config = {"linker": "broken"}

    def link(self, documents, *, top_k=10, only=None):
        for doc in documents:
            raise ValueError(doc.text)
            yield
"""
_FORMAT = """
HOLDS, IS_FOLDER = frozenset(), False


def matches(source):
    return False


def read(source):
    for file in source.files:
        with file.open() as stream:
            raise ValueError(stream.read(100_000).decode("utf-8", "replace"))
        yield
"""
_SITE = """
import logging, os

logging.basicConfig(level=logging.DEBUG, filename=os.environ.get("PRIVACY_LOG", os.devnull))
"""


@dataclass(frozen=True)
class Setup:
    """The folder with `kb`, `pipeline`, `s800` (a dataset) and `plug-ins`, and the canary phrases of the dataset."""

    folder: Path
    canaries: Canaries

    @classmethod
    def make(cls, folder: Path) -> Setup:
        """Make all of it; the plug-in first, since the registry looks for plug-ins once."""
        _write_plug_in(folder / PLUG_INS)
        canaries = Canaries(random.Random("setup"))
        rows = "mesh:D005334\tfever\nmesh:D000001\theart attack\nncbitaxon:10090\tmouse\n"
        (folder / "kb.tsv").write_text(f"id\tname\n{rows}")
        build_kb(Recipe.of({"sources": [{"path": "kb.tsv"}]}), folder / "kb", root=folder)
        build_pipeline(folder / "kb", folder / "pipeline")
        (folder / "corpora").mkdir()
        for split in ("Train", "Test"):
            (folder / "corpora" / f"SPECIES_{split}.PubTator").write_text(species(canaries))
        prepare("s800", folder / "corpora", folder / "s800")
        return cls(folder, canaries)


def species(canaries: Canaries) -> str:
    """Return PubTator of two documents with a mention each."""
    blocks = []
    for number in (1, 2):
        title = f"{canaries.phrase()} and a mouse"
        row = f"{number}\t{len(title) - 5}\t{len(title)}\tmouse\tSpecies\t10090"
        blocks.append(f"{number}|t|{title}\n{number}|a|{canaries.phrase()}\n{row}\n")
    return "\n".join(blocks) + "\n"


def _write_plug_in(folder: Path) -> None:
    about = folder / "broken-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    entry_points = "[onym.linkers]\nbroken = broken_linker\n\n[onym.formats]\nbroken = broken_format\n"
    (about / "entry_points.txt").write_text(entry_points)
    (folder / "broken_linker.py").write_text(_PLUG_IN)
    (folder / "broken_format.py").write_text(_FORMAT)
    (folder / "sitecustomize.py").write_text(_SITE)
