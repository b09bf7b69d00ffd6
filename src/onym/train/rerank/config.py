"""The configuration of a reranker."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from onym.store.config import Strict

RerankStage = Literal["rerank"]


class RerankDataConfig(Strict):
    """What is learnt from: the train splits of `datasets`, without documents of a dev or test split of these or of `exclude`.

    Mentions of other `types` are left out; no types are all. With `private`, datasets may be named whose annotations may not be
    passed on: the reranker then is for your own use.
    """

    datasets: tuple[str, ...] = Field(min_length=1)
    exclude: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    kb: str = Field(min_length=1)
    private: bool = False


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
