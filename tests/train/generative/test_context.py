"""What recipes for models that write names open, by the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.testing.tiny_seq2seq import save_model, save_tokenizer
from onym.train.generative.context import GenerativeContext
from tests.train.tiny import config


def test_what_the_configuration_names(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    training_config = config(
        "finetune", model, corpus, kb_folder,
        start={"window": 24, "template": "genre", "dropout": 0.25},
        dev={"mentions": 3},
        optim={"steps": 7, "batch_size": 3, "gradient_accumulation": 2},
    )  # fmt: skip
    context = GenerativeContext(training_config, tmp_path)
    assert (context.layout.window, context.layout.template.name, context.layout.max_tokens) == (24, "genre", 160)
    assert context.model.model.encoder.dropout == 0.25
    assert (context.collate.start, context.collate.eos, context.collate.pad, context.collate.max_length) == (2, 2, 1, 160)
    assert context.kb.folder.parent == kb_folder
    assert len(context.mentions) == 12
    assert context.dev is not None
    assert len(context.dev) == 3
    assert (context.samples_per_step, context.total_samples) == (6, 42)


def test_embeddings_may_be_frozen(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    frozen = GenerativeContext(config("pretrain", model, None, kb_folder, start={"freeze_embeddings": True}), tmp_path).model
    still = {name for name, parameter in frozen.named_parameters() if not parameter.requires_grad}
    assert still == {"model.shared.weight"}


def test_a_tokenizer_of_another_folder(tmp_path: Path, kb_folder: Path) -> None:
    bare = save_model(tmp_path / "bare", has_tokenizer=False)
    training_config = config("pretrain", bare, None, kb_folder)
    with pytest.raises(ConfigError, match="tokenizer-missing"):
        _ = GenerativeContext(training_config, tmp_path).layout
    start = {"tokenizer": str(save_tokenizer(tmp_path / "tokens"))}
    assert GenerativeContext(config("pretrain", bare, None, kb_folder, start=start), tmp_path).layout.tokens.eos == 2


def test_without_a_corpus_there_is_no_score(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    assert GenerativeContext(config("pretrain", model, None, kb_folder, dev={"mentions": 3}), tmp_path).dev is None
    assert GenerativeContext(config("finetune", model, corpus, kb_folder), tmp_path).dev is None
