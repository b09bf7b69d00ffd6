"""Open the seq2seq model to start from: a pretrained one, or a BART that is warm-started from an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from onym.methods.generative.decoding.session import FAMILIES, open_model
from onym.models.shape import read_shape
from onym.models.torch_encoder import open_body
from onym.store.models import require_safe
from onym.train.start import set_dropout


def open_start(folder: Path, *, dropout: float, attention_dropout: float) -> Any:
    """Return a seq2seq model to train, in fp32, on the CPU.

    If the model is a RoBERTa encoder, return a BART whose encoder and decoder are warm-started from that encoder.
    """
    require_safe(folder)
    family, _ = read_shape(folder, {**FAMILIES, "roberta": ""}, "a seq2seq model")
    model = _bart_of(folder) if family == "roberta" else open_model(folder, "fp32", device="cpu")
    set_dropout(model, dropout, attention_dropout)
    return model.requires_grad_(True).train()


def _bart_of(folder: Path) -> Any:
    """Return a BART with encoder and decoder layers copied from an encoder; cross-attention is copied from self-attention."""
    from transformers import BartConfig, BartForConditionalGeneration

    encoder = open_body(folder, "fp32", device="cpu")
    shape = encoder.config
    config = BartConfig(
        vocab_size=shape.vocab_size,
        d_model=shape.hidden_size,
        encoder_layers=shape.num_hidden_layers,
        decoder_layers=shape.num_hidden_layers,
        encoder_attention_heads=shape.num_attention_heads,
        decoder_attention_heads=shape.num_attention_heads,
        encoder_ffn_dim=shape.intermediate_size,
        decoder_ffn_dim=shape.intermediate_size,
        activation_function=shape.hidden_act,
        max_position_embeddings=shape.max_position_embeddings - 2,
        pad_token_id=shape.pad_token_id,
        bos_token_id=shape.bos_token_id,
        eos_token_id=shape.eos_token_id,
        decoder_start_token_id=shape.eos_token_id,
        forced_eos_token_id=None,
    )
    torch.manual_seed(0)
    model = BartForConditionalGeneration(config)
    with torch.no_grad():
        for stack in (model.model.encoder, model.model.decoder):
            _copy_embeddings(encoder.embeddings, stack)
            for own, other in zip(stack.layers, encoder.encoder.layer, strict=True):
                _copy_layer(own, other)
        _calm(model.model.decoder.layers[-1].final_layer_norm, model.lm_head.weight)
    return model


def _calm(norm: Any, head: torch.Tensor) -> None:
    """Scale the final norm so that the initial logits have unit variance; the embeddings were not trained as an output head."""
    spread = (norm.weight.square() + norm.bias.square()).sum().sqrt() * head.square().mean().sqrt()
    norm.weight.div_(spread)
    norm.bias.div_(spread)


def _copy_embeddings(other: Any, stack: Any) -> None:
    stack.embed_tokens.weight.copy_(other.word_embeddings.weight)
    stack.embed_positions.weight.copy_(other.position_embeddings.weight + other.token_type_embeddings.weight[0])
    stack.layernorm_embedding.load_state_dict(other.LayerNorm.state_dict())


def _copy_layer(own: Any, other: Any) -> None:
    attention, output = other.attention.self, other.attention.output
    for part in (own.self_attn, getattr(own, "encoder_attn", None)):
        if part is not None:
            part.q_proj.load_state_dict(attention.query.state_dict())
            part.k_proj.load_state_dict(attention.key.state_dict())
            part.v_proj.load_state_dict(attention.value.state_dict())
            part.out_proj.load_state_dict(output.dense.state_dict())
    own.self_attn_layer_norm.load_state_dict(output.LayerNorm.state_dict())
    own.fc1.load_state_dict(other.intermediate.dense.state_dict())
    own.fc2.load_state_dict(other.output.dense.state_dict())
    own.final_layer_norm.load_state_dict(other.output.LayerNorm.state_dict())
