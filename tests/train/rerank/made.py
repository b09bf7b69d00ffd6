"""A reranker of the tiny corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onym.train.rerank.config import RerankTrainingConfig


def config(corpus: Path, kb: Path, **tables: Any) -> RerankTrainingConfig:
    """Return the configuration of a small reranker."""
    trees = {"iterations": 8, "min_samples": 1, **tables.pop("trees", {})}
    data = {"datasets": [str(corpus)], "kb": str(kb), **tables.pop("data", {})}
    return RerankTrainingConfig.of({"stage": "rerank", "data": data, "trees": trees, **tables})
