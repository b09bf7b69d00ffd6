"""Tests of the model cards of trained models and pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.datasets.own import prepare_own
from onym.kb import KnowledgeBase
from onym.packs.locate import read_pipeline
from onym.pipeline.config import PipelineConfig
from onym.pipeline.folder import build_pipeline
from onym.train.card import card, pipeline_card
from tests.train.tiny import FEVER, pubtator

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
DEV = {"threshold": 0.25, "f1": 0.8, "f1_without": 0.7, "f1_held_out": 0.65, "documents": 3, "mentions": 1_234}


def test_card_has_inputs_and_scores() -> None:
    text = card(RECORD)
    for words in ("from flan-t5-small", "pretrain, finetune", "76,961,152", "1,200 steps", "1.25 hours", "2 cores", "14,967"):
        assert words in text
    assert "| dev_r1 | 81.2 |" in text
    assert "| on dev, any-id, 1,500 mentions | % |" in text
    assert "ncbi-disease (cd34)" in text


def test_card_has_model_card_front_matter() -> None:
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
def test_card_names_the_linker_class(stages: list[str], linker: str) -> None:
    text = card(RECORD | {"stages": stages})
    assert f"import {linker}" in text
    assert ("An encoder of names" in text) == (linker == "DenseLinker")


def test_card_without_dataset_and_scores() -> None:
    text = card(RECORD | {"corpus": {}, "metrics": {}})
    assert "- Dataset: none" in text
    assert "dev_r1" not in text


def make_card(folder: Path, kb: Path, encoder: str) -> tuple[str, PipelineConfig]:
    rows = [("A fever.", [("fever", FEVER)]), ("No fever today.", [("fever", FEVER)])]
    for split in ("train", "dev"):
        (folder / f"{split}.pubtator").write_text(pubtator(split, rows if split == "train" else rows[:1]))
    files = {split: [folder / f"{split}.pubtator"] for split in ("train", "dev")}
    dataset = prepare_own("mine", files, folder / "mine")
    build_pipeline(kb, folder / "pipeline")
    config = read_pipeline(folder / "pipeline")
    return pipeline_card(config, KnowledgeBase.open(kb), [dataset], encoder, DEV), config


def test_pipeline_card_has_dev_counts_and_overlap(tmp_path: Path, kb_folder: Path) -> None:
    card, _ = make_card(tmp_path, kb_folder, "")
    assert "on dev, 1,234 mentions in 3 documents" in card
    assert "| strict F1, from raw text, without a threshold | 70.0 |" in card
    assert "| threshold | none" in card
    assert "dev in train: 1 of 1 mentions have a surface and ids seen in train" in card
    assert "dictionary with a trained classifier" in card
    assert "| confidence of links | none |" in card
    assert str(tmp_path) not in card, "no path of this machine"


def test_pipeline_card_names_the_encoder(tmp_path: Path, kb_folder: Path) -> None:
    assert "a model trained from granite; linker: exact" in make_card(tmp_path, kb_folder, "granite")[0]
