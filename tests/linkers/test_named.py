"""Linkers by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.named import LINKERS, linker_named


@pytest.mark.parametrize("name", LINKERS)
def test_the_linker_says_its_own_name(tiny_kb: Path, name: str) -> None:
    assert linker_named(name, KnowledgeBase.open(tiny_kb)).config["linker"] == name


def test_an_unknown_name(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="linker-unknown"):
        linker_named("oracle", KnowledgeBase.open(tiny_kb))
