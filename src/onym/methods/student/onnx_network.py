"""The student's network on ONNX Runtime: the same computation as `NumpyNetwork`, as one graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import NodeProto, TensorProto, helper, numpy_helper

from onym.methods.student.network import EPSILON, Floats, Head, Student
from onym.models.onnx_session import session_options
from onym.text.fingerprints import Ints

_OPSET, _IR = 20, 10
_WORDS, _BITS, _SAME, _COUNTS, _LOGITS = "in-words", "in-bits", "in-same", "in-counts", "logits"


class OnnxNetwork:
    """The network of a student and a tag layer, on ONNX Runtime."""

    def __init__(self, student: Student, head: Head) -> None:
        model = _StudentGraphBuilder(student, head).model()
        self._session = onnxruntime.InferenceSession(model, session_options(), providers=["CPUExecutionProvider"])

    def logits(self, words: Floats, bits: npt.NDArray[np.uint8], same: Ints) -> Floats:
        """Return the logits of a document's tokens."""
        counts = np.bincount(same).astype(np.float32)[:, None]
        inputs = {_WORDS: words, _BITS: bits, _SAME: same[:, None].astype(np.int64), _COUNTS: counts}
        found: Floats = self._session.run(None, inputs)[0]
        return found


class _StudentGraphBuilder:
    """Collects the nodes of the graph in execution order, and its weights."""

    def __init__(self, student: Student, head: Head) -> None:
        self._student, self._head = student, head
        self._nodes: list[NodeProto] = []
        self._weights: dict[str, TensorProto] = {}

    def model(self) -> bytes:
        """Return the serialised model.

        *Shape:* words (tokens, width), bits (tokens, bits), same (tokens, 1), counts (distinct words, 1) -> (tokens, tags).
        """
        settings = self._student.settings
        bits = self._op("MatMul", self._op("Cast", _BITS, to=TensorProto.FLOAT), self._weight("bits"))
        values = self._normalise(self._op("Add", _WORDS, bits), "bits")
        for layer in range(settings.layers):
            if layer == settings.layers // 2:
                values = self._pool(values)
            new = self._maxout(self._linear(self._around(values), f"layer{layer}", f"layer{layer}-bias"))
            values = self._normalise(self._op("Add", values, new), f"layer{layer}")
        product = self._op("MatMul", values, self._constant("head", self._head[0]))
        self._nodes.append(helper.make_node("Add", [product, self._constant("head-bias", self._head[1])], [_LOGITS]))
        return self._serialise()

    def _around(self, values: str) -> str:
        """Add the values of the previous token, of the token and of the next one, side by side."""
        zeros = self._constant("zeros", np.zeros((1, self._student.settings.width), dtype=np.float32))
        before = self._op("Concat", zeros, self._slice(values, 0, -1), axis=0)
        after = self._op("Concat", self._slice(values, 1, np.iinfo(np.int64).max), zeros, axis=0)
        return self._op("Concat", before, values, after, axis=1)

    def _slice(self, values: str, start: int, end: int) -> str:
        limits = [self._constant(f"at{each}", np.array([each])) for each in (start, end)]
        return self._op("Slice", values, *limits, self._constant("at0", np.array([0])))

    def _pool(self, values: str) -> str:
        width = self._student.settings.width
        weight = self._student.weights["pool"]
        shape = self._op("Concat", self._op("Shape", _COUNTS, end=1), self._constant("width", np.array([width])), axis=0)
        zeros = self._op("ConstantOfShape", shape, value=numpy_helper.from_array(np.zeros(1, dtype=np.float32)))
        means = self._op("Div", self._op("ScatterND", zeros, _SAME, values, reduction="add"), _COUNTS)
        of_words = self._op("GatherND", self._op("MatMul", means, self._constant("pool-words", weight[:width])), _SAME)
        mean = self._op("ReduceMean", values, self._constant("at0", np.array([0])), keepdims=1)
        of_document = self._op("MatMul", mean, self._constant("pool-document", weight[width:]))
        added = self._op("Add", of_words, self._op("Add", of_document, self._weight("pool-bias")))
        return self._normalise(self._op("Add", values, added), "pool")

    def _linear(self, values: str, weight: str, bias: str) -> str:
        return self._op("Add", self._op("MatMul", values, self._weight(weight)), self._weight(bias))

    def _maxout(self, values: str) -> str:
        name = f"Split-{len(self._nodes)}"
        halves = [f"{name}-{half}" for half in range(2)]
        self._nodes.append(helper.make_node("Split", [values], halves, axis=1, num_outputs=2))
        return self._op("Max", *halves)

    def _normalise(self, values: str, name: str) -> str:
        squares = self._op("ReduceMean", self._op("Mul", values, values), self._constant("at1", np.array([1])), keepdims=1)
        epsilon = self._constant("epsilon", np.array([EPSILON], dtype=np.float32))
        root = self._op("Sqrt", self._op("Add", squares, epsilon))
        return self._op("Mul", self._op("Div", values, root), self._weight(f"{name}-gain"))

    def _weight(self, name: str) -> str:
        return self._constant(name, self._student.weights[name])

    def _constant(self, name: str, values: npt.NDArray[Any]) -> str:
        self._weights[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}-{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def _serialise(self) -> bytes:
        info, tokens, settings = helper.make_tensor_value_info, "tokens", self._student.settings
        inputs = [
            info(_WORDS, TensorProto.FLOAT, [tokens, settings.width]),
            info(_BITS, TensorProto.UINT8, [tokens, settings.bits]),
            info(_SAME, TensorProto.INT64, [tokens, 1]),
            info(_COUNTS, TensorProto.FLOAT, ["distinct", 1]),
        ]
        outputs = [info(_LOGITS, TensorProto.FLOAT, [tokens, self._head[0].shape[1]])]
        graph = helper.make_graph(self._nodes, "student", inputs, outputs, list(self._weights.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
        return bytes(model.SerializeToString())
