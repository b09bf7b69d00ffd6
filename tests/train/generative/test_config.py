"""The keys of a generative model."""

from __future__ import annotations

import pytest

from onym.errors import ConfigError
from onym.train.generative.config import GenerativeTrainingConfig

START = {"model": "m"}


@pytest.mark.parametrize("stage", ["pretrain", "finetune", "prefer"])
def test_each_stage_has_the_same_keys(stage: str) -> None:
    config = GenerativeTrainingConfig.of({"stage": stage, "start": START})
    assert (config.stage, config.optim.label_smoothing, config.prefer.top_k) == (stage, 0.1, 5)


def test_another_stage_is_refused() -> None:
    with pytest.raises(ConfigError, match="stage"):
        GenerativeTrainingConfig.of({"stage": "align", "start": START})
