"""The evaluation of a detector during training: F1 of spans with their types, on dev of each corpus, by its own labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onym.detect.base import Span
from onym.detect.overlaps import resolved
from onym.detect.spans import WantedType, scored_spans
from onym.models.collective import Collective
from onym.train.collective.detector.corpora import LabelledCorpus
from onym.train.collective.dev import THRESHOLDS, f1

Found = list[list[Span]]


@dataclass(frozen=True)
class DetectorDev:
    """Evaluates on the same documents each time. `dev_f1` is the mean over corpora, each with its best thresholds.

    `dev_threshold_N` is the best threshold of column N. Thresholds are set one type after the other; mentions of different
    types that overlap compete, as in a detector.
    """

    corpora: Sequence[LabelledCorpus]
    open: Callable[[Any], Collective]

    def __len__(self) -> int:
        return sum(len(doc.mentions) for corpus in self.corpora for doc in corpus.documents)

    def __call__(self, module: Any) -> dict[str, float]:
        """Return the scores of a model, which is left unchanged."""
        model = self.open(module)
        figures: dict[str, float] = {}
        thresholds_by_column: dict[int, list[float]] = {}
        for corpus in self.corpora:
            candidates = [
                scored_spans(model, doc.text, read, _wanted(corpus.columns))
                for doc, read in zip(corpus.documents, model.reader.read(corpus.documents), strict=True)
            ]
            thresholds = {name: _best_threshold(corpus, candidates, name) for name in corpus.columns}
            found = [_above(spans, thresholds) for spans in candidates]
            figures[f"dev_f1_{corpus.name}"] = _f1(corpus, found)
            for name, column in corpus.columns.items():
                thresholds_by_column.setdefault(column, []).append(thresholds[name])
        mean = float(np.mean(list(figures.values())))
        best = {f"dev_threshold_{column}": float(np.mean(values)) for column, values in sorted(thresholds_by_column.items())}
        return {"dev_f1": mean, **figures, **best}


def _wanted(columns: Mapping[str, int]) -> list[WantedType]:
    return [WantedType(name, (column,), THRESHOLDS[0]) for name, column in columns.items()]


def _best_threshold(corpus: LabelledCorpus, candidates: Found, name: str) -> float:
    own = [[span for span in spans if span.type == name] for spans in candidates]
    return max(THRESHOLDS, key=lambda least: _f1(corpus, [_above(spans, {name: least}) for spans in own], name))


def _above(spans: Sequence[Span], thresholds: Mapping[str, float]) -> list[Span]:
    return resolved(span for span in spans if span.score >= thresholds[span.type])


def _f1(corpus: LabelledCorpus, found: Found, name: str = "") -> float:
    """Return F1 in percent of all types, or of one."""
    gold = [[each for each in doc.mentions if not name or each.type == name] for doc in corpus.documents]
    items = ([[(each.start, each.end, each.type) for each in of_doc] for of_doc in side] for side in (gold, found))
    return f1(*items)
