"""A model that reads documents, trained on a tiny corpus: it learns, it can be stopped, and it opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from onym.detect.model import detector_of
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.collective import CollectiveLinker
from onym.models.collective import Collective
from onym.models.torch_encoder import Encoder
from onym.train.collective import module as collective_module
from onym.train.collective import trainer as collective_trainer
from onym.train.collective.collective import collective, mention_vectors, name_vectors
from onym.train.collective.context import CollectiveContext
from onym.train.run import train
from onym.train.samples.negatives import Negatives
from tests.encoders.second_device import DEVICE, second_device
from tests.train.made import DOC, record
from tests.train.tiny import are_equal, collective_config

LEARNING = {"steps": 60, "batch_size": 4, "eval_steps": 20, "learning_rate": 5e-3, "epochs": 0.0}


def scores(folder: Path, name: str) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line[f"eval_{name}"] for line in lines if f"eval_{name}" in line]


@pytest.mark.slow
@pytest.mark.parametrize("detect", ["spans", "tags"])
def test_it_learns_to_find_and_to_link(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, detect: str) -> None:
    config = collective_config(
        encoder, corpus, kb_folder, start={"detect": detect}, optim=LEARNING, dev={"mentions": 99, "split": "train", "names": 0}
    )
    made = train(config, tmp_path / "made")
    for name in ("dev_f1", "dev_spans_f1", "dev_r1"):
        found = scores(made, name)
        assert max(found) > found[0] + 10, name
    assert record(made)["stages"] == ["collective"]
    model = Collective.open(made)
    assert model.settings.threshold == record(made)["metrics"]["dev_threshold"]
    linker = CollectiveLinker.of(model, KnowledgeBase.open(kb_folder))
    (linked,) = linker.link([DOC])
    assert all(link.candidates for link in linked.links)
    (seen,) = detector_of(model).detect([DOC])
    assert seen.document.mentions


@pytest.mark.slow
def test_names_that_stay_as_they_are_are_read_once(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = {"freeze_names": True, "detect": "spans"}
    config = collective_config(
        encoder, corpus, kb_folder, start=start, optim=LEARNING, dev={"mentions": 99, "split": "train", "names": 0}
    )
    monkeypatch.setattr(collective_module, "vectors_of", None)
    made = train(config, tmp_path / "made")
    found = scores(made, "dev_r1")
    assert max(found) > found[0] + 10
    assert Encoder.open(made / "names").digest == Encoder.open(encoder).digest


@pytest.mark.slow
def test_a_detector_alone_has_no_names(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    made = train(collective_config(encoder, corpus, kb_folder, loss={"link": 0.0}), tmp_path / "made")
    assert not (made / "names").exists()
    assert not Collective.open(made).settings.links


@pytest.mark.slow
def test_a_stopped_training_ends_as_one_that_was_not(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 6, "batch_size": 3, "eval_steps": 2})
    whole = train(config, tmp_path / "whole")
    own = collective_trainer.CollectiveTrainer.batch_loss

    def stopped(self: Any, model: Any, inputs: Any) -> Any:
        if self.state.global_step == 4:
            raise KeyboardInterrupt
        return own(self, model, inputs)

    with monkeypatch.context() as patch:
        patch.setattr(collective_trainer.CollectiveTrainer, "batch_loss", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "parts")
    parts = train(config, tmp_path / "parts")
    for name in ("model.safetensors", "heads.safetensors", "names/model.safetensors"):
        assert are_equal(load_file(whole / name), load_file(parts / name)), name


@pytest.mark.slow
def test_mining_happens_before_each_epoch_but_the_first(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 9, "batch_size": 2, "eval_steps": 9})
    context = CollectiveContext(config, tmp_path / "work")
    mined: list[int] = []
    own = Negatives.mine

    def mine(self: Negatives, mentions: Any, vectors: Any) -> None:
        mined.append(len(mentions))
        own(self, mentions, vectors)

    monkeypatch.setattr(Negatives, "mine", mine)
    trainer = collective(context)
    epoch = trainer.train_dataset.epoch // 2
    assert len(mined) == (9 - 1) // epoch > 0
    assert set(mined) == {len(context.linkable)}
    assert np.load(tmp_path / "work" / "pools.npy").shape == (len(context.linkable), 8)


def test_vectors_of_all_mentions(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    context = CollectiveContext(collective_config(encoder, corpus, kb_folder), tmp_path)
    vectors = mention_vectors(context, context.model)
    assert vectors.shape == (len(context.linkable), 16)
    assert (np.linalg.norm(vectors, axis=1) > 0).all()


def test_mining_and_evaluation_on_another_device(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    """Whatever is made of a module in training comes back to the CPU: mining again is what failed on a GPU."""
    config = collective_config(encoder, corpus, kb_folder, dev={"mentions": 99, "split": "train", "names": 0})
    context = CollectiveContext(config, tmp_path)
    names = np.arange(len(context.kb.names))
    model = context.model
    dev = context.dev
    assert dev is not None
    wanted = mention_vectors(context, model), name_vectors(context, model, names), dev(model)
    with second_device() as device:
        model.to(device)
        assert {each.device for each in model.parameters()} == {DEVICE}
        found = mention_vectors(context, model), name_vectors(context, model, names), dev(model)
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-5)
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-5)
    assert found[2] == pytest.approx(wanted[2])


@pytest.mark.slow
def test_a_batch_on_another_device(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    """Names are sampled and tokenised on the CPU, and join the batch on its device."""
    context = CollectiveContext(collective_config(encoder, corpus, kb_folder), tmp_path)
    trainer = collective(context)
    batch = trainer.data_collator(trainer.train_dataset.__getitems__([0, 1]))
    with torch.no_grad():
        wanted = float(trainer.batch_loss(context.model, batch))
        with second_device() as device:
            context.model.to(device)
            moved = {name: value.to(device) for name, value in batch.items()}
            assert float(trainer.batch_loss(context.model, moved).cpu()) == pytest.approx(wanted, rel=1e-4)


def test_what_cannot_be_learnt(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="no dataset is named"):
        train(collective_config(encoder, None, kb_folder), tmp_path / "one")
    config = collective_config(encoder, corpus, kb_folder, start={"detect": "none"}, loss={"link": 0.0})
    with pytest.raises(ConfigError, match="learn nothing"):
        train(config, tmp_path / "two")
