"""The student: a small network that tags the tokens of a document, on NumPy alone.

    word      embeddings of hashed features (int8 table) -> linear, maxout, norm; computed once per distinct word
    token     word + name bits -> norm
    layers    convolutions three tokens wide, with maxout, residual connections and norms
    pooling   before the middle layer, the means over equal words and over the document are added
    tags      one linear layer; the tags of each convention are some of its columns

A document is computed by itself, so its tags do not depend on the other documents of a batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from onym.config import Strict
from onym.errors import IntegrityError
from onym.models.tensors import round_rows
from onym.store.artefact import Artefact
from onym.store.cache import Verify
from onym.store.stage import Record, staging
from onym.text.fingerprints import Ints
from onym.text.tokens import FIXED, ROWS, WordFeatures, WordTokens

KIND, FORMAT, FOLDER, RECORD = "student-detector", 1, "student", "training.json"
BITS = 6
"""Marks per semantic group; see `onym.methods.student.name_bits`."""
TAGS = 4
"""Tags per type: begin, inside, end, single; tag 0 of a convention is outside."""
TABLE, SCALES = "table", "table-scales"
EPSILON = 1e-6
_CACHE_SIZE = 20_000  # words whose vectors are kept
_BLOCK = 64  # words per matrix product: a fixed number, so that a vector does not depend on the other words
_WORDS_AT_ONCE = 4_096  # words whose features are in memory at a time
_GRAMS_AT_ONCE = 50_000  # n-grams whose embeddings are summed at a time
_ROWS_AT_ONCE = 1_024  # tokens per convolution, so that its input stays in the processor's cache
Floats = npt.NDArray[np.float32]
Shape = tuple[int, ...]


class StudentSettings(Strict):
    """The sizes of the network, the semantic groups of its name bits, and the types that each training corpus annotates.

    `thresholds` are the minimum probabilities of a mention, by convention; "" is for detection without one.

    >>> StudentSettings(groups=("Disease",), conventions={"bc5cdr": ("Chemical", "Disease")}).outputs
    9
    """

    dim: int = Field(default=48, ge=4, le=512)
    width: int = Field(default=96, ge=8, le=1_024)
    layers: int = Field(default=4, ge=1, le=24)
    groups: tuple[str, ...] = Field(max_length=64)
    conventions: dict[str, tuple[str, ...]] = Field(min_length=1, max_length=100)
    thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict)

    @property
    def bits(self) -> int:
        """The number of marks of a token: of names, and whether it follows the previous token without a space."""
        return BITS * len(self.groups) + 1

    @property
    def outputs(self) -> int:
        """The number of tags of all conventions."""
        return sum(1 + TAGS * len(types) for types in self.conventions.values())

    def columns(self, convention: str) -> slice:
        """Return the columns of a convention's tags."""
        start = 0
        for name, types in sorted(self.conventions.items()):  # a manifest does not keep the order of its keys
            size = 1 + TAGS * len(types)
            if name == convention:
                return slice(start, start + size)
            start += size
        raise KeyError(convention)

    def shapes(self) -> dict[str, Shape]:
        """Return the shape of each array of weights, except for the embedding table."""
        width = self.width
        layers: dict[str, Shape] = {}
        for layer in range(self.layers):
            layers |= {
                f"layer{layer}": (3 * width, 2 * width),
                f"layer{layer}-bias": (2 * width,),
                f"layer{layer}-gain": (width,),
            }
        return {
            "word": (5 * self.dim, 2 * width),
            "word-bias": (2 * width,),
            "word-gain": (width,),
            "bits": (self.bits, width),
            "bits-gain": (width,),
            **layers,
            "pool": (2 * width, width),
            "pool-bias": (width,),
            "pool-gain": (width,),
            "tags": (width, self.outputs),
            "tags-bias": (self.outputs,),
        }


@dataclass(frozen=True)
class Student:
    """The weights of a student: an int8 embedding table with a scale per row, and matrices in fp32."""

    settings: StudentSettings
    table: npt.NDArray[np.int8]
    scales: Floats
    weights: Mapping[str, Floats]
    digest: str = ""

    @classmethod
    def of(cls, settings: StudentSettings, table: npt.NDArray[Any], weights: Mapping[str, npt.NDArray[Any]]) -> Student:
        """Round the weights as they are stored: the table to int8, the rest to fp16."""
        rounded, scales = round_rows(table)
        return cls(settings, rounded, _halve(scales), {name: _halve(values) for name, values in weights.items()})

    def embed(self, features: WordFeatures) -> Floats:
        """Return the inputs of the word layer. *Shape:* (words, 5 * dim)."""
        fixed = self._rows(features.fixed.ravel()).reshape(len(features.fixed), FIXED, -1)
        counts = np.diff(features.offsets)
        grams = self._sum_grams(features) / np.maximum(counts, 1)[:, None].astype(np.float32)
        word, prefix, suffix, shape = fixed[:, 0] + fixed[:, 1], fixed[:, 2], fixed[:, 3] + fixed[:, 4], fixed[:, 5]
        return np.concatenate([word, prefix, suffix, shape, grams], axis=1)

    def _sum_grams(self, features: WordFeatures) -> Floats:
        """Return the sum of the embeddings of each word's n-grams. Few are in memory at a time, as a word may be very long.

        Blocks end between words, or inside a word at a fixed distance from its start, so sums do not depend on other words.
        """
        offsets, start = features.offsets, 0
        sums = np.zeros((len(offsets) - 1, self.settings.dim), dtype=np.float32)
        while start < len(features.grams):
            limit = start + _GRAMS_AT_ONCE
            end = int(offsets[np.searchsorted(offsets, limit, side="right") - 1])
            end = end if end > start else limit
            inner = offsets[np.searchsorted(offsets, start, side="right") : np.searchsorted(offsets, end)]
            firsts = np.unique(np.concatenate(([start], inner)))
            words = np.searchsorted(offsets, firsts, side="right") - 1
            sums[words] += np.add.reduceat(self._rows(features.grams[start:end]), firsts - start, axis=0)
            start = end
        return sums

    def _rows(self, rows: Ints) -> Floats:
        found: Floats = self.table[rows].astype(np.float32)
        found *= self.scales[rows, None]
        return found


