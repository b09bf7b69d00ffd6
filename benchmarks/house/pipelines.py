"""Small pipelines to measure: a made knowledge base, tiny models with random weights, and texts that speak of its concepts."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onym
from benchmarks.house.command import run_onym
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.types import Document

_CONCEPTS = """id\tname\tsynonyms
mesh:D009203\tMyocardial Infarction\tHeart attack|Infarct, myocardial
mesh:D005334\tFever\tPyrexia|Hyperthermia
mesh:D006973\tHypertension\tHigh blood pressure
mesh:D003920\tDiabetes Mellitus\tDiabetes
mesh:D001249\tAsthma\tBronchial asthma
"""
_SENTENCES = (
    "Myocardial infarction (MI) was seen in {} patients.",
    "No MI followed in group {}.",
    "High blood pressure (HBP) and fever came first; HBP lasted {} days.",
    "Diabetes mellitus (DM) and bronchial asthma were noted {} times, DM more often.",
    "Pyrexia without hypertension: {} cases.",
)


def build_small_kb(folder: Path) -> Path:
    """Build a knowledge base of five concepts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "concepts.tsv").write_text(_CONCEPTS)
    build_kb(Recipe(sources=(SourceConfig(path="concepts.tsv", name="made"),)), folder / "kb", root=folder)
    return folder / "kb"


def build_pipeline(kb: Path, folder: Path, *options: str) -> Path:
    """Build a pipeline's folder with the command line."""
    run_onym("pipeline", "build", "--kb", str(kb), "-o", str(folder), *options)
    return folder


def texts(count: int, sentences: int = 4, seed: int = 7) -> list[str]:
    """Return made texts, no two alike, that define abbreviations and use them."""
    rng = random.Random(seed)
    return [
        " ".join(rng.choice(_SENTENCES).format(rng.randrange(10_000)) for _ in range(sentences)) + f" Case {number}."
        for number in range(count)
    ]


def link_all(pipeline: onym.Pipeline, documents: Iterable[Document]) -> int:
    """Link documents together, and return how many there were."""
    return sum(1 for _ in pipeline.link_many(documents))


def save_seq2seq(folder: Path) -> Path:
    from onym.testing.models import save_model

    return save_model(folder)


def save_encoder(folder: Path) -> Path:
    from onym.testing.models import save_encoder

    return save_encoder(folder)


def save_collective(folder: Path, **settings: Any) -> Path:
    from onym.testing.models import save_collective

    return save_collective(folder, **settings)
