"""A model that reads documents, trained on a tiny corpus: it learns, it can be stopped, and it opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from onym.detect.model import detector_of
from onym.encoders.collective import Collective
from onym.encoders.encoder import Encoder
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.collective import CollectiveLinker
from onym.train.collective import module as collective_module
from onym.train.collective import trainer as collective_trainer
from onym.train.collective.collective import collective, mention_vectors
from onym.train.collective.context import CollectiveSetting
from onym.train.run import train
from onym.train.samples.negatives import Rivals
from tests.train.made import DOC, record
from tests.train.tiny import are_equal, collective_config

LEARNING = {"steps": 60, "batch": 4, "every": 20, "learning_rate": 5e-3, "epochs": 0.0}


def scores(folder: Path, name: str) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line[f"eval_{name}"] for line in lines if f"eval_{name}" in line]


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


def test_names_that_stay_as_they_are_are_read_once(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"freeze_names": True, "detect": "spans"}
    config = collective_config(
        encoder, corpus, kb_folder, start=told, optim=LEARNING, dev={"mentions": 99, "split": "train", "names": 0}
    )
    monkeypatch.setattr(collective_module, "vectors_of", None)
    made = train(config, tmp_path / "made")
    found = scores(made, "dev_r1")
    assert max(found) > found[0] + 10
    assert Encoder.open(made / "names").digest == Encoder.open(encoder).digest


def test_a_detector_alone_has_no_names(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    made = train(collective_config(encoder, corpus, kb_folder, loss={"link": 0.0}), tmp_path / "made")
    assert not (made / "names").exists()
    assert not Collective.open(made).settings.links


def test_a_stopped_training_ends_as_one_that_was_not(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 6, "batch": 3, "every": 2})
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


def test_mining_happens_before_every_epoch_but_the_first(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 9, "batch": 2, "every": 9})
    setting = CollectiveSetting(config, tmp_path / "work")
    mined: list[int] = []
    own = Rivals.mine

    def mine(self: Rivals, mentions: Any, vectors: Any) -> None:
        mined.append(len(mentions))
        own(self, mentions, vectors)

    monkeypatch.setattr(Rivals, "mine", mine)
    trainer = collective(setting)
    epoch = trainer.train_dataset.epoch // 2
    assert len(mined) == (9 - 1) // epoch > 0
    assert set(mined) == {len(setting.wanted)}
    assert np.load(tmp_path / "work" / "pools.npy").shape == (len(setting.wanted), 8)


def test_vectors_of_all_mentions(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    setting = CollectiveSetting(collective_config(encoder, corpus, kb_folder), tmp_path)
    vectors = mention_vectors(setting, setting.model)
    assert vectors.shape == (len(setting.wanted), 16)
    assert (np.linalg.norm(vectors, axis=1) > 0).all()


def test_what_cannot_be_learnt(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="no corpus is named"):
        train(collective_config(encoder, None, kb_folder), tmp_path / "one")
    config = collective_config(encoder, corpus, kb_folder, start={"detect": "none"}, loss={"link": 0.0})
    with pytest.raises(ConfigError, match="learn nothing"):
        train(config, tmp_path / "two")
