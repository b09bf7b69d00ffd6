"""The tables that every training has."""

from __future__ import annotations

from typing import Any

import pytest

from onym.errors import ConfigError
from onym.train.config import OptimConfig


@pytest.mark.parametrize(
    ("key", "value"),
    [("device", "gpu"), ("device", "cuda:-1"), ("precision", "fp16"), ("eval_steps", 0), ("max_grad_norm", -1.0), ("every", 3)],
)
def test_impossible_values_are_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match="config-invalid") as caught:
        OptimConfig.of({key: value})
    assert caught.value.what.startswith(f"{key}: ")


def test_the_machine_decides_unless_it_is_set() -> None:
    optim = OptimConfig()
    assert (optim.device, optim.precision) == ("auto", "auto")
