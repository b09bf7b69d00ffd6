"""Decoder state of a batch of mentions: a tree of tokens per mention, with a key-value cache that is never reordered.

Each token has a slot and attends to its ancestors and itself. One pass reads any number of tokens, of any mentions and depths:
a step of beam search, a whole prompt, an unbranched path, or a round of best-first search. The cross-attention keys of a
mention are stored once and shared by all its hypotheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from onym.errors import InputError
from onym.methods.generative.decoding.adapters.base import Adapter
from onym.models.device import Precision
from onym.models.tensors import require_finite
from onym.models.torch_loading import open_pretrained

Ints = npt.NDArray[np.int64]
_ROOM = 32  # initial number of token slots per mention
NO_PARENT = np.iinfo(np.int64).min
"""Parent of the first token of a mention."""


class Session(Protocol):
    """The decoder interface used by a search. In each call, parent tokens must come before their children."""

    vocabulary: int

    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[Ints, Tensor]:
        """Read the start token and a prompt for each mention; return the slots of the last tokens and the logits after them."""

    def read(self, owners: Ints, parents: Ints, tokens: Ints, wave: Ints) -> tuple[Ints, Tensor]:
        """Read a token after each parent slot; return the slots of the tokens, and the logits after them (rows, vocabulary).

        A parent in the same call is given as -1 - (row of the parent). `wave` is the number of a row's ancestors in this call.
        """

    def keep(self, mentions: Ints) -> None:
        """Keep only these mentions, and renumber them in this order."""


class TreeSession:
    """A session with a seq2seq model."""

    def __init__(self, adapter: Adapter, sources: Sequence[Sequence[int]]) -> None:
        self.vocabulary = adapter.vocabulary
        self._adapter = adapter
        self._mentions = len(sources)
        ids, mask = _pad_ids(sources, adapter.pad)
        with torch.inference_mode():
            is_token = self._tensor(mask)
            keys = adapter.encode(self._tensor(ids), is_token.long())
            self._cross = [(key.transpose(-1, -2).contiguous(), value) for key, value in keys]
            self._hidden = None if mask.all() else _additive(is_token[:, None, None, :], adapter.dtype)
        self._used = 0
        self._keys: list[Tensor] = []  # shape (mentions, heads, head width, slots): transposed for multiplication by queries
        self._values: list[Tensor] = []  # shape (mentions, heads, slots, head width)
        self._sees = np.zeros((len(sources), 0, 0), dtype=bool)
        self._depths = np.zeros((len(sources), 0), dtype=np.int64)

    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[Ints, Tensor]:
        """Read the start token and a prompt for each mention, in one pass."""
        texts = [[self._adapter.start, *prompt] for prompt in prompts]
        lengths = np.array([len(text) for text in texts])
        owners = np.repeat(np.arange(len(texts)), lengths)
        wave = np.concatenate([np.arange(length) for length in lengths])
        parents = np.where(wave == 0, NO_PARENT, -np.arange(len(owners)))  # -1 - (previous row), see `Session.read`
        tokens = np.concatenate([np.asarray(text) for text in texts])
        last = np.cumsum(lengths) - 1
        slots, states = self._read(owners, parents, tokens, wave)
        with torch.inference_mode():
            return slots[last], require_finite(self._adapter.logits(states[self._tensor(last)]))

    def read(self, owners: Ints, parents: Ints, tokens: Ints, wave: Ints) -> tuple[Ints, Tensor]:
        """Read a token after each parent slot, all in one pass."""
        slots, states = self._read(owners, parents, tokens, wave)
        with torch.inference_mode():
            return slots, self._adapter.logits(states)

    def keep(self, mentions: Ints) -> None:
        """Keep only these mentions, and renumber them in this order."""
        kept = self._tensor(mentions)
        self._cross = [(key[kept], value[kept]) for key, value in self._cross]
        self._hidden = None if self._hidden is None else self._hidden[kept]
        self._keys = [keys[kept] for keys in self._keys]
        self._values = [values[kept] for values in self._values]
        self._sees = self._sees[mentions]
        self._depths = self._depths[mentions]
        self._mentions = len(mentions)

    @torch.inference_mode()
    def _read(self, owners: Ints, parents: Ints, tokens: Ints, wave: Ints) -> tuple[Ints, Tensor]:
        ranks = _ranks(owners)
        slots = self._used + ranks
        rows = _TokenRows(self._tensor(owners), self._tensor(ranks), self._mentions, int(ranks.max()) + 1)
        self._grow(self._used + rows.count)
        self._see(owners, parents, slots, wave)
        states = self._adapter.embed(self._tensor(tokens), self._tensor(self._depths[owners, slots]))
        states = require_finite(self._through(states, rows))
        self._used += rows.count
        return slots, states

    def _tensor(self, array: npt.NDArray[Any]) -> Tensor:
        """Return an array as a tensor on the model's device."""
        return torch.from_numpy(array).to(self._adapter.device)

    def _grow(self, needed: int) -> None:
        """Grow the buffers to at least `needed` slots; their size is doubled, so that they are rarely copied."""
        room, used = self._sees.shape[1], self._used
        if needed <= room:
            return
        slots = max(needed, 2 * room, _ROOM)
        adapter = self._adapter
        shape = (self._mentions, adapter.heads, adapter.head_width)
        made: dict[str, Any] = {"dtype": adapter.dtype, "device": adapter.device}
        keys = [torch.zeros((*shape, slots), **made) for _ in range(adapter.layers)]
        values = [torch.zeros((*shape[:2], slots, shape[2]), **made) for _ in range(adapter.layers)]
        for layer in range(len(self._keys)):
            keys[layer][..., :used] = self._keys[layer][..., :used]
            values[layer][:, :, :used] = self._values[layer][:, :, :used]
        self._keys, self._values = keys, values
        sees = np.zeros((self._mentions, slots, slots), dtype=bool)
        sees[:, :used, :used] = self._sees[:, :used, :used]
        depths = np.zeros((self._mentions, slots), dtype=np.int64)
        depths[:, :used] = self._depths[:, :used]
        self._sees, self._depths = sees, depths

    def _see(self, owners: Ints, parents: Ints, slots: Ints, wave: Ints) -> None:
        """Make every new token attend to itself and to all tokens that its parent attends to."""
        for number in range(int(wave.max()) + 1):
            rows = np.flatnonzero(wave == number)
            mine, new, above = owners[rows], slots[rows], parents[rows]
            if number:
                above = slots[-1 - above]
            if number or above[0] != NO_PARENT:
                self._sees[mine, new] = self._sees[mine, above]
                self._depths[mine, new] = self._depths[mine, above] + 1
            self._sees[mine, new, new] = True

    def _through(self, states: Tensor, rows: _TokenRows) -> Tensor:
        """Run the states of all rows through the layers."""
        adapter, used, end = self._adapter, self._used, self._used + rows.count
        mask = self._mask(used, end)
        for layer in range(adapter.layers):
            query, key, value = adapter.self_query(layer, states)
            keys, values = self._keys[layer], self._values[layer]
            keys[:, :, :, used:end] = rows.pad(key).permute(0, 2, 3, 1)
            values[:, :, used:end] = rows.pad(value).transpose(1, 2)
            attended = _attend(rows.pad(query), keys[..., :end], values[:, :, :end], mask, adapter.scale)
            states = adapter.after_self(layer, states, rows.flat(attended))
            query = rows.pad(adapter.cross_query(layer, states))
            attended = _attend(query, *self._cross[layer], self._hidden, adapter.scale)
            states = adapter.after_cross(layer, states, rows.flat(attended))
        return states

    def _mask(self, used: int, end: int) -> Tensor:
        """Return the additive attention mask of new rows: -inf for hidden slots, plus the relative position bias."""
        sees = self._tensor(self._sees[:, None, used:end, :end])
        sees = sees | ~sees.any(dim=-1, keepdim=True)  # unused padding rows attend to all slots, to avoid NaN
        depths = self._tensor(self._depths[:, :end])
        bias = self._adapter.bias(depths[:, used:, None] - depths[:, None, :])
        mask = _additive(sees, self._adapter.dtype)
        return mask if bias is None else bias.permute(0, 3, 1, 2).to(mask.dtype) + mask


