"""Mention classifier: separates mentions from ordinary words, such as *lead* the metal from the verb, by their context.

A logistic regression over the name, its spelling, its type and the surrounding words. The features are hashed into one weight
vector, so no vocabulary is stored. It is trained by `onym train mentions`.
"""

from __future__ import annotations

import json
import math
import re
from binascii import crc32
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.errors import ConfigError, IntegrityError
from onym.methods.detector import Span
from onym.store.artefact import Artefact
from onym.store.cache import Verify
from onym.store.stage import Record, staging
from onym.text.normal import normal_name

KIND, FORMAT = "mention-classifier", 1
WEIGHTS, RECORD = "weights", "training.json"
SIZE = 2**18
"""The number of weights."""
_AROUND = 40  # characters on each side of a span that are searched for the two nearest words
_WORD = re.compile(r"\w+|[^\w\s]")
_CACHE_SIZE = 100_000  # surfaces
Floats = npt.NDArray[np.float32]
Hints = tuple[str, ...]
"""Features of a name, as strings."""


class ClassifierSettings(BaseModel):
    """Probability thresholds: a general threshold, and a threshold for the annotation convention of each training corpus."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    threshold: float = Field(default=0.5, ge=0, le=1)
    conventions: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict)
    hints: bool = Field(default=False, exclude_if=lambda has_hints: not has_hints)
    """Whether it was trained with features of names in the knowledge base, and with short, general and ordinary names."""


class MentionClassifier:
    """Predicts the probability that a span with a KB name is a mention.

    >>> weights = np.zeros(SIZE, dtype=np.float32)
    >>> weights[row_of("after=to")] = -3
    >>> classifier = MentionClassifier(weights, ClassifierSettings())
    >>> [round(classifier.probability(text, Span(0, 4)), 2) for text in ("lead to", "lead in blood")]
    [0.05, 0.5]
    """

    def __init__(self, weights: Floats, settings: ClassifierSettings, digest: str = "") -> None:
        self.settings, self.digest = settings, digest
        self._weights: list[float] = weights.tolist()
        self._of_surface = lru_cache(_CACHE_SIZE)(self._surface_sum)
        self._of_hints = lru_cache(_CACHE_SIZE)(self._sum)
        self._of_side = lru_cache(_CACHE_SIZE)(self._side_sum)

    def threshold(self, convention: str = "") -> float:
        """Return the threshold of a corpus convention; without a convention, the general threshold."""
        if convention and convention not in self.settings.conventions:
            known = ", ".join(self.settings.conventions)
            raise ConfigError(
                "config-invalid",
                f"the classifier was not trained on {convention!r}",
                fix=f"use a convention that it was trained on: {known}",
            )
        return self.settings.conventions[convention] if convention else self.settings.threshold

    def probability(self, text: str, span: Span, convention: str = "", hints: Sequence[str] = ()) -> float:
        """Return the probability that a span is a mention; `hints` are features of its name in the knowledge base."""
        surface = text[span.start : span.end]
        found: float = self._of_surface(surface, span.type, convention)
        if self.settings.hints:
            found += self._of_hints(tuple(hints))
        before, after = _nearest_words(text, span)
        found += self._of_side(*before, span.type, is_before=True) + self._of_side(*after, span.type, is_before=False)
        found += self._weights[row_of(_with_next(surface, after[0]))]
        return 1 / (1 + math.exp(-max(-500.0, found)))

    def _surface_sum(self, surface: str, kind: str, convention: str) -> float:
        return self._sum(surface_features(surface, kind, convention))

    def _side_sum(self, nearest: str, next_word: str, kind: str, *, is_before: bool) -> float:
        return self._sum((_before if is_before else _after)(nearest, next_word, kind))

    def _sum(self, features: Iterable[str]) -> float:
        return sum(self._weights[row_of(feature)] for feature in features)


def row_of(feature: str) -> int:
    """Return the index of a feature's weight."""
    return crc32(feature.encode("utf-8", "surrogatepass")) % SIZE


def surface_features(surface: str, kind: str, convention: str = "") -> list[str]:
    """Return the features of a span without its context; with a convention, also features specific to that convention."""
    name = normal_name(surface)
    words = name.split()
    first = "upper" if surface.isupper() else "title" if surface[:1].isupper() else "lower"
    shape = f"{first}{'+digit' if any(map(str.isdigit, surface)) else ''} {min(len(surface), 8)}"
    general = ["", f"name={name}", f"type={kind}", f"words={min(len(words), 4)} {kind}"]
    own = [f"shape={shape}", f"last={words[-1] if words else ''}", f"end={name[-4:]}", f"end={name[-3:]}"]
    return [*general, *own, *(f"{feature}|{convention}" for feature in general if convention)]


def context_features(text: str, span: Span) -> Iterator[str]:
    """Yield the features of the two words before and after a span."""
    before, after = _nearest_words(text, span)
    for both in zip(_before(*before, span.type), _after(*after, span.type), strict=True):
        yield from both
    yield _with_next(text[span.start : span.end], after[0])


def _nearest_words(text: str, span: Span) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the two words before and the two words after a span, the nearest first; empty if there is none."""
    before = ["", "", *_WORD.findall(text[max(0, span.start - _AROUND) : span.start].lower())]
    after = [*_WORD.findall(text[span.end : span.end + _AROUND].lower()), "", ""]
    return (before[-1], before[-2]), (after[0], after[1])


def _before(last: str, other: str, kind: str) -> Hints:
    return f"before={last}", f"before2={other}", f"left={other} {last}", f"{kind} before={last}"


def _after(first: str, other: str, kind: str) -> Hints:
    return f"after={first}", f"after2={other}", f"right={first} {other}", f"{kind} after={first}"


def _with_next(surface: str, first: str) -> str:
    return f"{surface.lower()} after={first}"


def write_classifier(weights: Floats, settings: ClassifierSettings, record: Mapping[str, Any], dest: Path) -> None:
    """Write a classifier to the folder `dest`."""
    with staging(dest / WEIGHTS) as stage:
        stage.write_array("weights", weights.astype("<f4"))
        stage.write_json(RECORD, dict(record))
        counts = {"weights": int(np.count_nonzero(weights))}
        stage.publish(dest / WEIGHTS, KIND, FORMAT, Record(settings.model_dump(mode="json"), [], counts))


def open_classifier(folder: Path | str, *, verify: Verify = "once") -> MentionClassifier:
    """Open a classifier; the values of its weights are checked on every call."""
    artefact = Artefact.open(Path(folder) / WEIGHTS, KIND, FORMAT, verify)
    try:
        settings = ClassifierSettings.model_validate_json(json.dumps(artefact.manifest.config), strict=True)
    except ValidationError as e:
        what = "the classifier's settings in the manifest are invalid"
        raise IntegrityError("artefact-corrupt", what, where=str(folder), fix="train the classifier again") from e
    weights = np.array(artefact.array("weights", "f"), dtype=np.float32)
    if len(weights) != SIZE or not np.isfinite(weights).all():
        what = f"the classifier's weights must be {SIZE:,} finite numbers"
        raise IntegrityError("artefact-corrupt", what, where=str(folder), fix="train the classifier again")
    artefact.remember()
    return MentionClassifier(weights, settings, artefact.digest)
