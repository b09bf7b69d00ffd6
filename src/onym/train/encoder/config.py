"""The configuration of an encoder of names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from onym.config import Strict
from onym.train.config import DataConfig, EpochOptimConfig, NearestDevConfig, StartConfig, TrainingConfig

EncoderStage = Literal["align", "match"]


class EncoderStartConfig(StartConfig):
    """The encoder to start from. Pooling, similarity and length are the folder's own unless they are set."""

    pooling: Literal["cls", "mean", "mean-all"] | None = None
    similarity: Literal["dot", "cosine"] | None = None
    length: int | None = Field(default=None, ge=4)


class EncoderDataConfig(DataConfig):
    """The training data, and which strings make a positive pair.

    A concept contributes at most `max_pairs` pairs of names. A mention is paired with its most similar name with probability
    `similar`, else with any of its names. In `match`, `mix` is the share of pairs of names, and `hard_negatives` the number of
    wrong concepts added for each mention.
    """

    max_pairs: int = Field(default=50, ge=1)
    similar: float = Field(default=0.5, ge=0, le=1)
    mix: float = Field(default=0.0, ge=0, lt=1)
    hard_negatives: int = Field(default=0, ge=0, le=100)


class EncoderOptimConfig(EpochOptimConfig):
    """The optimisation; a batch is so many pairs."""

    batch_size: int = Field(default=256, ge=2)


class EncoderLossConfig(Strict):
    """The miner's margin, and alpha, beta and base of the multi-similarity loss, as in SapBERT's code.

    The contrastive loss is over all pairs of a batch; `scale` multiplies its similarities.
    """

    kind: Literal["multi-similarity", "contrastive"] = "multi-similarity"
    scale: float = Field(default=20.0, gt=0)
    margin: float = Field(default=0.2, ge=0)
    alpha: float = Field(default=1.0, gt=0)
    beta: float = Field(default=60.0, gt=0)
    base: float = 0.5


class EncoderTrainingConfig(TrainingConfig):
    """One training run of an encoder.

    >>> EncoderTrainingConfig.of({"stage": "align", "start": {"model": "m"}}).loss.margin
    0.2
    """

    stage: EncoderStage
    start: EncoderStartConfig
    data: EncoderDataConfig = EncoderDataConfig()
    dev: NearestDevConfig = NearestDevConfig()
    optim: EncoderOptimConfig = EncoderOptimConfig()
    loss: EncoderLossConfig = EncoderLossConfig()
