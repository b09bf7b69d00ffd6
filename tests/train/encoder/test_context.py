"""What a training of an encoder opens: the encoder as it is, and read as it will be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from onym.errors import ConfigError
from onym.models.settings import EncoderSettings
from onym.testing.tiny_seq2seq import save_model
from onym.train.encoder.context import EncoderContext
from tests.train.tiny import encoder_config


def test_what_the_configuration_names(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    config = encoder_config(
        "match", encoder, corpus, kb_folder,
        start={"dropout": 0.25, "length": 12}, dev={"mentions": 3}, optim={"steps": 7, "batch_size": 3},
    )  # fmt: skip
    context = EncoderContext(config, tmp_path)
    assert {each.p for each in context.model.modules() if isinstance(each, torch.nn.Dropout)} == {0.25}
    assert context.model.config.hidden_dropout_prob == context.model.config.attention_probs_dropout_prob == 0.25
    assert context.model.training
    assert all(parameter.requires_grad for parameter in context.model.parameters())
    assert context.settings == EncoderSettings(pooling="mean", similarity="cosine", length=12)
    assert context.dev is not None
    assert len(context.dev) == 3
    assert context.total_samples == 21
    assert EncoderSettings.model_validate_json(context.files["encoder.json"]) == context.settings
    assert context.files["tokenizer.json"] == (encoder / "tokenizer.json").read_bytes()


def test_the_folders_own_settings_count_where_none_are_passed(tmp_path: Path, encoder: Path, kb_folder: Path) -> None:
    own = shutil.copytree(encoder, tmp_path / "own")
    kept = EncoderSettings(pooling="mean", similarity="cosine", length=500)
    (own / EncoderSettings.FILE).write_bytes(kept.to_bytes())
    none = {"pooling": None, "similarity": None}
    context = EncoderContext(encoder_config("align", own, None, kb_folder, start=none), tmp_path)
    assert context.settings == kept.changed(length=64), "no more than the model can read"
    assert context.dev is None


def test_embeddings_may_be_frozen(tmp_path: Path, encoder: Path, kb_folder: Path) -> None:
    config = encoder_config("align", encoder, None, kb_folder, start={"freeze_embeddings": True})
    still = {name for name, each in EncoderContext(config, tmp_path).model.named_parameters() if not each.requires_grad}
    assert still == {"embeddings.word_embeddings.weight"}


def test_what_is_no_encoder_is_refused(tmp_path: Path, kb_folder: Path) -> None:
    bart = save_model(tmp_path / "bart")
    with pytest.raises(ConfigError, match="model-family"):
        _ = EncoderContext(encoder_config("align", bart, None, kb_folder), tmp_path).model
