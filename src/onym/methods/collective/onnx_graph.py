"""Build the ONNX graphs of a model that detects mentions: its encoder, for one window at a time, and its heads.

A window has no padding, so attention needs no mask, and is one operator of ONNX Runtime. In int8, each row of a weight matrix
has its own scale, and so has each token of a layer's input, as in `Int8Linear` on torch; the operators of ONNX Runtime that
quantise inputs themselves take one scale for all tokens, which loses accuracy.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper

from onym.methods.collective.settings import CollectiveSettings
from onym.models.onnx_graph import FUSED, HIDDEN, IDS, POSITIONS, EncoderBuilder, Graph, GraphBuilder, Inputs, bound_scales
from onym.models.shape import EncoderShape
from onym.models.tensors import INT8_LARGEST, INT8_TINY, Arrays, Floats, round_rows, scales_of

STATES, FIRSTS, LASTS, WORDS, LOGITS = "states", "firsts", "lasts", "words", "logits"
_MIDDLE = 128  # the unsigned integer that stands for 0: products of unsigned inputs and signed weights are the fastest


def document_graph(shape: EncoderShape, arrays: Arrays, *, is_int8: bool = False, is_exact: bool = True) -> Graph:
    """Build the graph that encodes one window; raise InputError if a weight is missing or has the wrong size.

    `is_exact` says whether the CPU multiplies unsigned by signed integers without overflow (see `multiplies_exactly`).

    *Shape:* ids and positions (tokens,) -> hidden (tokens, width).
    """
    inputs: Inputs = {name: (TensorProto.INT64, ["tokens"]) for name in (IDS, POSITIONS)}
    making = _DocumentBuilder(shape, arrays, is_int8=is_int8, is_exact=is_exact)
    return making.graph(inputs, making.layers(making.embed()), HIDDEN, ["tokens", shape.hidden_size])


def heads_graph(settings: CollectiveSettings, arrays: Arrays, width: int) -> Graph:
    """Build the graph that scores the spans or the words of a text. Spans are first tokens, and last tokens + 1.

    *Shape:* states (tokens, width), firsts and lasts (spans,) -> logits (spans, labels); or states and words (words,) ->
    logits (words, 3).
    """
    making, labels = _HeadsBuilder(arrays), max(1, len(settings.labels))
    names = (FIRSTS, LASTS) if settings.detect == "spans" else (WORDS,)
    rows: Inputs = {name: (TensorProto.INT64, ["spans"]) for name in names}
    inputs: Inputs = {STATES: (TensorProto.FLOAT, ["tokens", width]), **rows}
    if settings.detect == "spans":
        return making.graph(inputs, making.score_spans(width, settings.hidden, labels), LOGITS, ["spans", labels])
    return making.graph(inputs, making.score_tags(width), LOGITS, ["spans", 3])


def product_graph(weights: npt.NDArray[np.int8]) -> Graph:
    """Build the graph of one product in int8. *Shape:* states (rows, inputs), weights (outputs, inputs) -> (rows, outputs)."""
    making = _DocumentBuilder(EncoderShape(family="bert", pad_token_id=0), {}, is_int8=True)
    values = making.multiply(STATES, "weights", weights, np.ones(len(weights), dtype=np.float32))
    return making.graph({STATES: (TensorProto.FLOAT, ["tokens", weights.shape[1]])}, values, HIDDEN, ["tokens", len(weights)])


class _DocumentBuilder(EncoderBuilder):
    """Builds the graph of an encoder for one window.

    The fused operators for bias and GELU, and for residual and normalisation, are slower on CPUs than the plain operators.
    """

    def __init__(self, shape: EncoderShape, arrays: Arrays, *, is_int8: bool, is_exact: bool = True) -> None:
        super().__init__(shape, arrays)
        self._is_int8, self._is_exact = is_int8, is_exact
        self._rounded: dict[str, tuple[str, str]] = {}

    def layers(self, values: str) -> str:
        """Add all transformer layers; return the output of the last."""
        width, inner = self._shape.hidden_size, self._shape.intermediate_size
        for number in range(self._shape.num_hidden_layers):
            layer = f"encoder.layer.{number}"
            read = self._attention(values, f"{layer}.attention.self")
            read = self._product(read, f"{layer}.attention.output.dense", width, width)
            values = self._add_and_normalise(read, values, f"{layer}.attention.output")
            between = self._product(values, f"{layer}.intermediate.dense", width, inner)
            between = self._op("Add", between, self._bias(f"{layer}.intermediate.dense", inner))
            between = self._product(self._op("Gelu", between), f"{layer}.output.dense", inner, width)
            values = self._add_and_normalise(between, values, f"{layer}.output")
        return values

    def multiply(self, values: str, name: str, weights: npt.NDArray[np.int8], scales: Floats) -> str:
        """Multiply by an int8 matrix, whose rows have scales. *Shape:* weights (outputs, inputs), scales (outputs,)."""
        rows, row_scales = self._round(values)
        middle = self._constant("middle", np.array(_MIDDLE, dtype=np.uint8))
        columns = np.ascontiguousarray(weights.T)
        if not self._is_exact:
            columns = (columns.astype(np.int16) + _MIDDLE).astype(np.uint8)
        inputs = [rows, self._add_weight(name, columns), self._constant("one", np.array(1, dtype=np.float32))]
        inputs += [self._constant(f"{name}_scale", scales), middle, "" if self._is_exact else middle]
        return self._op("Mul", self._op("MatMulIntegerToFloat", *inputs, domain=FUSED), row_scales)

    def _product(self, values: str, name: str, inputs: int, outputs: int) -> str:
        """Multiply by the weights of a linear layer, without its bias."""
        name = f"{name}.weight"
        if not self._is_int8:
            return self._op("MatMul", values, self._add_weight(name, self._matrix(name, (outputs, inputs))))
        scales = scales_of(self._arrays, self._prefix + name)
        if scales is None:
            return self.multiply(values, name, *round_rows(self._array(name, (outputs, inputs)), name))
        return self.multiply(values, name, self._raw(name, (outputs, inputs), "i"), bound_scales(scales, name))

    def _round(self, values: str) -> tuple[str, str]:
        """Quantise the rows of `values`, which are tokens; return the integers and the scales (tokens, 1)."""
        if values not in self._rounded:
            axis = self._constant("at1", np.array([1]))
            highest, lowest = self._op("ReduceMax", values, axis, keepdims=0), self._op("ReduceMin", values, axis, keepdims=0)
            tiny = self._constant("tiny", np.array(INT8_TINY, dtype=np.float32))
            largest = self._op("Max", highest, self._op("Neg", lowest), tiny)
            scales = self._op("Div", largest, self._constant("largest", np.array(INT8_LARGEST, dtype=np.float32)))
            middle = numpy_helper.from_array(np.array([_MIDDLE], dtype=np.uint8))
            zeros = self._op("ConstantOfShape", self._op("Shape", scales), value=middle)
            rows = self._op("QuantizeLinear", values, scales, zeros, axis=0)
            self._rounded[values] = rows, self._op("Unsqueeze", scales, axis)
        return self._rounded[values]

    def _attention(self, values: str, name: str) -> str:
        width, first = self._shape.hidden_size, self._constant("at0", np.array([0]))
        parts = ("query", "key", "value")
        products = [self._op("Unsqueeze", self._product(values, f"{name}.{each}", width, width), first) for each in parts]
        biases = np.concatenate([self._array(f"{name}.{each}.bias", (width,)) for each in parts])
        inputs = [*products, self._add_weight(f"{name}.bias", biases)]
        read = self._op("MultiHeadAttention", *inputs, domain=FUSED, num_heads=self._shape.num_attention_heads)
        return self._op("Squeeze", read, first)

    def _add_and_normalise(self, values: str, residual: str, name: str) -> str:
        values = self._op("Add", values, self._bias(f"{name}.dense", self._shape.hidden_size))
        return self._normalise(self._op("Add", values, residual), f"{name}.LayerNorm")

    def _bias(self, name: str, width: int) -> str:
        return self._add_weight(f"{name}.bias", self._array(f"{name}.bias", (width,)))


class _HeadsBuilder(GraphBuilder):
    """Builds the graph of the heads that detect mentions; see `Heads` for the equations."""

    def score_spans(self, width: int, hidden: int, labels: int) -> str:
        """Add the scores of spans for each label."""
        size = hidden or labels
        start, end, inside = self._split(self._linear(STATES, "span", width, 3 * size))
        axis, one = self._constant("axis", np.array(0)), self._constant("one", np.array(1))
        zeros = self._constant("zeros", np.zeros((1, size), dtype=np.float32))
        sums = self._op("Concat", zeros, self._op("CumSum", inside, axis), axis=0)
        within = self._op("Sub", self._op("Gather", sums, LASTS), self._op("Gather", sums, FIRSTS))
        ends = self._op("Add", self._op("Gather", start, FIRSTS), self._op("Gather", end, self._op("Sub", LASTS, one)))
        if not hidden:
            return self._op("Add", ends, within)
        lengths = self._op("Cast", self._op("Sub", LASTS, FIRSTS), to=TensorProto.FLOAT)
        means = self._op("Div", within, self._op("Unsqueeze", lengths, self._constant("at1", np.array([1]))))
        return self._linear(self._op("Gelu", self._op("Add", ends, means)), "label", hidden, labels)

    def score_tags(self, width: int) -> str:
        """Add the scores of the tags of words."""
        return self._linear(self._op("Gather", STATES, WORDS), "tag", width, 3)

    def _linear(self, values: str, name: str, inputs: int, outputs: int) -> str:
        weights = np.ascontiguousarray(self._array(f"{name}.weight", (outputs, inputs)).T)
        product = self._op("MatMul", values, self._add_weight(f"{name}.weight", weights))
        return self._op("Add", product, self._add_weight(f"{name}.bias", self._array(f"{name}.bias", (outputs,))))

    def _split(self, values: str) -> list[str]:
        parts = [f"Split-{each}" for each in range(3)]
        self._nodes.append(helper.make_node("Split", [values], parts, axis=1, num_outputs=3))
        return parts
