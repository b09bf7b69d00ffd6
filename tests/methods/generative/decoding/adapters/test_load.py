from __future__ import annotations

from types import SimpleNamespace

import pytest

from onym.errors import ConfigError
from onym.methods.generative.decoding.adapters import FAMILIES, adapter_of
from onym.methods.generative.decoding.adapters.bart import BartAdapter
from onym.methods.generative.decoding.adapters.t5 import T5Adapter
from tests.methods.generative.decoding.families import model


@pytest.mark.parametrize(("family", "adapter"), [("bart", BartAdapter), ("marian", BartAdapter), ("t5", T5Adapter)])
def test_the_adapter_of_a_family(family: str, adapter: type) -> None:
    assert type(adapter_of(model(family))) is adapter


def test_rejects_unknown_family() -> None:
    with pytest.raises(ConfigError) as caught:
        adapter_of(SimpleNamespace(config=SimpleNamespace(model_type="gpt2")))
    assert caught.value.code == "model-family"
    assert all(family in str(caught.value) for family in FAMILIES)
