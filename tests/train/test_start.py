"""Tests of opening a pretrained model for training: its weights are unchanged, and its dropout is as configured."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from onym.errors import ConfigError
from onym.train.configs import StartConfig
from onym.train.generative.start import open_start
from onym.train.start import open_document_encoder, set_dropout
from tests.support.models import FAMILIES, save_model, tiny_bart, tiny_encoder
from tests.train.tiny import are_equal, weights_of

IDS = torch.tensor([[0, 17, 5, 9, 2], [0, 8, 2, 1, 1]])
MASK = (IDS != 1).long()


def roberta(folder: Path, **more: Any) -> Any:
    from transformers import RobertaConfig, RobertaModel

    sizes: dict[str, Any] = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = RobertaConfig(**sizes, intermediate_size=24, max_position_embeddings=34, type_vocab_size=1, **more)
    model = RobertaModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn_like(weights) * 0.2)
    model.save_pretrained(folder)
    return model


def t5(folder: Path) -> Any:
    """Save a T5 with an untied head, as in Flan-T5."""
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"vocab_size": 60, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    torch.manual_seed(0)
    config = T5Config(decoder_start_token_id=0, feed_forward_proj="gated-gelu", tie_word_embeddings=False, **sizes)
    model = T5ForConditionalGeneration(config)
    model.lm_head.weight = torch.nn.Parameter(torch.randn(60, 16))
    model.save_pretrained(folder)
    return model.eval()


def open_model(folder: Path, dropout: float = 0.0, attention_dropout: float = 0.0) -> Any:
    return open_start(folder, dropout=dropout, attention_dropout=attention_dropout)


def encode(model: Any, ids: Tensor = IDS, mask: Tensor = MASK) -> Tensor:
    with torch.no_grad():
        states: Tensor = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
    return states


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_bart_from_roberta_encodes_like_roberta(tmp_path: Path, activation: str) -> None:
    """Uses BART's layer norm epsilon of 1e-5; with RoBERTa's default of 1e-12, the outputs would differ."""
    other = roberta(tmp_path, hidden_act=activation, layer_norm_eps=1e-5)
    with torch.no_grad():
        expected = other(input_ids=IDS, attention_mask=MASK).last_hidden_state
    model = open_model(tmp_path)
    assert model.config.model_type == "bart"
    found = encode(model)
    torch.testing.assert_close(found[MASK.bool()], expected[MASK.bool()], rtol=0, atol=1e-5)


def test_bart_decoder_is_warm_started_and_head_is_tied(tmp_path: Path) -> None:
    roberta(tmp_path)
    model = open_model(tmp_path)
    encoder, decoder = model.model.encoder, model.model.decoder
    for one, other in zip(encoder.layers, decoder.layers, strict=True):
        for part in ("self_attn.q_proj", "self_attn.out_proj", "self_attn_layer_norm", "fc1", "fc2"):
            assert torch.equal(one.get_submodule(part).weight, other.get_submodule(part).weight)
        assert torch.equal(one.self_attn.k_proj.weight, other.encoder_attn.k_proj.weight)
    assert model.lm_head.weight is model.model.shared.weight is encoder.embed_tokens.weight
    assert torch.equal(encoder.embed_positions.weight, decoder.embed_positions.weight)
    assert (model.config.decoder_start_token_id, model.config.eos_token_id, model.config.pad_token_id) == (2, 2, 1)
    assert model.config.max_position_embeddings == 32
    encode(model, torch.full((1, 32), 5), torch.ones(1, 32, dtype=torch.long))


def test_initial_logits_of_bart_have_unit_scale(tmp_path: Path) -> None:
    """The embeddings of an encoder were not trained as an output head, so unscaled logits would be far too confident."""
    other = roberta(tmp_path)
    model = open_model(tmp_path).eval()
    with torch.no_grad():
        logits = model(input_ids=IDS, attention_mask=MASK, decoder_input_ids=IDS).logits
        wild = other(input_ids=IDS, attention_mask=MASK).last_hidden_state @ other.embeddings.word_embeddings.weight.T
    assert 0.5 < float(logits.std(dim=-1).mean()) < 2
    assert not 0.9 < float(wild.std(dim=-1).mean() / logits.std(dim=-1).mean()) < 1.1


def test_bart_from_roberta_is_reproducible(tmp_path: Path) -> None:
    """A resumed run creates the model from the pretrained one again before it loads the checkpoint."""
    roberta(tmp_path)
    torch.manual_seed(1)
    one = weights_of(open_model(tmp_path))
    torch.manual_seed(2)
    assert are_equal(one, weights_of(open_model(tmp_path)))


def test_t5_keeps_untied_head(tmp_path: Path) -> None:
    other = t5(tmp_path)
    model = open_model(tmp_path)
    assert model.lm_head.weight is not model.shared.weight
    assert are_equal(weights_of(model), weights_of(other))
    ids = {"input_ids": IDS, "attention_mask": MASK, "decoder_input_ids": IDS}
    model.save_pretrained(tmp_path / "again")
    again = open_model(tmp_path / "again")
    for each in (model, again):
        assert each.lm_head.weight is not each.shared.weight
        torch.testing.assert_close(each.eval()(**ids).logits, other(**ids).logits)


def test_opens_seq2seq_model_for_training(tmp_path: Path) -> None:
    model = open_model(save_model(tmp_path))
    assert are_equal(weights_of(model), weights_of(tiny_bart()))
    assert model.training
    assert all(weights.requires_grad and weights.dtype == torch.float32 for weights in model.parameters())


@pytest.mark.parametrize("make", [save_model, roberta, t5], ids=["bart", "roberta", "t5"])
def test_sets_dropout_of_modules(tmp_path: Path, make: Any) -> None:
    """Two passes are equal without dropout, and differ with either kind of dropout, except in evaluation mode."""
    make(tmp_path)
    ids = {"input_ids": IDS, "attention_mask": MASK, "decoder_input_ids": IDS}
    none = open_model(tmp_path)
    assert torch.equal(none(**ids).logits, none(**ids).logits)
    for dropouts in ((0.5, 0.0), (0.0, 0.5)):
        model = open_model(tmp_path, *dropouts)
        assert not torch.equal(model(**ids).logits, model(**ids).logits)
        still = copy.deepcopy(model).eval()
        assert torch.equal(still(**ids).logits, still(**ids).logits)


def test_sets_given_dropout_values(tmp_path: Path) -> None:
    model = open_model(save_model(tmp_path), 0.25, 0.4)
    layer = model.model.decoder.layers[0]
    assert (layer.dropout, layer.self_attn.dropout, layer.encoder_attn.dropout) == (0.25, 0.4, 0.4)
    assert (model.model.encoder.dropout, model.model.encoder.layers[0].self_attn.dropout) == (0.25, 0.4)
    assert (model.config.dropout, model.config.attention_dropout) == (0.25, 0.4)


def test_rejects_missing_or_pickled_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        open_model(tmp_path)
    roberta(tmp_path / "old")
    (tmp_path / "old" / "model.safetensors").rename(tmp_path / "old" / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="model-unsafe"):
        open_model(tmp_path / "old")


@pytest.mark.parametrize("family", FAMILIES)
def test_sets_dropout_of_an_encoder(family: str) -> None:
    """In training mode, outputs are equal without dropout and differ with dropout."""
    model, ids = tiny_encoder(family).train(), torch.tensor([[0, 17, 5, 9, 2]])
    set_dropout(model, 0.0, 0.0)
    assert torch.equal(model(ids).last_hidden_state, model(ids).last_hidden_state)
    set_dropout(model, 0.5, 0.5)
    assert not torch.equal(model(ids).last_hidden_state, model(ids).last_hidden_state)


def test_rejects_windows_longer_than_the_encoder(encoder: Path) -> None:
    start = StartConfig(model=str(encoder))
    assert open_document_encoder(encoder, start, 64).training
    with pytest.raises(ConfigError, match="at most 64"):
        open_document_encoder(encoder, start, 65)
