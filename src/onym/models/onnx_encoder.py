"""An encoder that runs on ONNX Runtime, on the CPU and in fp32, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from onym.errors import missing_extra
from onym.models.encoder import Rows, TextEncoder, Vectors, about_model, require_vocabulary
from onym.models.onnx_session import open_session, require_attention, run_session
from onym.models.settings import EncoderSettings, pool, read_settings
from onym.models.shape import EncoderShape, read_encoder_shape
from onym.models.tensors import Arrays, Floats, has_int8, parameters_of, read_arrays, require_finite
from onym.models.tokens import Tokenizer
from onym.store.models import require_safe

_SHORT = np.float32(1e-12)  # minimum norm when normalising, to avoid division by zero
_CELLS = 1 << 24  # maximum attention matrix elements for all texts of a batch
_FAR = np.float32(-1e9)  # added to the attention scores of padding tokens, so that they get no attention


class OnnxEncoder(TextEncoder):
    """A BERT-like or RoBERTa-like encoder on an ONNX Runtime session."""

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
        require_attention(self._heads, settings.length, "set a smaller length in encoder.json, or install onym[models]")
        super().__init__(tokenizer, settings, shape.pad_token_id, about)
        self.width, self.precision = shape.hidden_size, precision
        self._session, self._first = session, shape.first_position

    @classmethod
    def open(cls, folder: Path | str, settings: EncoderSettings | None = None, *, name: str = "") -> OnnxEncoder:
        """Open the encoder in a folder; `settings` default to the settings stored in the folder."""
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
        hidden = run_session(self._session, inputs)
        with np.errstate(all="ignore"):  # overflow is checked by require_finite
            return require_finite(self._comparable(pool(hidden, mask, self.settings.pooling).astype(np.float32)))

    def _positions(self, mask: Rows) -> Rows:
        """Return the position id of each token; RoBERTa uses the padding token id as the position of padding."""
        positions = np.broadcast_to(np.arange(self._first, self._first + mask.shape[1]), mask.shape)
        return np.where(mask > 0, positions, self._first - 1) if self._first else np.ascontiguousarray(positions)

    def _comparable(self, vectors: Floats) -> Floats:
        """Normalise vectors if the similarity is cosine, so that dot products are similarities."""
        if self.settings.similarity == "dot":
            return vectors
        lengths: Floats = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _SHORT)
        return vectors / lengths


def _session(shape: EncoderShape, arrays: Arrays, folder: Path) -> Any:
    """Create an ONNX Runtime session for an encoder."""
    try:
        import onnxruntime  # noqa: F401 - both packages are needed

        from onym.models.onnx_graph import encoder_graph
    except ImportError as e:
        raise missing_extra("an encoder without torch", "onnx") from e
    return open_session(encoder_graph(shape, arrays), folder)
