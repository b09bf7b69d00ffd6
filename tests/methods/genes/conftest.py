"""Fixtures of a small knowledge base of genes."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.methods.genes.index import GeneNames
from tests.methods.genes.made import build_genes


@pytest.fixture(scope="session")
def gene_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_genes(tmp_path_factory.mktemp("genes"))


@pytest.fixture(scope="session")
def names(gene_kb: Path) -> GeneNames:
    return GeneNames.open(KnowledgeBase.open(gene_kb))