class _TokenRows:
    """Converts rows of tokens between a flat list and a padded (mentions, count) array; `count` is the maximum per mention."""

    def __init__(self, owners: Tensor, ranks: Tensor, mentions: int, count: int) -> None:
        self.count = count
        self._owners, self._ranks, self._mentions = owners, ranks, mentions
        self._is_full = len(owners) == mentions * count

    def pad(self, heads: Tensor) -> Tensor:
        """Return (rows, heads, width) as (mentions, count, heads, width)."""
        shape = (self._mentions, self.count, *heads.shape[1:])
        if self._is_full:
            return heads.view(shape)
        rectangle = heads.new_zeros(shape)
        rectangle[self._owners, self._ranks] = heads
        return rectangle

    def flat(self, attended: Tensor) -> Tensor:
        """Return (mentions, heads, count, width) as (rows, heads * width)."""
        by_row = attended.transpose(1, 2).flatten(2)
        return by_row.flatten(0, 1) if self._is_full else by_row[self._owners, self._ranks]


def _attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Return the attention output for queries (mentions, rows, heads, width); faster than a fused kernel for few rows."""
    scores = torch.matmul(query.transpose(1, 2) * scale, keys)
    if mask is not None:
        scores = scores + mask
    return torch.matmul(torch.softmax(scores, dim=-1), values)


def _additive(is_seen: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(is_seen.shape, dtype=dtype, device=is_seen.device).masked_fill_(~is_seen, -torch.inf)


def _pad_ids(sources: Sequence[Sequence[int]], pad: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    ids = np.full((len(sources), max(map(len, sources))), pad, dtype=np.int64)
    mask = np.zeros(ids.shape, dtype=bool)
    for row, source in enumerate(sources):
        ids[row, : len(source)] = source
        mask[row, : len(source)] = True
    return ids, mask


def _ranks(owners: Ints) -> Ints:
    """Return the index of each row among the rows of its mention; `owners` must be sorted."""
    starts = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
    return np.arange(len(owners)) - np.repeat(starts, np.diff(np.append(starts, len(owners))))


FAMILIES = {"bart": "BartForConditionalGeneration", "marian": "MarianMTModel", "t5": "T5ForConditionalGeneration"}
"""The transformers class of each supported model family."""


def open_model(folder: Path, precision: Precision = "auto", *, device: str = "auto") -> Any:
    """Load a model for inference.

    Defaults for `generate` in a checkpoint, such as BART's `no_repeat_ngram_size`, are ignored.
    """
    model = open_pretrained(FAMILIES, folder, precision, device=device, what="a seq2seq model")
    config = model.config
    special = (config.decoder_start_token_id, config.eos_token_id, config.pad_token_id)
    if not all(isinstance(token, int) and 0 <= token < config.vocab_size for token in special):
        what = "decoder_start_token_id, eos_token_id or pad_token_id is missing or out of range"
        raise InputError("model-malformed", what, where=str(folder / "config.json"), fix="download the model again")
    return model
