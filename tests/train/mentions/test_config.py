"""The configuration of a classifier."""

from __future__ import annotations

import pytest

from onym.errors import ConfigError
from onym.train.stages import read_config


def test_the_dictionary_is_configured_with_it() -> None:
    config = read_config("mentions", None, "mentions-open", ["dictionary.min_length=4"])
    assert (config.dictionary.min_length, config.data.types["Modifier"]) == (4, "Disease")


def test_datasets_are_needed() -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        read_config("mentions", None, "", ["data.kb=kb"])
