"""The configuration of a detector."""

from __future__ import annotations

import pytest

from onym.errors import ConfigError
from onym.train.stages import read_config


def test_datasets_are_needed() -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        read_config("detect", None, "", ["start.model=m"])


def test_types_can_be_set_one_by_one() -> None:
    config = read_config("detect", None, "", ["start.model=m", 'data.datasets=["a"]', "data.types.Modifier=Disease"])
    assert (config.data.types, config.stage) == ({"Modifier": "Disease"}, "detect")
