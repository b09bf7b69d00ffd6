"""Self-alignment: from the names of a knowledge base to a folder that opens as an encoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.models.settings import EncoderSettings
from onym.models.torch_encoder import Encoder
from onym.train.encoder import align as align_module
from onym.train.encoder.collate import PairCollate
from onym.train.encoder.config import EncoderTrainingConfig
from onym.train.run import train
from tests.index.made import kb_of, words
from tests.train.made import DOC, record
from tests.train.tiny import are_equal, encoder_config, losses

FILES = {"README.md", "config.json", "encoder.json", "log.jsonl", "model.safetensors", "tokenizer.json", "training.json"}
LEARNING = {"steps": 60, "batch_size": 8, "eval_steps": 20, "learning_rate": 3e-3}


def scores(folder: Path) -> list[float]:
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [entry["eval_dev_r1"] for entry in entries if "eval_dev_r1" in entry]


def align_config(encoder: Path, corpus: Path | None, kb_folder: Path, **more: Any) -> EncoderTrainingConfig:
    return encoder_config("align", encoder, corpus, kb_folder, **more)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, encoder: Path, corpus: Path, kb_folder: Path) -> Path:
    """Return an encoder that learnt the names of three concepts, with a score on train for there are so few mentions."""
    config = align_config(encoder, corpus, kb_folder, optim=LEARNING, dev={"mentions": 12, "split": "train"})
    return train(config, tmp_path_factory.mktemp("align") / "aligned")


@pytest.mark.slow
def test_it_learns(made: Path) -> None:
    found, loss = scores(made), losses(made)
    assert len(found) == 4
    assert max(found) > found[0] + 10
    assert np.mean(loss[-3:]) < np.mean(loss[:3]) * 0.8
    assert record(made)["metrics"]["dev_r1"] == max(found)


def test_what_the_folder_holds_opens(made: Path, encoder: Path, kb_folder: Path) -> None:
    assert {path.name for path in made.iterdir()} == FILES
    kb, model = KnowledgeBase.open(kb_folder), Encoder.open(made, precision="fp32")
    assert model.settings == EncoderSettings(pooling="mean", similarity="cosine")
    linker = DenseLinker.from_pretrained(made, kb, dtype="fp32")
    (linked,) = linker.link([DOC])
    assert [link.candidates[0].concept_id for link in linked.links] == ["mesh:D009203", "mesh:D005334"]
    assert not are_equal(load_file(made / "model.safetensors"), load_file(encoder / "model.safetensors"))
    found = record(made)
    assert (found["stage"], found["stages"], found["first_start"]) == ("align", ["align"], "tiny-bert")
    assert EncoderTrainingConfig.of(found["config"]).optim.steps == 60
    text = (made / "README.md").read_text()
    assert "An encoder of names, from tiny-bert" in text
    assert "DenseLinker.from_pretrained" in text
    assert "GenerativeLinker" not in text


@pytest.mark.slow
def test_epochs_are_counted_in_steps(tmp_path: Path, encoder: Path, kb_folder: Path) -> None:
    """The knowledge base has 12 pairs: three epochs are 36, nine batches of four."""
    made = train(align_config(encoder, None, kb_folder, optim={"epochs": 3.0, "steps": 99}), tmp_path / "made")
    assert record(made)["steps"] == 9
    assert record(made)["metrics"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16-weights"])
def test_stopped_and_going_on(
    tmp_path: Path, encoder: Path, kb_folder: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = align_config(encoder, None, kb_folder, optim={"eval_steps": 2, "precision": precision}, start={"dropout": 0.3})
    whole, queries = train(config, tmp_path / "whole"), list[int]()

    class Stopping(PairCollate):
        def __call__(self, positives: Any) -> Any:
            queries.append(len(positives))
            if len(queries) == 4:
                raise RuntimeError("stopped")
            return super().__call__(positives)

    with monkeypatch.context() as patched:
        patched.setattr(align_module, "PairCollate", Stopping)
        with pytest.raises(RuntimeError, match="stopped"):
            train(config, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()
    parts = train(config, tmp_path / "parts")
    assert are_equal(load_file(whole / "model.safetensors"), load_file(parts / "model.safetensors"))


def test_a_knowledge_base_without_synonyms(tmp_path: Path, encoder: Path) -> None:
    kb = kb_of(tmp_path, words(5))
    with pytest.raises(InputError, match="training-empty"):
        train(align_config(encoder, None, kb.folder.parent), tmp_path / "made")
