"""Tests that every adapter implements the protocol."""

from __future__ import annotations

import pytest

from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.adapters.base import Adapter
from tests.methods.generative.decoding.families import FAMILIES, model


@pytest.mark.parametrize("family", FAMILIES)
def test_the_protocol(family: str) -> None:
    adapter = adapter_of(model(family))
    methods = {name for name, value in vars(Adapter).items() if callable(value) and not name.startswith("_")}
    wanted = {*Adapter.__annotations__, *methods}
    assert len(wanted) > 10
    assert {name for name in wanted if not hasattr(adapter, name)} == set()
