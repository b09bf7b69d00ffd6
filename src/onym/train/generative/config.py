"""The configuration of a model that generates names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from onym.config import Strict
from onym.train.config import DataConfig, DevConfig, OptimConfig, StartConfig, TrainingConfig

GenerativeStage = Literal["pretrain", "finetune", "prefer"]


class GenerativeStartConfig(StartConfig):
    """The seq2seq model to start from, and its input: a template, and a window of tokens around the mention."""

    template: str = "genbioel"
    window: int = Field(default=128, ge=8)
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)


class GenerativeDataConfig(DataConfig):
    """The training data, and which names are targets."""

    target: Literal["similar", "short", "sampled"] = "similar"
    names: int = Field(default=1, ge=1, le=50)
    mention: Literal["random", "similar"] = "random"


class GenerativeDevConfig(DevConfig):
    """The evaluation, and how names are searched."""

    search: Literal["beam", "exact"] = "beam"
    ranking: Literal["mean", "sum"] = "mean"


class GenerativeOptimConfig(OptimConfig):
    """The optimisation, with label smoothing."""

    label_smoothing: float = Field(default=0.1, ge=0, lt=1)


class PreferConfig(Strict):
    """Preference optimisation on hard negatives: where wrong names come from, which pairs are kept, and the loss.

    In each of `rounds` one part of the mentions is decoded with the current model, which is also the reference of that round.
    """

    loss: Literal["dpo", "cpo", "simpo", "pairwise"] = "dpo"
    beta: float = Field(default=0.1, gt=0)
    gamma: float = Field(default=0.5, ge=0)
    alpha: float = Field(default=1.0, ge=0)
    score: Literal["", "sum", "mean"] = ""
    negatives: Literal["predictions", "similar"] = "predictions"
    rule: Literal["violating", "all"] = "violating"
    top_k: int = Field(default=5, ge=2, le=100)
    beam_width: int = Field(default=10, ge=2, le=100)
    rounds: int = Field(default=1, ge=1)
    epochs: float = Field(default=1.0, gt=0)


class GenerativeTrainingConfig(TrainingConfig):
    """One training run of a model that generates names.

    >>> GenerativeTrainingConfig.of({"stage": "finetune", "start": {"model": "m"}}).optim.batch_size
    8
    """

    stage: GenerativeStage
    start: GenerativeStartConfig
    data: GenerativeDataConfig = GenerativeDataConfig()
    dev: GenerativeDevConfig = GenerativeDevConfig()
    optim: GenerativeOptimConfig = GenerativeOptimConfig()
    prefer: PreferConfig = PreferConfig()
