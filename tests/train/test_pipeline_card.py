"""The card of a trained pipeline."""

from __future__ import annotations

from pathlib import Path

from onym.datasets.own import prepare_own
from onym.kb import KnowledgeBase
from onym.packs.locate import read_pipeline
from onym.pipeline.config import PipelineConfig
from onym.pipeline.folder import build_pipeline
from onym.train.pipeline_card import pipeline_card
from tests.train.tiny import FEVER, pubtator

DEV = {"threshold": 0.25, "f1": 0.8, "f1_without": 0.7, "f1_held_out": 0.65, "documents": 3, "mentions": 1_234}


def made(folder: Path, kb: Path, encoder: str) -> tuple[str, PipelineConfig]:
    rows = [("A fever.", [("fever", FEVER)]), ("No fever today.", [("fever", FEVER)])]
    for split in ("train", "dev"):
        (folder / f"{split}.pubtator").write_text(pubtator(split, rows if split == "train" else rows[:1]))
    files = {split: [folder / f"{split}.pubtator"] for split in ("train", "dev")}
    dataset = prepare_own("mine", files, folder / "mine")
    build_pipeline(kb, folder / "pipeline")
    config = read_pipeline(folder / "pipeline")
    return pipeline_card(config, KnowledgeBase.open(kb), [dataset], encoder, DEV), config


def test_it_says_what_the_figures_rest_on_and_what_overlaps(tmp_path: Path, kb_folder: Path) -> None:
    card, _ = made(tmp_path, kb_folder, "")
    assert "on dev, 1,234 mentions in 3 documents" in card
    assert "| strict F1, from raw text, without a threshold | 70.0 |" in card
    assert "| threshold | none" in card
    assert "dev in train: 1 of 1 mentions have a surface and ids that train has" in card
    assert "dictionary with a trained classifier" in card
    assert "| confidence of links | none |" in card
    assert str(tmp_path) not in card, "no path of this machine"


def test_it_names_the_encoder(tmp_path: Path, kb_folder: Path) -> None:
    assert "a model trained from granite; linker: exact" in made(tmp_path, kb_folder, "granite")[0]
