"""Adapter for BART, BioBART and Marian: post-layer normalisation and position embeddings."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import Identity
from torch.nn import functional as F  # noqa: N812 - the usual name

from onym.methods.generative.decoding.adapters.base import Heads, Keys, Norm, Projection, cross_keys


class BartAdapter:
    """The decoder of a `BartForConditionalGeneration` or `MarianMTModel`, sharing its weights."""

    def __init__(self, model: Any) -> None:
        config, decoder = model.config, model.get_decoder()
        self._encoder = model.get_encoder()
        self.layers = len(decoder.layers)
        self.heads = config.decoder_attention_heads
        self.head_width = config.d_model // self.heads
        self.vocabulary = config.vocab_size
        self.start, self.eos, self.pad = config.decoder_start_token_id, config.eos_token_id, config.pad_token_id
        self.max_positions = config.max_position_embeddings
        self.scale = self.head_width**-0.5
        self.dtype, self.device = model.lm_head.weight.dtype, model.lm_head.weight.device
        self._words = decoder.embed_tokens.weight
        self._word_scale = config.d_model**0.5 if config.scale_embedding else 1.0
        positions = decoder.embed_positions
        self._offset = getattr(positions, "offset", 0)
        self._positions = positions.weight
        self._first_norm: Norm = getattr(decoder, "layernorm_embedding", Identity())
        self._layers = [_BartLayer(layer, config.activation_function) for layer in decoder.layers]
        self._cross = Projection.join(
            [part for layer in decoder.layers for part in (layer.encoder_attn.k_proj, layer.encoder_attn.v_proj)]
        )
        bias = getattr(model, "final_logits_bias", None)
        self._out = Projection(
            model.lm_head.weight.detach(), bias[0].to(self.dtype) if bias is not None and bias.any() else None
        )

    def encode(self, ids: Tensor, mask: Tensor) -> Keys:
        """Run the encoder, then compute the keys and values of all layers in one matrix product."""
        states = self._encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return cross_keys(states, self._cross, self.layers, self.heads)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Add token and position embeddings; positions beyond the maximum use the embedding of the last position."""
        embedding_rows = positions.clamp(max=self.max_positions - 1) + self._offset
        states = F.embedding(tokens, self._words) * self._word_scale + F.embedding(embedding_rows, self._positions)
        return self._first_norm(states)

    def self_query(self, layer: int, states: Tensor) -> tuple[Heads, Heads, Heads]:
        """Compute queries, keys and values in one matrix product."""
        query, key, value = self._layers[layer].query(states).view(len(states), 3, self.heads, self.head_width).unbind(1)
        return query, key, value

    def after_self(self, layer: int, states: Tensor, attended: Tensor) -> Tensor:
        """Add the attention output, then normalise."""
        part = self._layers[layer]
        return part.self_norm(states + part.self_out(attended))

    def cross_query(self, layer: int, states: Tensor) -> Heads:
        """Compute the queries."""
        return self._layers[layer].cross_query(states).view(len(states), self.heads, self.head_width)

    def after_cross(self, layer: int, states: Tensor, attended: Tensor) -> Tensor:
        """Add the attention output and normalise; then add the feed-forward output and normalise."""
        part = self._layers[layer]
        states = part.cross_norm(states + part.cross_out(attended))
        return part.last_norm(states + part.down(part.activation(part.up(states))))

    def logits(self, states: Tensor) -> Tensor:
        """Multiply by the output embeddings."""
        return self._out(states)

    def bias(self, distance: Tensor) -> Tensor | None:  # noqa: ARG002 - required by the protocol
        """Return None: positions are part of the embedding."""
        return None


class _BartLayer:
    def __init__(self, layer: Any, activation: str) -> None:
        from transformers.activations import ACT2FN

        attention, cross = layer.self_attn, layer.encoder_attn
        self.query = Projection.join([attention.q_proj, attention.k_proj, attention.v_proj])
        self.self_out = Projection.join([attention.out_proj])
        self.self_norm: Norm = layer.self_attn_layer_norm
        self.cross_query = Projection.join([cross.q_proj])
        self.cross_out = Projection.join([cross.out_proj])
        self.cross_norm: Norm = layer.encoder_attn_layer_norm
        self.up, self.down = Projection.join([layer.fc1]), Projection.join([layer.fc2])
        self.last_norm: Norm = layer.final_layer_norm
        self.activation = ACT2FN[activation]
