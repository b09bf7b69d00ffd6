"""The keys of a collective model."""

from __future__ import annotations

import pytest

from onym.errors import ConfigError
from onym.train.collective.config import CollectiveTrainingConfig

START = {"model": "m"}


def test_its_own_defaults() -> None:
    config = CollectiveTrainingConfig.of({"start": START})
    assert (config.stage, config.optim.batch_size, config.optim.learning_rate, config.dev.names) == (
        "collective",
        8,
        2e-5,
        20_000,
    )
    assert (config.data.hard_negatives, config.data.random_negatives, config.start.max_span_tokens) == (4, 2, 20)


def test_mentions_cannot_be_left_out() -> None:
    with pytest.raises(ConfigError, match="data.exclude_splits"):
        CollectiveTrainingConfig.of({"start": START, "data": {"exclude_splits": ["dev"]}})


@pytest.mark.parametrize("key", ["max_span_tokens", "window"])
def test_impossible_values_are_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=f"start.{key}"):
        CollectiveTrainingConfig.of({"start": START | {key: 0}})
