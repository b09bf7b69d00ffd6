"""A model that reads a document once, to find mentions in it, to link them, or both: a folder with two encoders and heads.

config.json, model.safetensors, tokenizer.json    the encoder of documents
heads.safetensors, collective.json                what stands on it, and how it is used
names/                                            the encoder of names; a model that finds mentions alone has none
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from safetensors.torch import save
from torch import Tensor, nn

from onym.config import Strict
from onym.errors import ConfigError, InputError
from onym.models.device import Precision
from onym.models.documents import DocumentReader
from onym.models.encoder import Vectors, require_vocabulary
from onym.models.tensors import INT8_LARGEST, INT8_TINY, require_finite, round_rows
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import Encoder, comparable, max_length, open_body
from onym.models.torch_loading import read_tensors
from onym.parts import ModelReference, OpenContext, ReaderPrecision
from onym.store.models import FolderSettings, folder_digest, require_safe
from onym.types import Document

Represent = Literal["ends", "mean"]
Detect = Literal["none", "spans", "tags"]
OUTSIDE, BEGIN, INSIDE = range(3)
_RARE = -5.0  # the logit of a span that is a mention: about one in 150 is


class Heads(nn.Module):
    """The layers of one model; those that it does not use have no weights. `width` is that of tokens, `dim` of names.

    Spans have a score for each of so many `labels`, through a layer of `hidden` units where that is not 0.
    """

    def __init__(self, width: int, dim: int, represent: Represent, detect: Detect, *, labels: int = 1, hidden: int = 0) -> None:
        super().__init__()
        self.represent, self.detect, self.dim = represent, detect, dim
        if represent == "ends":
            self.ends = nn.Linear(2 * width, dim)
        elif width != dim:
            self.mean = nn.Linear(width, dim)
        if detect == "spans":
            self.span = nn.Linear(width, 3 * (hidden or labels))  # at the start, at the end, inside; the bias is that of all
            if hidden:
                self.label = nn.Linear(hidden, labels)
        elif detect == "tags":
            self.tag = nn.Linear(width, 3)
        self._begin(width, dim)

    @torch.no_grad()
    def _begin(self, width: int, dim: int) -> None:
        """Begin with the mean of both ends where possible, as an encoder of names would take; and with few mentions."""
        if hasattr(self, "label"):
            self.label.bias.fill_(_RARE)
        if self.represent == "ends" and width == dim:
            half = torch.eye(width) / 2
            self.ends.weight.copy_(torch.cat([half, half], 1))
            self.ends.bias.zero_()

    def vectors(self, states: Tensor, firsts: Tensor, lasts: Tensor) -> Tensor:
        """Return the vectors of spans of one text, each from its first token to before its last.

        *Shape:* states (tokens, width), firsts and lasts (spans,) -> (spans, dim).
        """
        if self.represent == "ends":
            return _apply(self.ends, torch.cat([states[firsts], states[lasts - 1]], 1))
        sums = _cumulate(states)
        means = (sums[lasts] - sums[firsts]) / (lasts - firsts).unsqueeze(1)
        return _apply(self.mean, means) if hasattr(self, "mean") else means

    def span_scores(self, states: Tensor, firsts: Tensor, lasts: Tensor) -> Tensor:
        """Return how likely each span is a mention of each label, as logits. *Shape:* as of `vectors` -> (spans, labels)."""
        start, end, inside = _apply(self.span, states).chunk(3, 1)  # (tokens, labels), or (tokens, hidden)
        sums = _cumulate(inside)
        within = sums[lasts] - sums[firsts]
        if not hasattr(self, "label"):
            return start[firsts] + end[lasts - 1] + within
        means = within / (lasts - firsts).unsqueeze(1)
        return _apply(self.label, nn.functional.gelu(start[firsts] + end[lasts - 1] + means))

    def tag_scores(self, states: Tensor) -> Tensor:
        """Return the scores of each token's tags, as logits. *Shape:* (tokens, width) -> (tokens, 3)."""
        return _apply(self.tag, states)


