"""Tests that docs/reference/training.md lists the configuration keys of every training stage."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from onym.train.configs import CONFIGS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "training.md").read_text("utf-8")
SECTIONS = {
    "pretrain": "## start",
    "finetune": "## start",
    "prefer": "## start",
    "align": "## Encoders",
    "match": "## Encoders",
    "collective": "## Collective models",
    "detect": "## Detectors",
    "mentions": "## Mentions of the dictionary",
    "rerank": "## Rerankers",
    "student": "## Students",
    "genes": "## Gene linkers",
    "organisms": "## Organism linkers",
}


def keys_of(config: type[BaseModel]) -> set[str]:
    annotations = [field.annotation for name, field in config.model_fields.items() if name != "stage"]
    tables = [each for annotation in annotations for each in get_args(annotation) or (annotation,)]
    return {key for table in tables if isinstance(table, type) and issubclass(table, BaseModel) for key in table.model_fields}


def read_listed(text: str) -> set[str]:
    cells = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|", text, re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`([a-z_]+)`", cell)}


@pytest.mark.parametrize("stage", CONFIGS)
def test_page_lists_each_key(stage: str) -> None:
    assert keys_of(CONFIGS[stage]) <= read_listed(PAGE)
    own = PAGE[PAGE.index(SECTIONS[stage]) :]
    config = CONFIGS[stage].model_fields
    for name in config.keys() & {"start", "data"}:
        table = config[name].annotation
        assert table is not None
        assert table.model_fields.keys() <= read_listed(own), name


def test_page_lists_no_unknown_key() -> None:
    known = set().union(*(keys_of(config) for config in CONFIGS.values()))
    text = PAGE[: PAGE.index("## Device and precision")]
    assert read_listed(text) - {"pretrain", "finetune", "prefer", "align", "match", "collective", "detect"} <= known
