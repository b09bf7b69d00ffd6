"""Open and run ONNX graphs on ONNX Runtime, on the CPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from onym.errors import InputError, LimitError
from onym.models.tensors import Floats

if TYPE_CHECKING:
    from onym.models.onnx_graph import Graph

_MAX_CELLS = 1 << 25  # maximum attention matrix elements (4 bytes each) for one text


def open_session(graph: Graph, folder: Path) -> Any:
    """Create an ONNX Runtime session for the graph of a model in `folder`."""
    import onnxruntime

    options = session_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # higher levels load and run slower
    try:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in graph.weights.values()]
        options.add_external_initializers(list(graph.weights), values)
        return onnxruntime.InferenceSession(graph.model, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # ONNX Runtime raises various exceptions for inconsistent sizes
        what = "the model cannot be opened: its configuration or weights are not those of an encoder"
        raise InputError("model-malformed", what, where=str(folder), fix="download the model again") from e


def run_session(session: Any, inputs: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """Return the output of a session that has one."""
    try:
        found: Floats = session.run(None, dict(inputs))[0]
    except Exception as e:  # do not pass on the message, which may quote the input
        raise InputError("model-malformed", "ONNX Runtime cannot run the model", fix="download it again") from e
    return found


def session_options() -> Any:
    """Return options of ONNX Runtime: logging off, and worker threads that do not spin."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _threads()
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def require_attention(heads: int, length: int, fix: str) -> None:
    """Raise LimitError if the attention matrices of a text of `length` tokens need too much memory."""
    if heads * length**2 > _MAX_CELLS:
        what = f"attention with {heads:,} heads over {length:,} tokens needs too much memory"
        raise LimitError("limit-model", what, fix=fix)


def _threads() -> int:
    """Return the number of threads: OMP_NUM_THREADS if set, else the number of CPUs."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else os.cpu_count() or 1
