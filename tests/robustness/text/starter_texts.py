"""The starter with rules that add mentions, genuine prose from its definitions, and texts that repeat themselves."""

from __future__ import annotations

import random
from functools import cache

from onym.corrections.corrections import Corrections
from onym.corrections.rules import Rule
from onym.packs.locate import STARTER, load
from onym.pipeline.pipeline import Pipeline
from tests.robustness.text.shapes import SHAPES, Shape, over

DEFINING = (
    "Patients with heart failure (HF) had fever and diabetes (T2D). HF was treated with aspirin, and T2D with metformin. "
)


@cache
def starter() -> Pipeline:
    """Return the starter with assertion marks; its steps are a student detector, a dictionary, a classifier and a reranker."""
    return load(STARTER).with_assertion()


@cache
def corrected() -> Pipeline:
    """Return the starter with rules that add mentions, for every document and for an expansion."""
    rules = [
        Rule("treated", "no-concept", add=True),
        Rule("patients", "no-concept", add=True),
        Rule("HF", "mesh:D006333", expansion="heart failure", add=True),
    ]
    return starter().with_corrections(Corrections(rules, starter().kb))


def forgetful(pipeline: Pipeline) -> Pipeline:
    """Return the same pipeline without the answers that it keeps from earlier calls, so that each text takes its full time."""
    return Pipeline(
        pipeline.linker,
        pipeline.detector,
        pipeline.options,
        only=pipeline.only,
        calibration=pipeline.calibration,
        corrections=pipeline.corrections,
    )


@cache
def _definitions() -> str:
    definitions = starter().kb.definitions
    return " ".join(definitions[row] for row in random.Random(0).sample(range(len(definitions)), 5_000))


def prose(length: int) -> str:
    """Return definitions of the knowledge base, in random order."""
    return over(_definitions())(length)


def one_short_form(length: int) -> str:
    """Return a text that defines a short form once, and uses it again and again."""
    return ("heart failure (HF) " + "HF fever " * length)[:length]


def numbered_definitions(length: int) -> str:
    """Return a text that defines a new short form in each unit."""
    return "".join(f"heart failure {number} (HF{number}) " for number in range(length // 20))[:length]


_SYMBOLS = ("opening brackets", "null", "right to left")
REPEATED: dict[str, Shape] = {
    "one definition again and again": over("heart failure (HF) "),
    "prose that repeats its definitions": over(DEFINING),
    "one short form a thousand times": one_short_form,
    "a new short form in each phrase": numbered_definitions,
    "surfaces of rules": over("treated patients "),
    "all pairs of brackets": over("(a) [b] {c} <d> (HF) "),
    "numbers and commas": over("1,"),
    **{name: SHAPES[name] for name in (*_SYMBOLS, "overrides", "numbers", "letters and hyphens")},
}