def _apply(layer: nn.Linear, states: Tensor) -> Tensor:
    """Return what a layer makes of vectors, in their precision, whatever its own."""
    return nn.functional.linear(states, layer.weight.to(states.dtype), layer.bias.to(states.dtype))


def _cumulate(values: Tensor) -> Tensor:
    """Return the sums of all rows before each row, and of all rows. *Shape:* (rows, width) -> (rows + 1, width)."""
    return torch.cat([values.new_zeros(1, values.shape[1]), values.cumsum(0)])


class Int8Linear(nn.Module):
    """A linear layer in int8. *Shape:* (..., inputs) -> (..., outputs), fp32.

    >>> layer = nn.Linear(32, 16)
    >>> texts = torch.randn(8, 32)
    >>> bool((Int8Linear(layer)(texts) - layer(texts)).abs().max() < 0.1)
    True
    """

    scales: Tensor

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        rounded, scales = map(torch.from_numpy, round_rows(layer.weight.detach().float().numpy()))
        self.weight = nn.Parameter(rounded.t().contiguous(), requires_grad=False)  # (inputs, outputs)
        self.bias = None if layer.bias is None else nn.Parameter(layer.bias.detach().float(), requires_grad=False)
        self.register_buffer("scales", scales, persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Return what the layer makes of values."""
        rows = values.reshape(-1, values.shape[-1])
        scales = rows.abs().amax(1, keepdim=True).clamp_min_(INT8_TINY).div_(INT8_LARGEST)  # of each token
        rounded = (rows * scales.reciprocal()).round_().to(torch.int8)
        found = torch._int_mm(rounded, self.weight).float().mul_(scales)  # noqa: SLF001
        found = found.mul_(self.scales) if self.bias is None else torch.addcmul(self.bias, found, self.scales)
        return found.view(*values.shape[:-1], -1)


def in_int8(model: Any) -> Any:
    """Turn the linear layers of an encoder that is open for inference into those of int8; the rest stays in fp32."""
    if model.device.type != "cpu":
        raise ConfigError("device-unavailable", "int8 is for CPUs", fix="use --device cpu, or bf16")
    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if isinstance(layer, nn.Linear):
                setattr(module, name, Int8Linear(layer))
    return model


def precision_of(model: Any) -> str:
    """Return the precision that a model computes in, to be told beside results."""
    is_int8 = any(isinstance(module, Int8Linear) for module in model.modules())
    return "int8" if is_int8 else str(model.dtype).removeprefix("torch.")


HEADS, NAMES = "heads.safetensors", "names"


class Label(Strict):
    """What a span may be found to be: a mention of a type, as a corpus annotates that; without a corpus, as all of them do."""

    type: str = Field(default="", max_length=100)
    corpus: str = Field(default="", max_length=100)
    threshold: float = Field(default=0.5, ge=0, le=1)


class CollectiveSettings(FolderSettings):
    """How a model reads documents and what it is for. `dim` is the width of the embeddings of names.

    A mention has at most `max_span_tokens` tokens, and a probability of at least `threshold`, which was tuned on dev. With
    `labels`, spans are found by type, each with a threshold of its own; `hidden` is the width of the layer before them.

    >>> CollectiveSettings(dim=8).detect
    'none'
    """

    FILE: ClassVar[str] = "collective.json"

    window: int = Field(default=256, ge=16, le=100_000)
    overlap: int = Field(default=64, ge=0, le=50_000)
    represent: Represent = "ends"
    detect: Detect = "none"
    max_span_tokens: int = Field(default=20, ge=1, le=200)
    threshold: float = Field(default=0.5, ge=0, le=1)
    links: bool = True
    dim: int = Field(default=0, ge=0, le=100_000)
    hidden: int = Field(default=0, ge=0, le=10_000)
    labels: tuple[Label, ...] = Field(default=(), max_length=1_000)

    def heads(self, width: int) -> Heads:
        """Return the layers over tokens of a width, not yet trained."""
        return Heads(width, self.dim or width, self.represent, self.detect, labels=max(1, len(self.labels)), hidden=self.hidden)


class Collective:
    """A model that is open: the reader of documents, the heads, and the encoder of names where there is one.

    The heads are small and stay on the CPU, where the reader's vectors arrive.
    """

    def __init__(
        self, reader: DocumentReader, heads: Heads, settings: CollectiveSettings, names: Encoder | None = None, digest: str = ""
    ) -> None:
        self.reader, self.heads, self.settings, self.names, self.digest = reader, heads, settings, names, digest
        self.name = ""

    @classmethod
    def open(cls, folder: Path | str, precision: ReaderPrecision = "auto", *, device: str = "auto") -> Collective:
        """Open the model of a folder; `int8` is that of the encoder of documents alone."""
        folder = Path(folder)
        require_safe(folder)
        if not (folder / CollectiveSettings.FILE).is_file():
            fix = "name a folder that `onym train collective` wrote"
            raise ConfigError("model-family", "the model reads no documents", where=str(folder), fix=fix)
        settings = CollectiveSettings.read(folder)
        other: Precision = "fp32" if precision == "int8" else precision
        model, tokenizer = open_body(folder, other, device=device), Tokenizer.open(folder)
        model = in_int8(model) if precision == "int8" else model
        require_vocabulary(tokenizer, model.config.vocab_size)
        _require_windows(settings, max_length(model), tokenizer, folder)
        digest = folder_digest(folder)
        reader = DocumentReader(
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
        """What its answers depend on, to be told beside results."""
        sizes = [sum(each.numel() for each in part.parameters()) for part in (self.reader.model, self.heads)]
        sizes += [self.names.config["parameters"]] if self.names is not None and "parameters" in self.names.config else []
        precision = precision_of(self.reader.model)
        about = {"model": self.name, "digest": self.digest, "parameters": sum(sizes), "precision": precision}
        return about | self.settings.model_dump()

    def mention_vectors(self, documents: Sequence[Document]) -> tuple[Vectors, list[tuple[int, int]]]:
        """Return the vectors of all mentions that have a token, and of each its document's number and its own within it."""
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
    def _vectors(self, states: torch.Tensor, spans: list[tuple[int, int]]) -> Vectors:
        """Return the vectors of spans of a text, compared as names are. *Shape:* states (tokens, width) -> (spans, dim)."""
        firsts, lasts = torch.tensor(spans, dtype=torch.long).reshape(-1, 2).unbind(1)
        found = require_finite(self.heads.vectors(states, firsts, lasts))
        found = found if self.names is None else comparable(found, self.names.settings)
        return np.asarray(found.numpy(), dtype=np.float32)


def open_shared(reference: ModelReference, precision: ReaderPrecision, device: str, context: OpenContext) -> Collective:
    """Return a model, opened once for all parts of a pipeline: a detector and a linker then share one reading of a document."""
    folder = reference.folder(context)
    key = ("collective", str(folder.resolve()), precision, device)
    return context.open_once(key, lambda: Collective.open(folder, precision, device=device))


def heads_bytes(heads: Heads) -> bytes:
    """Return the content of the heads' file."""
    return save({name: value.contiguous() for name, value in heads.state_dict().items()})


def _open_heads(path: Path, width: int, settings: CollectiveSettings) -> Heads:
    with torch.device("meta"):  # room is made for what the file holds, not for what the settings say
        heads = settings.heads(width)
    try:
        heads.load_state_dict(read_tensors(path), assign=True)
    except (RuntimeError, KeyError, ValueError) as e:
        what = "the layers over the document's tokens are those of another model"
        raise InputError("model-malformed", what, where=str(path), fix="fetch the model again") from e
    for values in heads.parameters():
        require_finite(values, str(path))
    return heads.float().eval().requires_grad_(False)


def _require_windows(settings: CollectiveSettings, positions: int, tokenizer: Tokenizer, folder: Path) -> None:
    """Refuse windows that are longer than the model reads, or that overlap so much that none goes on."""
    around = len(tokenizer.before) + len(tokenizer.after)
    if settings.window > positions or settings.overlap >= settings.window - around:
        what = "the windows are longer than the model can read, or overlap altogether"
        raise InputError("model-malformed", what, where=str(folder / CollectiveSettings.FILE), fix="fetch the model again")
