"""Tests that tiny models open like any others, and that some need no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from onym.decoding.session import open_model
from onym.kb import KnowledgeBase
from onym.linkers import linker_config, open_linker
from onym.models.collective import Collective
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import FAMILIES as KNOWN
from onym.models.torch_encoder import Encoder
from onym.testing.models import FAMILIES, save_collective, save_encoder, save_model, save_reranker, stump
from onym.types import Document, Mention


def test_a_seq2seq_model_opens(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model")
    assert open_model(folder, "fp32").config.model_type == "bart"
    assert Tokenizer.open(folder).ids("fever")


def test_there_is_an_encoder_of_each_family() -> None:
    assert set(FAMILIES) == set(KNOWN)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_encoder_encodes(tmp_path: Path, family: str) -> None:
    vectors = Encoder.open(save_encoder(tmp_path / family, family), precision="fp32").encode(["fever", "heart attack"])
    assert vectors.shape == (2, 16)
    assert (vectors[0] != vectors[1]).any()


def test_a_collective_model_opens_and_reads(tmp_path: Path) -> None:
    model = Collective.open(save_collective(tmp_path / "model"), "fp32")
    assert model.settings.detect == "spans"
    vectors, _ = model.mention_vectors([Document("1", "high fever", (Mention(5, 10, "fever"),))])
    assert vectors.shape == (1, 16)


def test_a_reranker_links(tmp_path: Path, tiny_kb: Path) -> None:
    folder = save_reranker(tmp_path / "model", {"corpora": [{"name": "mine"}]})
    linker = open_linker(linker_config("rerank", model=folder), KnowledgeBase.open(tiny_kb))
    doc = Document("1", "fever", (Mention(0, 5, "fever"),))
    assert [link.concept_id for linked in linker.link([doc]) for link in linked.links] == ["mesh:D005334"]
    assert json.loads((folder / "training.json").read_text()) == {"corpora": [{"name": "mine"}]}


def test_stump_is_valid_and_uses_one_feature() -> None:
    trees = stump(feature=1)
    trees.require_sound(2, "here")
    assert trees.probabilities(np.array([[0.9, 0.2], [0.2, 0.9]])).round(3).tolist() == [0.269, 0.731]


def test_a_reranker_is_made_without_torch(tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from pathlib import Path; from onym.testing.models import save_reranker"
    subprocess.run([sys.executable, "-c", f"{code}; save_reranker(Path({str(tmp_path / 'model')!r}))"], check=True)
