"""What every recipe opens, whatever is trained: by the configuration, and refused where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.train.encoder.context import EncoderContext
from onym.train.generative.context import GenerativeContext
from tests.train.tiny import config, encoder_config


def test_all_devices_see_samples_of_their_own(
    tmp_path: Path, model: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = GenerativeContext(config("pretrain", model, None, kb_folder, optim={"steps": 7, "batch_size": 3}), tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (context.samples_per_step, context.total_samples) == (12, 84)


def test_splits_and_what_is_taken_out(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    both = {"splits": ["train", "dev"]}
    assert len(EncoderContext(encoder_config("match", encoder, corpus, kb_folder, data=both), tmp_path).mentions) == 16
    less = encoder_config("match", encoder, corpus, kb_folder, data=both | {"exclude_splits": ["dev"]})
    assert len(EncoderContext(less, tmp_path).mentions) == 12


def test_what_is_not_named_is_missed(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    context = EncoderContext(encoder_config("align", encoder, None, kb_folder, data={"kb": ""}), tmp_path)
    with pytest.raises(ConfigError, match="no knowledge base is named"):
        _ = context.kb
    with pytest.raises(ConfigError, match="no dataset is named"):
        _ = context.mentions
    assert EncoderContext(encoder_config("match", encoder, corpus, kb_folder), tmp_path).kb.folder.parent == kb_folder


def test_a_knowledge_base_for_dev(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, tiny_kb: Path) -> None:
    own = EncoderContext(encoder_config("match", encoder, corpus, kb_folder), tmp_path)
    assert own.dev_kb is own.kb
    other = EncoderContext(encoder_config("match", encoder, corpus, kb_folder, dev={"kb": str(tiny_kb)}), tmp_path)
    assert other.dev_kb.folder.parent == tiny_kb


def test_a_folder_belongs_to_one_configuration(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    training_config = config("pretrain", model, None, kb_folder)
    GenerativeContext(training_config, tmp_path / "work").require_same_config()
    GenerativeContext(training_config, tmp_path / "work").require_same_config()
    with pytest.raises(ConfigError, match="training-other") as caught:
        GenerativeContext(
            config("pretrain", model, None, kb_folder, optim={"seed": 1}), tmp_path / "work"
        ).require_same_config()
    assert caught.value.code == "training-other"


def test_the_order_of_keys_says_nothing(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    context = GenerativeContext(config("pretrain", model, None, kb_folder), tmp_path)
    context.require_same_config()
    values = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(dict(reversed(values.items()))))
    context.require_same_config()
