"""The model card: what was measured, what it was made of, and an example that names no folder of ours."""

from __future__ import annotations

from typing import Any

import pytest

from onym.train.card import card

RECORD: dict[str, Any] = {
    "first_start": "flan-t5-small",
    "stages": ["pretrain", "finetune"],
    "parameters": 76_961_152,
    "hours_in_all": 1.25,
    "machine": "2 cores, x86_64",
    "kb": {"digest": "ab12", "concepts": 14_967, "names": 110_142},
    "corpus": {"name": "ncbi-disease", "digest": "cd34"},
    "metrics": {"dev_r1": 81.25, "dev_r5": 90.0},
    "dev_mentions": 1_500,
    "steps": 1200,
}


def test_what_a_person_should_know() -> None:
    text = card(RECORD)
    for words in ("from flan-t5-small", "pretrain, finetune", "76,961,152", "1,200 steps", "1.25 hours", "2 cores", "14,967"):
        assert words in text
    assert "| dev_r1 | 81.2 |" in text
    assert "| on dev, any-id, 1,500 mentions | % |" in text
    assert "ncbi-disease (cd34)" in text


def test_the_head_is_that_of_a_card() -> None:
    lines = card(RECORD).splitlines()
    assert lines[0] == lines[3] == "---"
    assert "library_name: onym" in lines


@pytest.mark.parametrize(
    ("stages", "linker"),
    [
        (["pretrain", "prefer"], "GenerativeLinker"),
        (["align"], "DenseLinker"),
        (["align", "match"], "DenseLinker"),
        (["align", "collective"], "CollectiveLinker"),
    ],
)
def test_it_names_the_linker_that_opens_the_model(stages: list[str], linker: str) -> None:
    text = card(RECORD | {"stages": stages})
    assert f"import {linker}" in text
    assert ("An encoder of names" in text) == (linker == "DenseLinker")


def test_without_a_dataset_and_without_scores() -> None:
    text = card(RECORD | {"corpus": {}, "metrics": {}})
    assert "- Dataset: none" in text
    assert "dev_r1" not in text
