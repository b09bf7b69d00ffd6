"""The configuration of a detector that is trained on several corpora."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from onym.config import Strict
from onym.train.config import EpochOptimConfig, RunConfig, StartConfig
from onym.train.corpora import CorporaConfig

DetectorStage = Literal["detect"]


class DetectorStartConfig(StartConfig):
    """The encoder of documents to start from, how it reads them, and the layer over it.

    A mention has at most `max_span_tokens` tokens. `hidden` is the width of the layer before the labels; 0 is none.
    """

    window: int = Field(default=256, ge=16)
    overlap: int = Field(default=64, ge=0)
    max_span_tokens: int = Field(default=16, ge=1, le=200)
    hidden: int = Field(default=128, ge=0, le=10_000)


class DetectorDataConfig(CorporaConfig):
    """The corpora, and what their annotations are called.

    `types` names types of annotations anew, such as `SpecificDisease` as `Disease`; an empty name leaves a type out. With
    `conventions`, each corpus has labels of its own: what counts as a disease differs from one to another. Else a type has one
    label, and a corpus says nothing about types that it does not annotate.
    """

    types: dict[str, str] = Field(default_factory=dict)
    conventions: bool = True


class DetectorDevConfig(Strict):
    """The evaluation: F1 of spans with their types, as each corpus annotates them, on so many documents of each; 0 is none."""

    split: str = "dev"
    documents: int = Field(default=100, ge=0)
    patience: int = Field(default=0, ge=0)


class DetectorOptimConfig(EpochOptimConfig):
    """The optimisation; a batch is so many windows."""

    batch_size: int = Field(default=8, ge=2)


class DetectorTrainingConfig(RunConfig):
    """One training run of a detector.

    >>> DetectorTrainingConfig.of({"start": {"model": "m"}, "data": {"datasets": ["bc5cdr"]}}).start.hidden
    128
    """

    stage: DetectorStage = "detect"
    start: DetectorStartConfig
    data: DetectorDataConfig
    dev: DetectorDevConfig = DetectorDevConfig()
    optim: DetectorOptimConfig = DetectorOptimConfig()
