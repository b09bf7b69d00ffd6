"""The configuration of a classifier of mentions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from onym.config import Strict
from onym.detect.dictionary import Config as DictionaryConfig
from onym.train.corpora import CorporaConfig

MentionsStage = Literal["mentions"]


class MentionsDataConfig(CorporaConfig):
    """The corpora, and the knowledge base whose names are looked for.

    `types` names types of annotations as the groups of the knowledge base, such as `SpecificDisease` as `Disease`; an empty
    name leaves a type out. What the dictionary finds of a type that a corpus does not annotate is left out. `only` are the
    groups or types of concepts that are looked for, all if none are named.
    """

    types: dict[str, str] = Field(default_factory=dict)
    kb: str = Field(min_length=1)
    only: tuple[str, ...] = ()


class RegressionConfig(Strict):
    """The regression: with more `strength` its weights are larger."""

    strength: float = Field(default=1.0, gt=0)
    iterations: int = Field(default=300, ge=1)


class MentionsDevConfig(Strict):
    """The evaluation: F1 of the spans that are found on `split` of each dataset. The thresholds are tuned on it."""

    split: str = "dev"


class MentionsTrainingConfig(Strict):
    """One training run of a classifier of what the dictionary finds.

    >>> MentionsTrainingConfig.of({"data": {"datasets": ["bc5cdr"], "kb": "kb"}}).regression.strength
    1.0
    """

    stage: MentionsStage = "mentions"
    data: MentionsDataConfig
    dictionary: DictionaryConfig = DictionaryConfig()
    regression: RegressionConfig = RegressionConfig()
    dev: MentionsDevConfig = MentionsDevConfig()
