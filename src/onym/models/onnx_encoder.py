"""An encoder that ONNX Runtime computes on the CPU, in fp32, without torch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from onym.errors import InputError, LimitError, missing_extra
from onym.models.encoder import Rows, TextEncoder, Vectors, about_model, require_vocabulary
from onym.models.settings import EncoderSettings, pool, read_settings
from onym.models.shape import EncoderShape, read_encoder_shape
from onym.models.tensors import Arrays, Floats, has_int8, parameters_of, read_arrays, require_finite
from onym.models.tokens import Tokenizer
from onym.store.models import require_safe

_SHORT = np.float32(1e-12)  # what a vector is divided by at least
_MAX_CELLS = 1 << 25  # of the attention to one text, each of 4 bytes, in some copies
_CELLS = 1 << 24  # of that to texts that are read at once
_FAR = np.float32(-1e9)  # what is added to the attention to padding


class OnnxEncoder(TextEncoder):
    """An encoder of BERT's or RoBERTa's kind over a session of ONNX Runtime."""

    def __init__(
        self,
        session: Any,
        shape: EncoderShape,
        tokenizer: Tokenizer,
        settings: EncoderSettings,
        *,
        about: dict[str, Any],
        precision: str,
    ) -> None:
        require_vocabulary(tokenizer, shape.vocab_size)
        settings = settings.update(length=min(settings.length, shape.max_length))
        self._heads = shape.num_attention_heads
        if self._heads * settings.length**2 > _MAX_CELLS:
            what = f"the attention of {self._heads:,} heads over {settings.length:,} tokens takes too much memory"
            raise LimitError("limit-model", what, fix="set a smaller length in encoder.json, or install onym[dense]")
        super().__init__(tokenizer, settings, shape.pad_token_id, about)
        self.width, self.precision = shape.hidden_size, precision
        self._session, self._first = session, shape.first_position

    @classmethod
    def open(cls, folder: Path | str, settings: EncoderSettings | None = None, *, name: str = "") -> OnnxEncoder:
        """Open the encoder of a folder; where no settings are given, the folder's own count."""
        folder = Path(folder)
        require_safe(folder)
        shape, arrays = read_encoder_shape(folder), read_arrays(folder)
        precision = "int8" if has_int8(arrays) else "float32"
        about = about_model(folder, name, parameters_of(arrays))
        session, tokenizer = _session(shape, arrays, folder), Tokenizer.open(folder)
        return cls(session, shape, tokenizer, settings or read_settings(folder), about=about, precision=precision)

    def _vectors(self, ids: Rows, mask: Rows) -> Vectors:
        at_once = max(1, _CELLS // max(1, self._heads * ids.shape[1] ** 2))
        parts = (slice(start, start + at_once) for start in range(0, len(ids), at_once))
        return np.concatenate([self._compute(ids[part], mask[part]) for part in parts])

    def _compute(self, ids: Rows, mask: Rows) -> Vectors:
        attention = np.where(mask[:, None, None, :] > 0, np.float32(0), _FAR)
        inputs = {"ids": ids, "positions": self._positions(mask), "attention": attention}
        try:
            (hidden,) = self._session.run(None, inputs)
        except Exception as e:  # its message may say what was read
            raise InputError("model-malformed", "ONNX Runtime cannot compute the model", fix="fetch it again") from e
        with np.errstate(all="ignore"):  # a stranger's weights may be any
            return require_finite(self._comparable(pool(hidden, mask, self.settings.pooling).astype(np.float32)))

    def _positions(self, mask: Rows) -> Rows:
        """Return the position of each token; with RoBERTa, that of padding is its id."""
        positions = np.broadcast_to(np.arange(self._first, self._first + mask.shape[1]), mask.shape)
        return np.where(mask > 0, positions, self._first - 1) if self._first else np.ascontiguousarray(positions)

    def _comparable(self, vectors: Floats) -> Floats:
        """Return vectors so that their product is their similarity. *Shape:* (texts, width) -> the same."""
        if self.settings.similarity == "dot":
            return vectors
        lengths: Floats = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _SHORT)
        return vectors / lengths


def _session(shape: EncoderShape, arrays: Arrays, folder: Path) -> Any:
    """Return a session over the graph of an encoder. It writes nothing, and waits without turning."""
    try:
        import onnxruntime

        from onym.models.onnx_graph import encoder_graph
    except ImportError as e:
        raise missing_extra("an encoder without torch", "onnx") from e
    graph = encoder_graph(shape, arrays)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _threads()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # more of it opens and runs slower
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in graph.weights.values()]
        options.add_external_initializers(list(graph.weights), values)
        return onnxruntime.InferenceSession(graph.model, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # of sizes that do not fit ONNX Runtime raises whatever its parts raise
        what = "the model cannot be opened: its configuration or its weights are not those of an encoder"
        raise InputError("model-malformed", what, where=str(folder), fix="fetch it again") from e


def _threads() -> int:
    """Return in how many threads to compute: as many as OpenMP would."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else os.cpu_count() or 1
