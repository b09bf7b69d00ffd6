"""Collective models, which encode a whole document in one pass to detect mentions, link them, or both.

The folder of such a model contains:

config.json, model.safetensors, tokenizer.json    the document encoder
heads.safetensors, collective.json                the heads on top of the encoder, and the settings
names/                                            the name encoder; missing if the model only detects mentions
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from onym.errors import ConfigError
from onym.methods.collective.settings import (
    HEADS,
    NAMES,
    CollectiveSettings,
    Detect,
    Represent,
    heads_mismatch,
    read_collective_settings,
    require_windows,
)
from onym.methods.collective.torch_documents import TorchDocumentReader
from onym.models.device import Precision
from onym.models.encoder import Rows, Vectors, require_vocabulary
from onym.models.tensors import INT8_LARGEST, INT8_TINY, require_finite, round_rows
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import Encoder, comparable, max_length, open_body
from onym.models.torch_loading import read_tensors
from onym.parts import ModelReference, OpenContext, ReaderPrecision
from onym.store.models import folder_digest
from onym.types import Document

_RARE = -5.0  # initial logit of a span; only about 1 in 150 spans is a mention


class Heads(nn.Module):
    """The heads of a collective model; unused heads are not created. `width` is the dimension of tokens, `dim` of names.

    Spans get a score for each of the `labels`, through a hidden layer if `hidden` is not 0.
    """

    def __init__(self, width: int, dim: int, represent: Represent, detect: Detect, *, labels: int = 1, hidden: int = 0) -> None:
        super().__init__()
        self.represent, self.detect, self.dim = represent, detect, dim
        if represent == "ends":
            self.ends = nn.Linear(2 * width, dim)
        elif width != dim:
            self.mean = nn.Linear(width, dim)
        if detect == "spans":
            self.span = nn.Linear(width, 3 * (hidden or labels))  # three parts: first token, last token, all tokens
            if hidden:
                self.label = nn.Linear(hidden, labels)
        elif detect == "tags":
            self.tag = nn.Linear(width, 3)
        self._begin(width, dim)

    @classmethod
    def of(cls, settings: CollectiveSettings, width: int) -> Heads:
        """Create untrained heads for token vectors of dimension `width`."""
        labels = max(1, len(settings.labels))
        dim = settings.dim or width
        return cls(width, dim, settings.represent, settings.detect, labels=labels, hidden=settings.hidden)

    @torch.no_grad()
    def _begin(self, width: int, dim: int) -> None:
        """Initialise span vectors to the mean of first and last token, if dimensions match, and label biases to a low value."""
        if hasattr(self, "label"):
            self.label.bias.fill_(_RARE)
        if self.represent == "ends" and width == dim:
            half = torch.eye(width) / 2
            self.ends.weight.copy_(torch.cat([half, half], 1))
            self.ends.bias.zero_()

    def vectors(self, states: Tensor, firsts: Tensor, lasts: Tensor) -> Tensor:
        """Return the vectors of spans of one text; `firsts` are inclusive token indices, `lasts` exclusive.

        *Shape:* states (tokens, width), firsts and lasts (spans,) -> (spans, dim).
        """
        if self.represent == "ends":
            return _apply(self.ends, torch.cat([states[firsts], states[lasts - 1]], 1))
        sums = _cumulate(states)
        means = (sums[lasts] - sums[firsts]) / (lasts - firsts).unsqueeze(1)
        return _apply(self.mean, means) if hasattr(self, "mean") else means

    def span_scores(self, states: Tensor, firsts: Tensor, lasts: Tensor) -> Tensor:
        """Return the logits of each span for each label. *Shape:* inputs as for `vectors` -> (spans, labels)."""
        start, end, inside = _apply(self.span, states).chunk(3, 1)  # shape (tokens, labels), or (tokens, hidden) if hidden
        sums = _cumulate(inside)
        within = sums[lasts] - sums[firsts]
        if not hasattr(self, "label"):
            return start[firsts] + end[lasts - 1] + within
        means = within / (lasts - firsts).unsqueeze(1)
        return _apply(self.label, nn.functional.gelu(start[firsts] + end[lasts - 1] + means))

    def tag_scores(self, states: Tensor) -> Tensor:
        """Return the logits of each token's tags (outside, begin, inside). *Shape:* (tokens, width) -> (tokens, 3)."""
        return _apply(self.tag, states)