class WordVectors:
    """Computes the vectors of words, and keeps those of recent words."""

    def __init__(self, student: Student) -> None:
        self._student = student
        self._vectors = np.empty((0, student.settings.width), dtype=np.float32)
        self._row_of: dict[int, int] = {}
        self._lock = threading.Lock()

    def of(self, tokens: WordTokens, numbers: Ints) -> Floats:
        """Return a vector for each of some distinct words of the tokens, given by number."""
        with self._lock:
            return self._of(tokens, numbers)

    def _of(self, tokens: WordTokens, numbers: Ints) -> Floats:
        known, words = self._row_of, tokens.fingerprints[numbers].tolist()
        if missing := [row for row, word in enumerate(words) if word not in known]:
            if len(known) + len(missing) > _CACHE_SIZE:
                known.clear()
                self._vectors, missing = self._vectors[:0], list(range(len(words)))
            known.update({words[row]: at for at, row in enumerate(missing, len(known))})
            self._vectors = np.concatenate([self._vectors, *self._compute(tokens, numbers[missing])])
        return self._vectors[[known[word] for word in words]]

    def _compute(self, tokens: WordTokens, numbers: Ints) -> Iterator[Floats]:
        for start in range(0, len(numbers), _WORDS_AT_ONCE):
            yield self._vectors_of(tokens.features(numbers[start : start + _WORDS_AT_ONCE]))

    def _vectors_of(self, features: WordFeatures) -> Floats:
        weights, inputs = self._student.weights, self._student.embed(features)
        count = len(inputs)
        inputs = np.concatenate([inputs, np.zeros((-count % _BLOCK, inputs.shape[1]), dtype=np.float32)])
        blocks = [inputs[start : start + _BLOCK] @ weights["word"] for start in range(0, len(inputs), _BLOCK)]
        one, other = np.split(np.concatenate(blocks)[:count] + weights["word-bias"], 2, axis=1)
        return normalise(np.maximum(one, other), weights["word-gain"])


Head = tuple[Floats, Floats]
"""Weights and bias of a tag layer."""


class Network(Protocol):
    """The part of a student that is computed for each document."""

    def logits(self, words: Floats, bits: npt.NDArray[np.uint8], same: Ints) -> Floats:
        """Return the logits of a document's tokens for the tags of the head; a document has at least one token.

        `words` has the vector of each token's word; `same` numbers the distinct words of the document.

        *Shape:* words (tokens, width), bits (tokens, settings.bits), same (tokens,) -> (tokens, tags).
        """


class NumpyNetwork:
    """The network on NumPy. Large arrays are kept for the next document, because new ones cost more than the computation."""

    def __init__(self, student: Student, head: Head) -> None:
        self._student, self._head = student, head
        self._scratch = _Scratch(student.settings.width)

    def logits(self, words: Floats, bits: npt.NDArray[np.uint8], same: Ints) -> Floats:
        """Return the logits of a document's tokens."""
        weights, layers = self._student.weights, self._student.settings.layers
        values: Floats = bits.astype(np.float32) @ weights["bits"]
        values += words
        normalise(values, weights["bits-gain"])
        for layer in range(layers):
            if layer == layers // 2:
                values = _pool(values, same, weights)
            self._add_convolution(values, weights[f"layer{layer}"], weights[f"layer{layer}-bias"])
            normalise(values, weights[f"layer{layer}-gain"])
        found: Floats = values @ self._head[0]
        found += self._head[1]
        return found

    def _add_convolution(self, values: Floats, weight: Floats, bias: Floats) -> None:
        """Add a convolution three tokens wide, the maximum of the two halves of its output, to the values in place."""
        count, width = values.shape
        last = np.zeros(width, dtype=np.float32)  # of the previous part, before the addition
        for start in range(0, count, _ROWS_AT_ONCE):
            end = min(start + _ROWS_AT_ONCE, count)
            part = values[start:end]
            around, product = self._scratch.around[: end - start], self._scratch.product[: end - start]
            around[0, :width], around[1:, :width] = last, part[:-1]
            around[:, width : 2 * width] = part
            around[:-1, 2 * width :], around[-1, 2 * width :] = part[1:], values[end] if end < count else 0
            last = part[-1].copy()
            np.matmul(around, weight, out=product)
            product += bias
            part += np.maximum(product[:, :width], product[:, width:], out=product[:, :width])


