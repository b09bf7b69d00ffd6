"""Describes the steps of a pipeline, and measures the CPU time of each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from onym.pipeline.pipeline import Pipeline
from onym.types import Document


def describe_steps(pipeline: Pipeline) -> list[tuple[str, str]]:
    """Return what runs, in order: the name of each step, as `Pipeline.run_steps` reports it, and what it does."""
    options = pipeline.options
    detector = "annotated mentions" + (f", else {name_of(pipeline.detector.config)}" if pipeline.detector else " only")
    detector += "; corrections remove and add mentions" if pipeline.corrections else ""
    linker = name_of(pipeline.linker.config)
    linker += "" if pipeline.only is None else f", {int(pipeline.only.sum()):,} concepts allowed"
    confidence = "calibrated" if pipeline.calibration else "that of the linker, if it has one"
    confidence += "; corrected answers" if pipeline.corrections else ""
    limits = {"score": options.threshold, "precision": options.precision, "coverage": options.coverage}
    finish = [f"{name} {value}" for name, value in limits.items() if value is not None]
    is_marked = options.assertion and not pipeline.bare
    return [
        ("prepare", "analyse the text" if pipeline.bare else "plain characters; analyse the text"),
        ("detect", detector),
        *((each.name, "component") for each in pipeline.components if each.place == "before_link"),
        ("link", linker),
        ("confidence", confidence),
        *([("assertion", "marks of negation and the like")] if is_marked else ()),
        *((each.name, "component") for each in pipeline.components if each.place == "after_link"),
        ("finish", ", ".join([*finish, "original text"])),
    ]


def name_of(config: Mapping[str, Any]) -> str:
    """Return the name of a linker or detector with the names of its parts, given its configuration.

    >>> name_of({"linker": "rerank", "parts": [{"linker": "tfidf"}]})
    'rerank (tfidf)'
    """
    name = str(config.get("linker") or config.get("detector"))
    parts = [name_of(part) for part in config.get("parts", ()) if isinstance(part, Mapping)]
    return f"{name} ({', '.join(parts)})" if parts else name


def profile_steps(pipeline: Pipeline, documents: Iterable[Document]) -> dict[str, float]:
    """Link documents, and return the CPU seconds of each step by its name; `read` is the time to read the documents."""
    seconds: Counter[str] = Counter()
    last = time.process_time_ns()

    def done(step: str) -> None:
        nonlocal last
        now = time.process_time_ns()
        seconds[step] += now - last
        last = now

    for _ in pipeline.run_steps(documents, done):
        pass
    return {step: nanoseconds / 1e9 for step, nanoseconds in seconds.items()}