def _apply(layer: nn.Linear, states: Tensor) -> Tensor:
    """Apply a linear layer in the precision of its inputs."""
    return nn.functional.linear(states, layer.weight.to(states.dtype), layer.bias.to(states.dtype))


def _cumulate(values: Tensor) -> Tensor:
    """Return cumulative sums over rows, starting with zeros. *Shape:* (rows, width) -> (rows + 1, width)."""
    return torch.cat([values.new_zeros(1, values.shape[1]), values.cumsum(0)])


class Int8Linear(nn.Module):
    """A linear layer quantised to int8, with fp32 inputs and outputs. *Shape:* (..., inputs) -> (..., outputs).

    >>> layer = nn.Linear(32, 16)
    >>> texts = torch.randn(8, 32)
    >>> bool((Int8Linear(layer)(texts) - layer(texts)).abs().max() < 0.1)
    True
    """

    scales: Tensor

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        rounded, scales = map(torch.from_numpy, round_rows(layer.weight.detach().float().numpy()))
        self.weight = nn.Parameter(rounded.t().contiguous(), requires_grad=False)  # shape (inputs, outputs)
        self.bias = None if layer.bias is None else nn.Parameter(layer.bias.detach().float(), requires_grad=False)
        self.register_buffer("scales", scales, persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Quantise the inputs per token, multiply in int8, and rescale to fp32."""
        rows = values.reshape(-1, values.shape[-1])
        scales = rows.abs().amax(1, keepdim=True).clamp_min_(INT8_TINY).div_(INT8_LARGEST)  # one per token
        rounded = (rows * scales.reciprocal()).round_().to(torch.int8)
        found = torch._int_mm(rounded, self.weight).float().mul_(scales)  # noqa: SLF001
        found = found.mul_(self.scales) if self.bias is None else torch.addcmul(self.bias, found, self.scales)
        return found.view(*values.shape[:-1], -1)


def in_int8(model: Any) -> Any:
    """Replace the linear layers of an encoder by int8 layers, for inference; all other layers stay in fp32."""
    if model.device.type != "cpu":
        raise ConfigError("device-unavailable", "int8 is for CPUs only", fix="use --device cpu, or --dtype bf16")
    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if isinstance(layer, nn.Linear):
                setattr(module, name, Int8Linear(layer))
    return model


def precision_of(model: Any) -> str:
    """Return the precision that a model computes in, e.g. "int8", for result metadata."""
    is_int8 = any(isinstance(module, Int8Linear) for module in model.modules())
    return "int8" if is_int8 else str(model.dtype).removeprefix("torch.")


class Collective:
    """An opened collective model: the document reader, the heads, and the name encoder (None if the model does not link).

    The heads are small and run on the CPU; the reader returns its token vectors there too.
    """

    def __init__(
        self,
        reader: TorchDocumentReader,
        heads: Heads,
        settings: CollectiveSettings,
        names: Encoder | None = None,
        digest: str = "",
    ) -> None:
        self.reader, self.heads, self.settings, self.names, self.digest = reader, heads, settings, names, digest
        self.name = ""

    @classmethod
    def open(cls, folder: Path | str, precision: ReaderPrecision = "auto", *, device: str = "auto") -> Collective:
        """Open the model of a folder; with `int8`, only the document encoder is quantised."""
        folder = Path(folder)
        settings = read_collective_settings(folder)
        other: Precision = "fp32" if precision == "int8" else precision
        model, tokenizer = open_body(folder, other, device=device), Tokenizer.open(folder)
        model = in_int8(model) if precision == "int8" else model
        require_vocabulary(tokenizer, model.config.vocab_size)
        require_windows(settings, max_length(model), tokenizer, folder)
        digest = folder_digest(folder)
        reader = TorchDocumentReader(
            model, tokenizer, length=settings.window, overlap=settings.overlap, key=f"{digest} {precision_of(model)}"
        )
        heads = _open_heads(folder / HEADS, reader.width, settings)
        names = None
        if settings.links:
            names = Encoder.open(folder / NAMES, precision=other, device=device, name=f"{folder.name}/{NAMES}")
        found = cls(reader, heads, settings, names, digest)
        found.name = folder.name
        return found

    @property
    def config(self) -> dict[str, Any]:
        """All properties of the model that its answers depend on, for result metadata."""
        sizes = [sum(each.numel() for each in part.parameters()) for part in (self.reader.model, self.heads)]
        sizes += [self.names.config["parameters"]] if self.names is not None and "parameters" in self.names.config else []
        precision = precision_of(self.reader.model)
        about = {"model": self.name, "digest": self.digest, "parameters": sum(sizes), "precision": precision}
        return about | self.settings.model_dump()

    def mention_vectors(self, documents: Sequence[Document]) -> tuple[Vectors, list[tuple[int, int]]]:
        """Return the vectors of all mentions that contain a token, and the document and mention index of each vector."""
        found: list[Vectors] = []
        owners: list[tuple[int, int]] = []
        numbers = [number for number, doc in enumerate(documents) if doc.mentions]
        for number, read in zip(numbers, self.reader.read(documents[number] for number in numbers), strict=True):
            mentions = documents[number].mentions
            spans = {at: span for at, mention in enumerate(mentions) if (span := read.tokens.span(mention.start, mention.end))}
            found.append(self._vectors(read.states, list(spans.values())))
            owners += [(number, at) for at in spans]
        return np.concatenate([np.zeros((0, self.heads.dim), dtype=np.float32), *found]), owners

    @torch.inference_mode()
    def span_chances(self, states: torch.Tensor, spans: Rows) -> Vectors:
        """Return the probability of each span of a text for each label. *Shape:* spans (spans, 2) -> (spans, labels)."""
        firsts, lasts = torch.from_numpy(spans).unbind(1)
        return np.asarray(require_finite(self.heads.span_scores(states, firsts, lasts)).sigmoid().numpy())

    @torch.inference_mode()
    def tag_chances(self, states: torch.Tensor, words: Rows) -> Vectors:
        """Return the probability of each tag, for words given by their first tokens. *Shape:* (words,) -> (words, 3)."""
        return np.asarray(require_finite(self.heads.tag_scores(states[torch.from_numpy(words)])).softmax(1).numpy())

    @torch.inference_mode()
    def _vectors(self, states: torch.Tensor, spans: list[tuple[int, int]]) -> Vectors:
        """Return span vectors, normalised like name embeddings. *Shape:* states (tokens, width) -> (spans, dim)."""
        firsts, lasts = torch.tensor(spans, dtype=torch.long).reshape(-1, 2).unbind(1)
        found = require_finite(self.heads.vectors(states, firsts, lasts))
        found = found if self.names is None else comparable(found, self.names.settings)
        return np.asarray(found.numpy(), dtype=np.float32)


def open_shared(reference: ModelReference, precision: ReaderPrecision, device: str, context: OpenContext) -> Collective:
    """Open a model once per pipeline, so that its detector and its linker encode each document only once."""
    folder = reference.folder(context)
    key = ("collective", str(folder.resolve()), precision, device)
    return context.open_once(key, lambda: Collective.open(folder, precision, device=device))


def heads_bytes(heads: Heads) -> bytes:
    """Serialise the heads for `heads.safetensors`."""
    return save({name: value.contiguous() for name, value in heads.state_dict().items()})


def _open_heads(path: Path, width: int, settings: CollectiveSettings) -> Heads:
    with torch.device("meta"):  # allocates no memory, because the sizes in the settings are untrusted
        heads = Heads.of(settings, width)
    try:
        heads.load_state_dict(read_tensors(path), assign=True)
    except (RuntimeError, KeyError, ValueError) as e:
        raise heads_mismatch(path) from e
    for values in heads.parameters():
        require_finite(values, str(path))
    return heads.float().eval().requires_grad_(False)
