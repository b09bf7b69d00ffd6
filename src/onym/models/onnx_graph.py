"""Build the ONNX graph of BERT (Devlin et al. 2019, section 3) and of RoBERTa, which differs only in its position ids.

The graph maps token ids, position ids and an attention bias to a vector per token. Weights in int8 are multiplied in fp32:
quantising activations too would be twice as fast, but would change the vectors ten times as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper, numpy_helper

from onym.errors import InputError
from onym.models.shape import EncoderShape
from onym.models.tensors import Arrays, Floats, not_finite, require_finite, scales_of

IDS, POSITIONS, ATTENTION, HIDDEN = "ids", "positions", "attention", "hidden"
_PREFIXES = ("", "bert.", "roberta.")
FUSED = "com.microsoft"  # domain of operators that only ONNX Runtime has
_OPSETS, _IR = {"": 20, FUSED: 1}, 10
_MAX_SCALE = 1e30  # maximum scale of an int8 weight, so that scale * 127 is finite in fp32
_AXES = [0, 2, 1, 3]  # transposes (texts, tokens, heads, size) to (texts, heads, tokens, size)
Inputs = Mapping[str, tuple[int, Sequence[str | int]]]
"""Type and shape of the inputs of a graph, by name."""


class Graph(NamedTuple):
    """A serialised ONNX model, and its weights by name, which are passed to ONNX Runtime in memory."""

    model: bytes
    weights: Arrays


def encoder_graph(shape: EncoderShape, arrays: Arrays) -> Graph:
    """Build the graph of an encoder; raise InputError if a weight is missing or has the wrong size.

    *Shape:* ids and positions (texts, tokens), attention (texts, 1, 1, tokens) -> hidden (texts, tokens, width).
    """
    making, texts, tokens = EncoderBuilder(shape, arrays), "texts", "tokens"
    inputs: Inputs = {
        IDS: (TensorProto.INT64, [texts, tokens]),
        POSITIONS: (TensorProto.INT64, [texts, tokens]),
        ATTENTION: (TensorProto.FLOAT, [texts, 1, 1, tokens]),
    }
    return making.graph(inputs, making.layers(making.embed()), HIDDEN, [texts, tokens, shape.hidden_size])


class GraphBuilder:
    """Collects the nodes of a graph in execution order, and the weights they use. `arrays` are the tensors of the model."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays, self._prefix = arrays, ""
        self._weights: Arrays = {}
        self._nodes: list[NodeProto] = []
        self._constants: dict[str, TensorProto] = {}  # shapes and scales, which must be stored inside the model

    def graph(self, inputs: Inputs, values: str, output: str, size: Sequence[str | int]) -> Graph:
        """Return the graph that computes `values` and names them `output`; `size` is their shape."""
        self._nodes.append(helper.make_node("Identity", [values], [output]))
        domains = {node.domain for node in self._nodes}
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [helper.make_tensor_value_info(name, kind, sizes) for name, (kind, sizes) in inputs.items()],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, size)],
            [*self._constants.values(), *(_elsewhere(name, values) for name, values in self._weights.items())],
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items() if domain in domains]
        found = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
        return Graph(bytes(found.SerializeToString()), self._weights)

    def _array(self, name: str, size: tuple[int, ...]) -> Floats:
        with np.errstate(all="ignore"):
            return require_finite(self._raw(name, size, "f").astype(np.float32), name)

    def _raw(self, name: str, size: tuple[int, ...], kind: str) -> npt.NDArray[Any]:
        found = self._arrays.get(self._prefix + name)
        if found is None or found.shape != size or found.dtype.kind != kind:
            problem = "is missing" if found is None else f"is {found.dtype} of shape {found.shape}, expected shape {size}"
            raise InputError("model-malformed", f"the weight {name} {problem}", fix="download the model again")
        return found

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}-{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def _constant(self, name: str, values: npt.NDArray[Any]) -> str:
        self._constants[name] = numpy_helper.from_array(values, name)
        return name

    def _add_weight(self, name: str, values: npt.NDArray[Any]) -> str:
        self._weights[name] = values
        return name


class EncoderBuilder(GraphBuilder):
    """Builds the graph of an encoder, layer by layer."""

    def __init__(self, shape: EncoderShape, arrays: Arrays) -> None:
        super().__init__(arrays)
        self._shape = shape
        self._prefix = next((each for each in _PREFIXES if f"{each}embeddings.word_embeddings.weight" in arrays), "")

    def embed(self) -> str:
        """Add the embedding layer; return its output."""
        shape = self._shape
        tokens = self._rows_of("embeddings.word_embeddings.weight", shape.vocab_size, IDS)
        positions = self._rows_of("embeddings.position_embeddings.weight", shape.max_position_embeddings, POSITIONS)
        kinds = self._matrix("embeddings.token_type_embeddings.weight", (shape.type_vocab_size, shape.hidden_size))
        both = self._op("Add", self._op("Add", tokens, positions), self._add_weight("kind", np.ascontiguousarray(kinds[:, 0])))
        return self._normalise(both, "embeddings.LayerNorm")

    def layers(self, values: str) -> str:
        """Add all transformer layers; return the output of the last."""
        shape = self._shape
        for number in range(shape.num_hidden_layers):
            layer = f"encoder.layer.{number}"
            read = self._attention(values, f"{layer}.attention.self")
            read = self._linear(read, f"{layer}.attention.output.dense", shape.hidden_size, shape.hidden_size)
            values = self._normalise(self._op("Add", read, values), f"{layer}.attention.output.LayerNorm")
            inner = self._linear(values, f"{layer}.intermediate.dense", shape.hidden_size, shape.intermediate_size)
            inner = self._linear(self._op("Gelu", inner), f"{layer}.output.dense", shape.intermediate_size, shape.hidden_size)
            values = self._normalise(self._op("Add", inner, values), f"{layer}.output.LayerNorm")
        return values

    def _attention(self, values: str, name: str) -> str:
        """Add multi-head attention, softmax(QK'/sqrt(size))V (Vaswani et al. 2017, section 3.2)."""
        width, heads = self._shape.hidden_size, self._shape.num_attention_heads
        apart = self._constant("apart", np.array([0, 0, heads, width // heads]))
        together = self._constant("together", np.array([0, 0, width]))
        query, key, value = (
            self._op("Reshape", self._linear(values, f"{name}.{part}", width, width), apart)
            for part in ("query", "key", "value")
        )
        query, value = self._op("Transpose", query, perm=_AXES), self._op("Transpose", value, perm=_AXES)
        products = self._op("MatMul", query, self._op("Transpose", key, perm=[0, 2, 3, 1]))
        products = self._op("Mul", products, self._constant("scale", np.array([(width // heads) ** -0.5], dtype=np.float32)))
        shares = self._op("Softmax", self._op("Add", products, ATTENTION), axis=-1)
        return self._op("Reshape", self._op("Transpose", self._op("MatMul", shares, value), perm=_AXES), together)

    def _linear(self, values: str, name: str, inputs: int, outputs: int) -> str:
        matrix = self._matrix(f"{name}.weight", (outputs, inputs))
        product = self._op("MatMul", values, self._add_weight(f"{name}.weight", matrix))
        return self._op("Add", product, self._add_weight(f"{name}.bias", self._array(f"{name}.bias", (outputs,))))

    def _normalise(self, values: str, name: str) -> str:
        parts = (f"{name}.weight", f"{name}.bias")
        weights = [self._add_weight(part, self._array(part, (self._shape.hidden_size,))) for part in parts]
        return self._op("LayerNormalization", values, *weights, epsilon=self._shape.layer_norm_eps)

    def _rows_of(self, name: str, rows: int, ids: str) -> str:
        """Add a look-up of embedding rows; if the table is int8, only the selected rows are dequantised."""
        scales = scales_of(self._arrays, self._prefix + name)
        if scales is None:
            return self._op("Gather", self._add_weight(name, self._array(name, (rows, self._shape.hidden_size))), ids)
        table = self._add_weight(name, self._raw(name, (rows, self._shape.hidden_size), "i"))
        whole = self._op("Cast", self._op("Gather", table, ids), to=TensorProto.FLOAT)
        return self._op(
            "Mul", whole, self._op("Gather", self._add_weight(f"{name}_scale", bound_scales(scales, name)[:, None]), ids)
        )

    def _matrix(self, name: str, size: tuple[int, int]) -> Floats:
        """Return a weight matrix in fp32, dequantised if needed and transposed from `size` to (inputs, outputs)."""
        scales = scales_of(self._arrays, self._prefix + name)
        if scales is None:
            return np.ascontiguousarray(self._array(name, size).T)
        found = np.empty(size[::-1], dtype=np.float32)
        np.multiply(self._raw(name, size, "i").T, bound_scales(scales, name), out=found)
        return found


def bound_scales(scales: Floats, name: str) -> Floats:
    """Return the scales unchanged; raise InputError if a dequantised weight could be infinite or NaN."""
    if not np.abs(scales).max(initial=0) < _MAX_SCALE:  # `not <` rather than `>=`, because it is also true for NaN
        raise not_finite(name)
    return scales


def _elsewhere(name: str, values: npt.NDArray[Any]) -> TensorProto:
    """Declare a weight whose data is passed separately from the model."""
    found = TensorProto(name=name, dims=values.shape, data_location=TensorProto.EXTERNAL)
    found.data_type = helper.np_dtype_to_tensor_dtype(values.dtype)
    for key, value in (("location", "memory"), ("length", str(values.nbytes))):
        found.external_data.add(key=key, value=value)
    return found
