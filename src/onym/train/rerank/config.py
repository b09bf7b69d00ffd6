"""The configuration of a reranker."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from onym.config import Strict
from onym.train.corpora import CorporaConfig

RerankStage = Literal["rerank"]


class RerankDataConfig(CorporaConfig):
    """The corpora, and the knowledge base that they are linked to. Mentions of other `types` are left out; no types are all."""

    types: tuple[str, ...] = ()
    kb: str = Field(min_length=1)


class PoolConfig(Strict):
    """The linkers whose candidates are pooled: TF-IDF, and dense with an `encoder`."""

    encoder: str = ""
    index: str = "auto"


class TreesConfig(Strict):
    """Gradient boosting, with scikit-learn's meaning of each number."""

    iterations: int = Field(default=250, ge=1, le=5_000)
    learning_rate: float = Field(default=0.05, gt=0, le=1)
    max_leaves: int = Field(default=31, ge=2, le=1_024)
    max_depth: int = Field(default=8, ge=1, le=64)
    min_samples: int = Field(default=60, ge=1)
    feature_share: float = Field(default=0.3, gt=0, le=1)
    regularisation: float = Field(default=1.0, ge=0)
    without: tuple[str, ...] = ()
    seed: int = 0


class RerankDevConfig(Strict):
    """The evaluation: strict recall@1 on `split` of each dataset. With `calibrate`, confidences are fitted to its outcomes."""

    split: str = "dev"
    calibrate: bool = True


class RerankTrainingConfig(Strict):
    """One training run of a reranker. `trees.without` names groups of features that are left out, for ablations.

    >>> RerankTrainingConfig.of({"stage": "rerank", "data": {"datasets": ["bc5cdr"], "kb": "kb"}}).trees.max_leaves
    31
    """

    stage: RerankStage
    data: RerankDataConfig
    pool: PoolConfig = PoolConfig()
    trees: TreesConfig = TreesConfig()
    dev: RerankDevConfig = RerankDevConfig()
