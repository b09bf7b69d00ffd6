"""An encoder's folder with its weights in int8: a quarter of the bytes, for ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

from onym.encoders.onnx.shape import read_encoder_shape
from onym.encoders.tensors import quantized, read_arrays
from onym.errors import missing_extra
from onym.store.model_files import model_files
from onym.store.models import WEIGHTS, require_safe, weight_files
from onym.store.output import whole_folder


def write_quantized(source: Path, dest: Path) -> None:
    """Write an encoder as another folder, which is the same but for the precision of its matrices.

    One that ONNX Runtime cannot compute is refused first.
    """
    try:
        from safetensors.numpy import save
    except ImportError as e:
        raise missing_extra("an encoder in int8", "onnx") from e
    require_safe(source)
    read_encoder_shape(source)
    weights = save(quantized(read_arrays(source)))
    left_out = set(weight_files(source))
    with whole_folder(dest) as folder:
        folder.write(WEIGHTS, weights)
        for path in model_files(source):
            if path not in left_out:
                folder.write(path.relative_to(source).as_posix(), path.read_bytes())