class _Scratch(threading.local):
    """Arrays for the input and the output of a convolution, for each thread."""

    def __init__(self, width: int) -> None:
        self.around = np.empty((_ROWS_AT_ONCE, 3 * width), dtype=np.float32)
        self.product = np.empty((_ROWS_AT_ONCE, 2 * width), dtype=np.float32)


def _pool(values: Floats, same: Ints, weights: Mapping[str, Floats]) -> Floats:
    """Add what the mean over equal words, and the mean over the document, say."""
    width = values.shape[1]
    order = np.argsort(same, kind="stable")
    counts = np.bincount(same)
    means = np.add.reduceat(values[order], np.cumsum(counts) - counts, axis=0) / counts[:, None].astype(np.float32)
    of_words, of_document = weights["pool"][:width], weights["pool"][width:]
    pooled: npt.NDArray[Any] = (means @ of_words)[same]
    pooled += values.mean(0) @ of_document + weights["pool-bias"]
    pooled += values
    return normalise(pooled, weights["pool-gain"])


def normalise(values: Floats, gain: Floats) -> Floats:
    """Scale each row to a root mean square of 1, in place, then each column by its gain.

    >>> normalise(np.array([[3.0, 4.0]], dtype=np.float32), np.ones(2, dtype=np.float32)).round(2).tolist()
    [[0.8500000238418579, 1.1299999952316284]]
    """
    squares = np.einsum("ij,ij->i", values, values)
    squares /= values.shape[1]
    squares += np.float32(EPSILON)
    np.sqrt(squares, out=squares)
    values /= squares[:, None]
    values *= gain
    return values


def write_student(student: Student, record: Mapping[str, Any], dest: Path) -> None:
    """Write a student to the folder `dest`."""
    with staging(dest / FOLDER) as stage:
        stage.write_array(TABLE, student.table.ravel())
        stage.write_array(SCALES, student.scales.astype("<f2"))
        for name, values in student.weights.items():
            stage.write_array(name, values.astype("<f2").ravel())
        stage.write_json(RECORD, dict(record))
        counts = {"parameters": student.table.size + sum(values.size for values in student.weights.values())}
        config = student.settings.model_dump(mode="json")
        stage.publish(dest / FOLDER, KIND, FORMAT, Record(config, [], counts))


def open_student(folder: Path | str, *, verify: Verify = "once") -> Student:
    """Open a student; the sizes and the values of its weights are checked on every call."""
    artefact = Artefact.open(Path(folder) / FOLDER, KIND, FORMAT, verify)
    damaged = _report_damage(str(folder))
    try:
        settings = StudentSettings.model_validate(artefact.manifest.config)
    except ValidationError as e:
        raise damaged("the settings of the student are invalid") from e
    shapes = {TABLE: (ROWS, settings.dim), SCALES: (ROWS,), **settings.shapes()}
    arrays = {}
    for name, shape in shapes.items():
        column = artefact.array(name, "i" if name == TABLE else "f")
        if column.size != int(np.prod(shape)) or column.itemsize != (1 if name == TABLE else 2):
            raise damaged(f"the weights {name} of the student have the wrong size or type")
        arrays[name] = np.array(column).reshape(shape)
    table = arrays.pop(TABLE)
    weights: dict[str, Floats] = {name: values.astype(np.float32) for name, values in arrays.items()}
    if not all(np.isfinite(values).all() for values in weights.values()):
        raise damaged("the weights of the student must be finite numbers")
    artefact.remember()
    return Student(settings, table, weights.pop(SCALES), weights, artefact.digest)


def _report_damage(where: str) -> Callable[[str], IntegrityError]:
    return lambda what: IntegrityError("artefact-corrupt", what, where=where, fix="train the student again")


def _halve(values: npt.NDArray[Any]) -> Floats:
    return values.astype(np.float16).astype(np.float32)


def merge_head(student: Student, sources: Mapping[str, Sequence[str]]) -> Head:
    """Return the tag layer (weights and bias) for types: for each type, the mean of the conventions in `sources`.

    Logits count from that of tag 0, so that columns of different conventions can be averaged.
    """
    settings = student.settings
    both = np.concatenate([student.weights["tags"], student.weights["tags-bias"][None]])
    found = [np.zeros((len(both), 1), dtype=np.float32)]
    for name, conventions in sources.items():
        each = []
        for convention in conventions:
            columns = both[:, settings.columns(convention)]
            first = 1 + TAGS * settings.conventions[convention].index(name)
            each.append(columns[:, first : first + TAGS] - columns[:, :1])
        found.append(np.mean(each, axis=0, dtype=np.float32))
    merged = np.ascontiguousarray(np.concatenate(found, axis=1))
    return merged[:-1], merged[-1]
