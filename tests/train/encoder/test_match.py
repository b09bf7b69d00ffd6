"""Fine-tuning of an encoder on the mentions of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.train.encoder import match as match_module
from onym.train.encoder.context import EncoderContext
from onym.train.run import train
from onym.train.samples.base import Positive
from tests.train.encoder.test_align import scores
from tests.train.made import DOC, record
from tests.train.tiny import are_equal, encoder_config


def pairs_of(
    folder: Path, encoder: Path, corpus: Path, kb: Path, monkeypatch: pytest.MonkeyPatch, **data: Any
) -> list[Positive]:
    """Return the pairs of an epoch, as the recipe would train on them."""
    found: list[Positive] = []
    monkeypatch.setattr(match_module, "train_pairs", lambda _, pairs: found.extend(pairs.__getitems__(range(pairs.epoch))))
    match_module.match(EncoderContext(encoder_config("match", encoder, corpus, kb, data=data), folder))
    return found


@pytest.mark.slow
def test_it_learns_and_remembers_the_stage_before(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    aligned = train(encoder_config("align", encoder, None, kb_folder), tmp_path / "aligned")
    learning = {"steps": 60, "batch_size": 8, "eval_steps": 20, "learning_rate": 3e-3}
    config = encoder_config(
        "match", aligned, corpus, kb_folder,
        start={"pooling": None, "similarity": None}, data={"mix": 0.25, "hard_negatives": 1}, optim=learning,
        dev={"mentions": 12, "split": "train"},
    )  # fmt: skip
    made = train(config, tmp_path / "made")
    found = scores(made)
    assert max(found) > found[0] + 10
    assert record(made)["stages"] == ["align", "match"]
    assert record(made)["corpus"]["name"] == "ncbi-disease"
    (linked,) = DenseLinker.from_pretrained(made, KnowledgeBase.open(kb_folder)).link([DOC])
    assert all(link.candidates for link in linked.links)
    again = train(config, tmp_path / "again")
    assert are_equal(load_file(made / "model.safetensors"), load_file(again / "model.safetensors"))


def test_mentions_alone(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pairs_of(tmp_path, encoder, corpus, kb_folder, monkeypatch)
    assert len(found) == 12
    assert {"heart attacks", "hypertensions", "infarct"} <= {pair.first for pair in found}


def test_with_synonyms_and_with_hard_negatives(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = len(KnowledgeBase.open(kb_folder).names)
    mixed = pairs_of(tmp_path, encoder, corpus, kb_folder, monkeypatch, mix=0.5)
    assert (len(mixed), sum(max(pair.names) < names for pair in mixed) >= 12) == (24, True)
    hard = pairs_of(tmp_path, encoder, corpus, kb_folder, monkeypatch, hard_negatives=1)
    assert len(hard) == 24
    for own, wrong in zip(hard[::2], hard[1::2], strict=True):
        assert wrong.concept not in (own.concept, *own.also)


def test_a_dataset_is_needed(tmp_path: Path, encoder: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="no dataset is named"):
        train(encoder_config("match", encoder, None, kb_folder), tmp_path / "made")
