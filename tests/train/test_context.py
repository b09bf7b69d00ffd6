"""Tests of opening the inputs of a training run, and of sampling dev documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from onym.datasets import PreparedDataset
from onym.errors import ConfigError
from onym.train.context import dev_documents, dev_names, space_evenly
from onym.train.dense.trainer import EncoderContext
from onym.train.generative.trainer import GenerativeContext
from onym.types import Document, Mention
from tests.methods.dense.index.made import kb_of, words
from tests.train.tiny import config, encoder_config


def test_counts_samples_over_all_devices(tmp_path: Path, model: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = GenerativeContext(config("pretrain", model, None, kb_folder, optim={"steps": 7, "batch_size": 3}), tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (context.samples_per_step, context.total_samples) == (12, 84)


def test_reads_splits_without_excluded_mentions(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    both = {"splits": ["train", "dev"]}
    assert len(EncoderContext(encoder_config("match", encoder, corpus, kb_folder, data=both), tmp_path).mentions) == 16
    less = encoder_config("match", encoder, corpus, kb_folder, data=both | {"exclude_splits": ["dev"]})
    assert len(EncoderContext(less, tmp_path).mentions) == 12


def test_rejects_missing_kb_or_dataset(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    context = EncoderContext(encoder_config("align", encoder, None, kb_folder, data={"kb": ""}), tmp_path)
    with pytest.raises(ConfigError, match="no knowledge base given"):
        _ = context.kb
    with pytest.raises(ConfigError, match="no dataset given"):
        _ = context.mentions
    assert EncoderContext(encoder_config("match", encoder, corpus, kb_folder), tmp_path).kb.folder.parent == kb_folder


def test_dev_kb_can_be_set(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, tiny_kb: Path) -> None:
    own = EncoderContext(encoder_config("match", encoder, corpus, kb_folder), tmp_path)
    assert own.dev_kb is own.kb
    other = EncoderContext(encoder_config("match", encoder, corpus, kb_folder, dev={"kb": str(tiny_kb)}), tmp_path)
    assert other.dev_kb.folder.parent == tiny_kb


def test_rejects_another_configuration_in_same_folder(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    training_config = config("pretrain", model, None, kb_folder)
    GenerativeContext(training_config, tmp_path / "work").require_same_config()
    GenerativeContext(training_config, tmp_path / "work").require_same_config()
    with pytest.raises(ConfigError, match="training-other") as caught:
        GenerativeContext(
            config("pretrain", model, None, kb_folder, optim={"seed": 1}), tmp_path / "work"
        ).require_same_config()
    assert caught.value.code == "training-other"


def test_key_order_of_configuration_does_not_matter(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    context = GenerativeContext(config("pretrain", model, None, kb_folder), tmp_path)
    context.require_same_config()
    values = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(dict(reversed(values.items()))))
    context.require_same_config()


def test_spaces_items_evenly() -> None:
    items = list(range(10))
    assert space_evenly(items, 4) == [0, 2, 5, 7]
    assert space_evenly(items, 0) == space_evenly(items, 10) == space_evenly(items, 99) == items


def test_dev_documents_have_evenly_spaced_mentions(corpus: Path) -> None:
    documents = list(PreparedDataset.open(corpus).documents("train"))
    bare = Document("x", "fever", (Mention(0, 5, "fever"),))
    all_documents = dev_documents([*documents, bare], 0)
    assert [doc.id for doc in all_documents] == [doc.id for doc in documents]
    assert sum(len(doc.mentions) for doc in all_documents) == 12
    some = dev_documents(documents, 4)
    mentions = [(doc.id, mention) for doc in documents for mention in doc.mentions]
    assert [(doc.id, mention) for doc in some for mention in doc.mentions] == mentions[::3]
    assert all(doc.text == next(each.text for each in documents if each.id == doc.id) for doc in some)


def test_dev_names_are_gold_and_random_names(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, words(200))
    doc = Document("1", "x", (Mention(0, 1, "x", ("demo:7",)), Mention(0, 1, "x", ("demo:199", "demo:x"))))
    found = dev_names([doc], kb, 50)
    assert found is not None
    assert len(found) == len(set(found.tolist())) == 52
    assert {kb.find("name 00007"), kb.find("name 00199")} <= set(found.tolist())
    again = dev_names([doc], kb, 50)
    assert again is not None
    assert (found == again).all()
    more = dev_names([doc], kb, 100)
    assert more is not None
    assert set(found.tolist()) < set(more.tolist())
    assert dev_names([doc], kb, 0) is None
    assert dev_names([doc], kb, 198) is None
    some = dev_names([], kb, 5)
    assert some is not None
    assert np.diff(some).min() > 0
