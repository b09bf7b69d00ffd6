"""Adapter for T5 and Flan-T5: pre-layer normalisation, relative position bias, unscaled attention."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the usual name

from onym.methods.generative.decoding.adapters.base import Heads, Keys, Norm, Projection, cross_keys

_UNBOUNDED = 1 << 30
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu_new": partial(F.gelu, approximate="tanh"), "relu": F.relu}


class T5Adapter:
    """The decoder of a `T5ForConditionalGeneration`, sharing its weights."""

    def __init__(self, model: Any) -> None:
        config, decoder = model.config, model.get_decoder()
        self._encoder = model.get_encoder()
        self.layers = len(decoder.block)
        self.heads, self.head_width = config.num_heads, config.d_kv
        self.vocabulary = config.vocab_size
        self.start, self.eos, self.pad = config.decoder_start_token_id, config.eos_token_id, config.pad_token_id
        self.max_positions = _UNBOUNDED
        self.scale = 1.0
        self.dtype, self.device = model.lm_head.weight.dtype, model.lm_head.weight.device
        self._words = decoder.embed_tokens.weight
        self._layers = [_T5Layer(block, config.dense_act_fn) for block in decoder.block]
        crosses = [block.layer[1].EncDecAttention for block in decoder.block]
        self._cross = Projection.join([part for cross in crosses for part in (cross.k, cross.v)])
        self._last_norm: Norm = decoder.final_layer_norm
        self._out = Projection(model.lm_head.weight.detach())
        self._out_scale = config.d_model**-0.5 if config.scale_decoder_outputs else 1.0
        self._relative = decoder.block[0].layer[0].SelfAttention

    def encode(self, ids: Tensor, mask: Tensor) -> Keys:
        """Run the encoder, then compute the keys and values of all layers in one matrix product."""
        states = self._encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return cross_keys(states, self._cross, self.layers, self.heads)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:  # noqa: ARG002 - positions are added as a bias
        """Look up the token embeddings."""
        return F.embedding(tokens, self._words)

    def self_query(self, layer: int, states: Tensor) -> tuple[Heads, Heads, Heads]:
        """Normalise the states, and compute queries, keys and values in one matrix product."""
        part = self._layers[layer]
        found = part.query(part.self_norm(states)).view(len(states), 3, self.heads, self.head_width)
        query, key, value = found.unbind(1)
        return query, key, value

    def after_self(self, layer: int, states: Tensor, attended: Tensor) -> Tensor:
        """Add the attention output."""
        return states + self._layers[layer].self_out(attended)

    def cross_query(self, layer: int, states: Tensor) -> Heads:
        """Normalise the states, and compute the queries."""
        part = self._layers[layer]
        return part.cross_query(part.cross_norm(states)).view(len(states), self.heads, self.head_width)

    def after_cross(self, layer: int, states: Tensor, attended: Tensor) -> Tensor:
        """Add the attention output, then the feed-forward output."""
        part = self._layers[layer]
        states = states + part.cross_out(attended)
        return states + part.feed_forward(part.feed_norm(states))

    def logits(self, states: Tensor) -> Tensor:
        """Normalise, then multiply by the output embeddings."""
        return self._out(self._last_norm(states) * self._out_scale)

    def bias(self, distance: Tensor) -> Tensor:
        """Return the relative position bias of each distance."""
        attention = self._relative
        buckets = attention._relative_position_bucket(  # noqa: SLF001 - transformers has no public API for the buckets
            -distance,
            bidirectional=False,
            num_buckets=attention.relative_attention_num_buckets,
            max_distance=attention.relative_attention_max_distance,
        )
        found: Tensor = attention.relative_attention_bias(buckets)
        return found


class _T5Layer:
    def __init__(self, block: Any, activation: str) -> None:
        attention, cross = block.layer[0].SelfAttention, block.layer[1].EncDecAttention
        self.self_norm: Norm = block.layer[0].layer_norm
        self.query = Projection.join([attention.q, attention.k, attention.v])
        self.self_out = Projection.join([attention.o])
        self.cross_norm: Norm = block.layer[1].layer_norm
        self.cross_query = Projection.join([cross.q])
        self.cross_out = Projection.join([cross.o])
        self.feed_norm: Norm = block.layer[2].layer_norm
        dense = block.layer[2].DenseReluDense
        self._is_gated = hasattr(dense, "wi_0")
        self._up = Projection.join([dense.wi_0, dense.wi_1] if self._is_gated else [dense.wi])
        self._down = Projection.join([dense.wo])
        self._act = _ACTIVATIONS.get(activation) or dense.act

    def feed_forward(self, states: Tensor) -> Tensor:
        """Return the output of the feed-forward block."""
        up = self._up(states)
        if self._is_gated:
            gate, up = up.chunk(2, dim=-1)
            return self._down(self._act(gate) * up)
        return self._down(self._act(up))
