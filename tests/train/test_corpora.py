"""Tests of training on several corpora: held-out documents and restricted datasets."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from onym.errors import ConfigError
from onym.train.configs import CorporaConfig
from onym.train.corpora import OfCorpora


def read(config: CorporaConfig) -> OfCorpora:
    made = OfCorpora()
    made.config, made.data = SimpleNamespace(data=config), None
    return made


def test_leaves_out_held_out_documents(corpus: Path) -> None:
    found = read(CorporaConfig(datasets=(str(corpus),), exclude=(str(corpus),)))
    ((one,), (dataset,)) = found.training, found.datasets
    assert [doc.id for doc in one.documents] == [doc.id for doc in dataset.documents("train")]
    assert one.left_out == {"same id": 0, "same text": 0}


def test_rejects_restricted_datasets_unless_private() -> None:
    with pytest.raises(ConfigError, match="dataset-not-shippable"):
        _ = read(CorporaConfig(datasets=("hpo-gsc",))).datasets
    # Training on it is allowed, but there is no data folder to prepare it from.
    with pytest.raises(ConfigError, match="config-invalid"):
        _ = read(CorporaConfig(datasets=("hpo-gsc",), private=True)).datasets


def test_requires_a_dataset() -> None:
    with pytest.raises(ValidationError):
        CorporaConfig(datasets=())
