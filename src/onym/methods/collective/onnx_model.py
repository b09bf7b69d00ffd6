"""Collective models that detect mentions, on ONNX Runtime: the same tags and spans as on torch, without torch."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # noqa: F401 - so that this module cannot be imported without it

from onym.errors import ConfigError
from onym.methods.collective.documents import DocumentReader
from onym.methods.collective.onnx_graph import FIRSTS, LASTS, STATES, WORDS, document_graph, heads_graph, product_graph
from onym.methods.collective.settings import (
    HEADS,
    CollectiveSettings,
    heads_mismatch,
    read_collective_settings,
    require_windows,
)
from onym.models.encoder import Rows, Vectors, require_vocabulary
from onym.models.onnx_graph import IDS, POSITIONS
from onym.models.onnx_session import open_session, require_attention, run_session
from onym.models.shape import EncoderShape, read_encoder_shape
from onym.models.tensors import Arrays, Floats, has_int8, parameters_of, read_arrays, read_file, require_finite
from onym.models.tokens import Placed, Tokenizer
from onym.parts import ReaderPrecision
from onym.store.models import folder_digest


class OnnxDocumentReader(DocumentReader):
    """Encodes documents on ONNX Runtime, window by window, so that no token is padding."""

    def __init__(self, session: Any, shape: EncoderShape, tokenizer: Tokenizer, settings: CollectiveSettings, key: str) -> None:
        super().__init__(tokenizer, length=settings.window, overlap=settings.overlap, key=key)
        self._session, self._shape = session, shape

    @property
    def width(self) -> int:
        """The dimension of the token vectors."""
        return self._shape.hidden_size

    def _encode(self, texts: list[Placed]) -> list[Floats]:
        return [self._encode_text(tokens) for tokens in texts]

    def _encode_text(self, tokens: Placed) -> Floats:
        states = np.zeros((len(tokens), self.width), dtype=np.float32)
        before, after = self.tokenizer.before, self.tokenizer.after
        for window in self._windows(len(tokens)):
            ids = np.array([*before, *tokens.ids[window.start : window.end].tolist(), *after], dtype=np.int64)
            positions = np.arange(self._shape.first_position, self._shape.first_position + len(ids))
            hidden = require_finite(run_session(self._session, {IDS: ids, POSITIONS: positions}))
            shift = len(before) - window.start
            states[window.first : window.last] = hidden[window.first + shift : window.last + shift]
        return states


class OnnxCollective:
    """A collective model that detects mentions, on ONNX Runtime. It cannot link: linkers need `Collective`."""

    def __init__(self, reader: OnnxDocumentReader, heads: Any, settings: CollectiveSettings, about: dict[str, Any]) -> None:
        self.reader, self.settings, self._heads, self._about = reader, settings, heads, about
        self.name = str(about["model"])

    @classmethod
    def open(cls, folder: Path | str, precision: ReaderPrecision = "auto") -> OnnxCollective:
        """Open the model of a folder; `auto` is int8 if its weights are int8, else fp32."""
        folder = Path(folder)
        settings, shape, arrays = read_collective_settings(folder), read_encoder_shape(folder), read_arrays(folder)
        _require_supported(precision)
        is_int8 = precision == "int8" or (precision == "auto" and has_int8(arrays))
        tokenizer = Tokenizer.open(folder)
        require_vocabulary(tokenizer, shape.vocab_size)
        require_windows(settings, shape.max_length, tokenizer, folder)
        require_attention(shape.num_attention_heads, settings.window, "use a smaller window, or install onym[models]")
        heads = _read_heads(folder / HEADS, settings, shape.hidden_size)
        graph = document_graph(shape, arrays, is_int8=is_int8, is_exact=not is_int8 or multiplies_exactly())
        about = {
            "model": folder.name,
            "digest": folder_digest(folder),
            "parameters": parameters_of(arrays) + parameters_of(heads),
            "precision": "int8" if is_int8 else "float32",
            "engine": "onnx",
        }
        key = f"{about['digest']} onnx {about['precision']}"
        reader = OnnxDocumentReader(open_session(graph, folder), shape, tokenizer, settings, key)
        session = None if settings.detect == "none" else open_session(heads_graph(settings, heads, reader.width), folder)
        return cls(reader, session, settings, about)

    @property
    def config(self) -> dict[str, Any]:
        """All properties of the model that its answers depend on, for result metadata."""
        return self._about | self.settings.model_dump()

    def span_chances(self, states: Floats, spans: Rows) -> Vectors:
        """Return the probability of each span of a text for each label. *Shape:* spans (spans, 2) -> (spans, labels)."""
        firsts, lasts = (np.ascontiguousarray(each) for each in spans.T)
        logits = require_finite(run_session(self._heads, {STATES: states, FIRSTS: firsts, LASTS: lasts}))
        with np.errstate(over="ignore"):  # exp overflows to infinity, and 1 / infinity is the right probability
            return np.asarray(1 / (1 + np.exp(-logits)), dtype=np.float32)

    def tag_chances(self, states: Floats, words: Rows) -> Vectors:
        """Return the probability of each tag, for words given by their first tokens. *Shape:* (words,) -> (words, 3)."""
        logits = require_finite(run_session(self._heads, {STATES: states, WORDS: words}))
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float32)


@cache
def multiplies_exactly() -> bool:
    """Return whether products of unsigned and signed bytes are exact: x86 CPUs without VNNI add pairs of them in 16 bits."""
    session = open_session(product_graph(np.full((16, 64), 127, dtype=np.int8)), Path())
    return bool((run_session(session, {STATES: np.ones((4, 64), dtype=np.float32)}) == 64 * 127).all())


def _require_supported(precision: ReaderPrecision) -> None:
    if precision == "bf16":
        what = "ONNX Runtime computes a detector in fp32 or int8 only"
        raise ConfigError("config-invalid", what, fix="use --detector-dtype fp32 or int8, or --detector-engine torch")


def _read_heads(path: Path, settings: CollectiveSettings, width: int) -> Arrays:
    """Read the weights of the heads; reject those that do not have the sizes in the settings."""
    arrays = read_file(path)
    if {name: values.shape for name, values in arrays.items()} != _head_sizes(settings, width):
        raise heads_mismatch(path)
    for values in arrays.values():
        if values.dtype.kind != "f":
            raise heads_mismatch(path)
        require_finite(values, str(path))
    return arrays


def _head_sizes(settings: CollectiveSettings, width: int) -> dict[str, tuple[int, ...]]:
    """Return the sizes of all weights of the heads, also of those that represent mentions for a linker."""
    dim, labels = settings.dim or width, max(1, len(settings.labels))
    layers: dict[str, tuple[int, int]] = {}
    if settings.represent == "ends":
        layers["ends"] = (dim, 2 * width)
    elif width != dim:
        layers["mean"] = (dim, width)
    if settings.detect == "spans":
        layers["span"] = (3 * (settings.hidden or labels), width)
        layers |= {"label": (labels, settings.hidden)} if settings.hidden else {}
    elif settings.detect == "tags":
        layers["tag"] = (3, width)
    sizes: dict[str, tuple[int, ...]] = {}
    for name, size in layers.items():
        sizes |= {f"{name}.weight": size, f"{name}.bias": size[:1]}
    return sizes
