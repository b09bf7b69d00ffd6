"""What every training is configured by: frozen, strict tables. Each family of models adds its own in its `config.py`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from onym.config import Strict
from onym.models.device import Device

TrainingPrecision = Literal["auto", "fp32", "bf16", "bf16-weights"]
"""`bf16` casts at every operation; `bf16-weights` stores the weights so and updates a copy in fp32. `auto` is the fastest."""
Schedule = Literal["linear", "polynomial", "cosine", "constant", "constant_with_warmup"]


class StartConfig(Strict):
    """The model to start from.

    `attention_dropout` is that of attention's weights, by default as `dropout`; without it an encoder trains in 0.6 of the
    time on a CPU.
    """

    model: str = Field(min_length=1)
    tokenizer: str = ""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_dropout: float | None = Field(default=None, ge=0, lt=1)
    freeze_embeddings: bool = False


class DataConfig(Strict):
    """The training data. A dataset is a name or a folder; a knowledge base a folder, by default the dataset's own.

    The mentions of `exclude_splits` are left out, where a preparation has them in a training split too.
    """

    dataset: str = ""
    splits: tuple[str, ...] = ("train",)
    exclude_splits: tuple[str, ...] = ()
    kb: str = ""


class DevConfig(Strict):
    """The evaluation during training: recall@1, any-id, of the real linker on a sample of the mentions of a split.

    The best model by it is kept. Training stops after `patience` evaluations without improvement; 0 disables that.
    """

    split: str = "dev"
    kb: str = ""
    mentions: int = Field(default=300, ge=0)
    patience: int = Field(default=0, ge=0)


class OptimConfig(Strict):
    """The optimisation. `steps` counts updates of the weights; `batch_size` is that of one device.

    After every `eval_steps` steps the model is evaluated on dev and a checkpoint is written.
    """

    steps: int = Field(default=1000, ge=1)
    batch_size: int = Field(default=8, ge=1)
    gradient_accumulation: int = Field(default=1, ge=1)
    learning_rate: float = Field(default=1e-5, gt=0)
    warmup_steps: int = Field(default=0, ge=0)
    schedule: Schedule = "polynomial"
    weight_decay: float = Field(default=0.01, ge=0)
    epsilon: float = Field(default=1e-8, gt=0)
    betas: tuple[float, float] = (0.9, 0.999)
    max_grad_norm: float = Field(default=0.1, ge=0)
    device: Device = "auto"
    precision: TrainingPrecision = "auto"
    seed: int = 0
    eval_steps: int = Field(default=500, ge=1)


class NearestDevConfig(DevConfig):
    """The evaluation of embeddings: the right names are searched among `names` others, or among all with 0."""

    names: int = Field(default=20_000, ge=0)


class EpochOptimConfig(OptimConfig):
    """The optimisation of encoders. With `epochs`, the steps follow from the number of samples."""

    epochs: float = Field(default=0.0, ge=0)
    learning_rate: float = Field(default=2e-5, gt=0)
    schedule: Schedule = "constant"
    max_grad_norm: float = Field(default=0.0, ge=0)


class RunConfig(Strict):
    """One training run of a model: a stage, and the tables that all of them have."""

    stage: str
    start: StartConfig
    optim: OptimConfig = OptimConfig()


class TrainingConfig(RunConfig):
    """One training run on a dataset, or on a knowledge base alone."""

    data: DataConfig = DataConfig()
    dev: DevConfig = DevConfig()
