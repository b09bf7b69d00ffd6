"""Tests of encoders: vectors match the model's own forward pass and do not depend on the batch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from onym.errors import ConfigError, InputError
from onym.models import encoder as text_encoder
from onym.models.settings import EncoderSettings
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import FAMILIES as KNOWN
from onym.models.torch_encoder import Encoder
from tests.models.spoil import change_config, rewrite_weights
from tests.models.test_modules import save_modules
from tests.support.models import FAMILIES, save_encoder, save_model, save_tokenizer

TEXTS = ["heart attack", "fever", "", "high blood pressure " * 20, "mi", "fever", "</s> <pad>"]


@pytest.fixture
def model(tmp_path: Path, bert_folder: Path) -> Path:
    """Return a copy of an encoder that the test may modify."""
    return shutil.copytree(bert_folder, tmp_path / "model")


def plain(folder: Path, text: str, own: EncoderSettings) -> np.ndarray[Any, Any]:
    """Return the vector of a single text, computed by transformers; the text is padded only for `mean-all` pooling."""
    from transformers import AutoModel

    model, tokens = AutoModel.from_pretrained(folder).eval(), Tokenizer.open(folder)
    ids = [*tokens.before, *tokens.ids(text)[: own.length - 2], *tokens.after]
    padding = own.length - len(ids) if own.pooling == "mean-all" else 0
    mask = torch.tensor([[1] * len(ids) + [0] * padding])
    with torch.no_grad():
        hidden = model(torch.tensor([ids + [1] * padding]), attention_mask=mask).last_hidden_state[0]
    vector = hidden[0] if own.pooling == "cls" else hidden.mean(0)
    return np.asarray((vector / vector.norm() if own.similarity == "cosine" else vector).numpy())


def test_each_family_is_tested() -> None:
    assert set(FAMILIES) == set(KNOWN)


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooling", ["cls", "mean", "mean-all"])
def test_vectors_match_the_forward_pass_of_the_model(tmp_path: Path, family: str, pooling: Any) -> None:
    folder = save_encoder(tmp_path / family, family)
    for own in (EncoderSettings(pooling=pooling), EncoderSettings(pooling=pooling, similarity="cosine", length=12)):
        found = Encoder.open(folder, own, "fp32").encode(TEXTS)
        assert found.shape == (len(TEXTS), 16)
        assert found.dtype == np.float32
        wanted = np.stack([plain(folder, text, own) for text in TEXTS])
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert np.allclose(np.linalg.norm(found, axis=1), 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_text_up_to_maximum_length(tmp_path: Path, family: str) -> None:
    encoder = Encoder.open(save_encoder(tmp_path / family, family), EncoderSettings(length=1000), "fp32")
    assert encoder.settings.length == (62 if family in ("camembert", "mpnet", "roberta", "xlm-roberta") else 64)
    assert np.isfinite(encoder.encode(["a b c " * 1000, "fever"])).all()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("budget", [1, 64, 100_000])
def test_vectors_do_not_depend_on_the_batch(
    bert_folder: Path, monkeypatch: pytest.MonkeyPatch, precision: Any, budget: int
) -> None:
    encoder = Encoder.open(bert_folder, EncoderSettings(pooling="mean"), precision)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    monkeypatch.setattr(text_encoder, "_BUDGET", budget)
    scale = np.abs(alone).max()
    assert np.abs(encoder.encode(TEXTS) - alone).max() < scale * (1e-5 if precision == "fp32" else 0.03)


@settings(max_examples=30)
@given(st.lists(st.text(max_size=40), max_size=8), st.randoms(use_true_random=False))
def test_vectors_keep_the_order_of_texts(tiny: Encoder, texts: list[str], random: Any) -> None:
    order = list(range(len(texts)))
    random.shuffle(order)
    found = tiny.encode(texts)
    assert found.shape == (len(texts), 16)
    np.testing.assert_allclose(tiny.encode([texts[row] for row in order]), found[order], atol=1e-5)


@pytest.fixture(scope="module")
def tiny(bert_folder: Path) -> Encoder:
    return Encoder.open(bert_folder, precision="fp32")


def test_duplicate_texts_are_encoded_once(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    described: list[int] = []
    own = tiny._vectors

    def vectors(ids: Any, mask: Any) -> Any:
        read.append(len(ids))
        return own(ids, mask)

    monkeypatch.setattr(tiny, "_vectors", vectors)
    found = tiny.encode(["a", "b", "a", "a"], progress=described.append)
    assert sum(read) == 2
    assert described[-1] == 2
    assert np.array_equal(found[0], found[2])
    assert not np.array_equal(found[0], found[1])


def test_no_texts(tiny: Encoder) -> None:
    assert tiny.encode([]).shape == (0, 16)


def test_tokenizer_without_special_tokens(model: Path) -> None:
    data = json.loads((model / "tokenizer.json").read_text())
    data["post_processor"] = None
    (model / "tokenizer.json").write_text(json.dumps(data))
    for pooling in ("cls", "mean", "mean-all"):
        found = Encoder.open(model, EncoderSettings(pooling=pooling), "fp32").encode(["", "fever"])
        assert not found[0].any()
        assert np.isfinite(found).all()
        assert found[1].any()


# Tests of the settings, digest and metadata of an encoder.


def test_settings_default_to_those_of_the_folder(model: Path) -> None:
    assert Encoder.open(model).settings == EncoderSettings()
    save_modules(model)
    assert Encoder.open(model).settings == EncoderSettings(pooling="mean", similarity="cosine", length=64)
    assert Encoder.open(model, EncoderSettings()).settings == EncoderSettings()


def test_digest_covers_everything_the_vectors_depend_on(tmp_path: Path, model: Path) -> None:
    first = Encoder.open(model, precision="fp32")
    digests = {
        first.digest,
        Encoder.open(model, EncoderSettings(pooling="mean")).digest,
        Encoder.open(model, EncoderSettings(length=24)).digest,
        Encoder.open(save_encoder(tmp_path / "other", seed=1)).digest,
    }
    assert len(digests) == 4
    assert Encoder.open(model, precision="bf16").digest == first.digest == Encoder.open(str(model)).digest
    change_config(hidden_act="relu")(model)
    assert Encoder.open(model).digest not in digests
    (model / "tokenizer.json").write_text((model / "tokenizer.json").read_text() + " ")
    assert Encoder.open(model).digest not in digests


@pytest.mark.parametrize(
    "change",
    [
        {"pooling": {"pooling_mode": "cls"}},
        {"kinds": ("Transformer", "Pooling"), "config_sentence_transformers": {"similarity_fn_name": "dot"}},
        {"sentence_bert_config": {"max_seq_length": 12}},
    ],
)
def test_digest_covers_sentence_transformers_files(model: Path, change: dict[str, Any]) -> None:
    before = Encoder.open(save_modules(model)).digest
    assert Encoder.open(save_modules(model)).digest == before
    assert Encoder.open(save_modules(model, **change)).digest != before


def test_config_describes_the_encoder(bert_folder: Path) -> None:
    config = Encoder.open(bert_folder, precision="bf16").config
    assert {key: config[key] for key in ("model", "precision", "pooling", "similarity", "length")} == {
        "model": "tiny-bert",
        "precision": "bfloat16",
        "pooling": "cls",
        "similarity": "dot",
        "length": 25,
    }
    assert config["parameters"] > 0
    json.dumps(config)


# Tests of rejecting invalid models.


def test_rejects_model_that_is_not_an_encoder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model-family"):
        Encoder.open(save_model(tmp_path / "bart"))


def test_rejects_configuration_without_padding(model: Path) -> None:
    change_config(pad_token_id=None)(model)
    with pytest.raises(InputError, match="model-malformed"):
        Encoder.open(model)


def test_rejects_tokenizer_of_another_model(model: Path) -> None:
    save_tokenizer(model, more=200)
    with pytest.raises(ConfigError, match="model-tokenizer"):
        Encoder.open(model)


def test_rejects_folder_without_tokenizer(model: Path) -> None:
    (model / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match="tokenizer-missing"):
        Encoder.open(model)


@pytest.mark.slow
@pytest.mark.real_models
@pytest.mark.usefixtures("real_models")
def test_minilm_uses_its_sentence_transformers_settings() -> None:
    """MiniLM: settings from its folder, and plausible similarities."""
    from benchmarks.models import model_folder

    encoder = Encoder.open(model_folder("minilm"), precision="fp32")
    assert encoder.settings == EncoderSettings(pooling="mean", similarity="cosine", length=256)
    heart, attack, fever = encoder.encode(["heart attack", "myocardial infarction", "fever"])
    assert heart @ attack > heart @ fever + 0.1
    library = pytest.importorskip("sentence_transformers")
    wanted = library.SentenceTransformer(str(model_folder("minilm")), device="cpu").encode(["heart attack"])
    np.testing.assert_allclose(heart[None], wanted, atol=1e-5)


def test_rejects_nan_vectors(model: Path) -> None:
    encoder = Encoder.open(model, precision="fp32")
    encoder._model.encoder.layer[1].output.LayerNorm.weight.fill_(3e38)
    encoder._model.encoder.layer[1].output.LayerNorm.bias.fill_(3e38)
    with pytest.raises(InputError, match="model-not-finite"):
        encoder.encode(["fever"])


@pytest.mark.parametrize("positions", [1, 3])
def test_rejects_too_short_maximum_length(model: Path, positions: int) -> None:
    change_config(max_position_embeddings=positions)(model)
    rewrite_weights(model, lambda found: found.update({"embeddings.position_embeddings.weight": torch.ones(positions, 16)}))
    with pytest.raises(InputError, match="model-malformed"):
        Encoder.open(model)
