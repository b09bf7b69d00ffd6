"""Running a linker over a split of a benchmark, its answers as predictions."""

from __future__ import annotations

from onym.datasets import Prepared
from onym.linkers.base import Linker
from onym.predictions.file import Predictions, predictions_of, source_of

TOP_K = 10


def predict(benchmark: Prepared, split: str, linker: Linker, *, top_k: int = TOP_K) -> Predictions:
    """Return a linker's answers to the mentions of a split."""
    named = {"name": benchmark.name, "digest": benchmark.digest, "split": split}
    found = predictions_of(linker.link(benchmark.documents(split), top_k=top_k))
    return Predictions.of(found, source_of(linker, top_k, benchmark=named))
