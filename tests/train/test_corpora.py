"""Several corpora to learn from together."""

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


def test_held_out_documents_are_left_out(corpus: Path) -> None:
    found = read(CorporaConfig(datasets=(str(corpus),), exclude=(str(corpus),)))
    ((one,), (dataset,)) = found.training, found.datasets
    assert [doc.id for doc in one.documents] == [doc.id for doc in dataset.documents("train")]
    assert one.left_out == {"same id": 0, "same text": 0}


def test_what_may_not_be_passed_on_is_refused_unless_it_is_private() -> None:
    with pytest.raises(ConfigError, match="dataset-not-shippable"):
        _ = read(CorporaConfig(datasets=("hpo-gsc",))).datasets
    with pytest.raises(ConfigError, match="config-invalid"):  # it is looked for, and there are no files
        _ = read(CorporaConfig(datasets=("hpo-gsc",), private=True)).datasets


def test_one_dataset_at_least() -> None:
    with pytest.raises(ValidationError):
        CorporaConfig(datasets=())
