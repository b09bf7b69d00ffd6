"""A model that reads a document once, to find mentions in it, to link them, or both: a folder with two encoders and heads.

config.json, model.safetensors, tokenizer.json    the encoder of documents
heads.safetensors, collective.json                what stands on it, and how it is used
names/                                            the encoder of names; a model that finds mentions alone has none
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field
from safetensors.torch import save

from onym.encoders.device import Precision
from onym.encoders.documents import DocumentReader
from onym.encoders.encoder import Encoder, max_length, open_body
from onym.encoders.finite import require_finite
from onym.encoders.heads import Detect, Heads, Represent
from onym.encoders.int8 import in_int8, precision_of
from onym.encoders.text_encoder import Vectors, require_vocabulary
from onym.encoders.vectors import comparable
from onym.encoders.weights import read_tensors
from onym.errors import ConfigError, InputError
from onym.store.config import Strict
from onym.store.model_settings import FolderSettings
from onym.store.models import folder_digest, require_safe
from onym.store.parts import ModelReference, OpenContext, ReaderPrecision
from onym.text.tokens import Tokenizer
from onym.types import Document

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
    return context.shared(key, lambda: Collective.open(folder, precision, device=device))


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
