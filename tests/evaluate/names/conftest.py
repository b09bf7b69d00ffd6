"""Fixtures for name plots: a knowledge base with families of similar concepts, and two tiny encoders."""

from __future__ import annotations

import pytest

from onym.kb import KnowledgeBase
from tests.evaluate.names.families import build_families
from tests.support.models import save_encoder


@pytest.fixture(scope="package")
def families(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Return a KB with families of similar concepts, a concept with only one name, and two concepts that share a name."""
    poor = "mesh:P1\tgout\t\tT9"
    shared = ("mesh:S1\tcold\tchill|common cold\tT9", "mesh:S2\tlung disease\tcold|COLD, chronic\tT9")
    return build_families(tmp_path_factory.mktemp("families"), poor, *shared)


@pytest.fixture(scope="package")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the folders of two encoders; tests must not modify them."""
    folder = tmp_path_factory.mktemp("models")
    return str(save_encoder(folder / "before")), str(save_encoder(folder / "after", seed=1))
