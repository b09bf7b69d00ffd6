"""The keys of an encoder."""

from __future__ import annotations

import pytest

from onym.errors import ConfigError
from onym.train.encoder.config import EncoderTrainingConfig

START = {"model": "m"}


@pytest.mark.parametrize("stage", ["align", "match"])
def test_each_stage_has_the_same_keys(stage: str) -> None:
    config = EncoderTrainingConfig.of({"stage": stage, "start": START})
    assert (config.stage, config.optim.batch_size, config.dev.names, config.data.max_pairs) == (stage, 256, 20_000, 50)


def test_a_batch_of_one_pair_has_no_negatives() -> None:
    with pytest.raises(ConfigError, match="optim.batch_size"):
        EncoderTrainingConfig.of({"stage": "align", "start": START, "optim": {"batch_size": 1}})
