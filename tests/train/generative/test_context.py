"""What recipes for models that write names open, by the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.train.generative.context import Setting
from tests.linkers.tiny_model import save_model, save_tokenizer
from tests.train.tiny import config


def test_what_the_configuration_names(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    told = config(
        "finetune", model, corpus, kb_folder,
        start={"window": 24, "template": "genre", "dropout": 0.25},
        dev={"mentions": 3},
        optim={"steps": 7, "batch": 3, "accumulation": 2},
    )  # fmt: skip
    setting = Setting(told, tmp_path)
    assert (setting.layout.window, setting.layout.template.name, setting.layout.longest) == (24, "genre", 160)
    assert setting.model.model.encoder.dropout == 0.25
    assert (setting.collate.start, setting.collate.eos, setting.collate.pad, setting.collate.longest) == (2, 2, 1, 160)
    assert setting.kb.folder.parent == kb_folder
    assert len(setting.places) == 12
    assert setting.dev is not None
    assert len(setting.dev) == 3
    assert (setting.step_samples, setting.samples_seen) == (6, 42)


def test_embeddings_may_be_frozen(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    frozen = Setting(config("pretrain", model, None, kb_folder, start={"freeze_embeddings": True}), tmp_path).model
    still = {name for name, parameter in frozen.named_parameters() if not parameter.requires_grad}
    assert still == {"model.shared.weight"}


def test_a_tokenizer_of_another_folder(tmp_path: Path, kb_folder: Path) -> None:
    bare = save_model(tmp_path / "bare", has_tokenizer=False)
    told = config("pretrain", bare, None, kb_folder)
    with pytest.raises(ConfigError, match="tokenizer-missing"):
        _ = Setting(told, tmp_path).layout
    start = {"tokenizer": str(save_tokenizer(tmp_path / "tokens"))}
    assert Setting(config("pretrain", bare, None, kb_folder, start=start), tmp_path).layout.tokens.eos == 2


def test_without_a_corpus_there_is_no_score(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    assert Setting(config("pretrain", model, None, kb_folder, dev={"mentions": 3}), tmp_path).dev is None
    assert Setting(config("finetune", model, corpus, kb_folder), tmp_path).dev is None
