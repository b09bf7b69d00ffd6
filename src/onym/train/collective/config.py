"""The configuration of a model that encodes whole documents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from onym.config import Strict
from onym.train.config import DataConfig, EpochOptimConfig, NearestDevConfig, StartConfig, TrainingConfig

CollectiveStage = Literal["collective"]


class CollectiveStartConfig(StartConfig):
    """The encoder of documents to start from, and `names`, that of names, by default the same one.

    `represent` is the embedding of a mention: of its two ends, or the mean of its tokens. `detect` is how mentions are found,
    of at most `max_span_tokens` tokens. `freeze_names` leaves the encoder of names, and an index made with it, unchanged.
    """

    names: str = ""
    window: int = Field(default=256, ge=16)
    overlap: int = Field(default=64, ge=0)
    represent: Literal["ends", "mean"] = "ends"
    detect: Literal["none", "spans", "tags"] = "none"
    max_span_tokens: int = Field(default=20, ge=1, le=200)
    freeze_names: bool = False


class CollectiveDataConfig(DataConfig):
    """The training data, and the negatives of each mention: `hard_negatives`, mined, and `random_negatives`.

    The positive is the most similar name with probability `similar`. Hard negatives are mined among all names at the start, and
    after each epoch among the `pool` names that were nearest to the mention then.
    """

    exclude_splits: tuple[()] = ()  # documents are used whole: a mention that is left out would count as no mention
    similar: float = Field(default=0.5, ge=0, le=1)
    hard_negatives: int = Field(default=4, ge=0, le=100)
    random_negatives: int = Field(default=2, ge=0, le=100)
    pool: int = Field(default=256, ge=1, le=2000)


class CollectiveOptimConfig(EpochOptimConfig):
    """The optimisation; a batch is so many windows."""

    batch_size: int = Field(default=8, ge=2)


class CollectiveLossConfig(Strict):
    """The weights of detection and of linking, where 0 disables a task, and the scale of similarities."""

    detect: float = Field(default=1.0, ge=0)
    link: float = Field(default=1.0, ge=0)
    scale: float = Field(default=20.0, gt=0)


class CollectiveTrainingConfig(TrainingConfig):
    """One training run of a model that encodes whole documents.

    >>> CollectiveTrainingConfig.of({"stage": "collective", "start": {"model": "m"}}).data.pool
    256
    """

    stage: CollectiveStage = "collective"
    start: CollectiveStartConfig
    data: CollectiveDataConfig = CollectiveDataConfig()
    dev: NearestDevConfig = NearestDevConfig()
    optim: CollectiveOptimConfig = CollectiveOptimConfig()
    loss: CollectiveLossConfig = CollectiveLossConfig()
