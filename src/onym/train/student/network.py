"""The student as a torch module, and its training loop. `onym.methods.student.network` describes the network."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from onym.kb import KnowledgeBase
from onym.methods.student.network import EPSILON, TAGS, Student, StudentSettings
from onym.text.fingerprints import Ints
from onym.text.tokens import ROWS, WordFeatures
from onym.train.configs import StudentOptimConfig
from onym.train.student.tagged import TaggedBatch, TaggedDocuments, TaggedSample, iter_batches

_MAX_GRAD_NORM = 1.0
_BETAS = (0.9, 0.98)
_LAST_RATE = 0.02  # share of the learning rate at the end
_log = logging.getLogger("onym.train")


def train_network(
    samples: Sequence[TaggedSample], settings: StudentSettings, kb: KnowledgeBase, config: StudentOptimConfig
) -> Student:
    """Train a student on one thread, and return it with rounded weights."""
    with _reproducible(config.seed):
        documents = TaggedDocuments(samples, settings, kb)
        module = StudentModule(settings, config)
        epochs = max(config.epochs, config.min_steps * config.batch_size / len(samples))
        batches = list(iter_batches(len(samples), config.batch_size, epochs, config.seed))
        steps = len(batches)
        shown = max(50, steps // 50)
        _log.info("training a network on %d samples, %d steps", len(samples), steps)
        optimiser = _Optimiser(module, config, steps)
        total = 0.0
        for step, rows in enumerate(batches, 1):
            total += optimiser.step(module.loss(_tensors(documents.batch(rows))))
            if step % shown == 0 or step == steps:
                _log.info("step %d of %d: loss on training documents %.4f", step, steps, total / (step % shown or shown))
                total = 0.0
        return module.student(optimiser.averages)


@contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


class _Batch(NamedTuple):
    """A `TaggedBatch` as tensors."""

    features: WordFeatures
    words: Tensor
    marks: Tensor
    is_token: Tensor
    same: Tensor
    owners: Tensor
    targets: dict[str, tuple[Tensor, Tensor]]


def _tensors(batch: TaggedBatch) -> _Batch:
    return _Batch(
        features=batch.features,
        words=torch.from_numpy(batch.words),
        marks=torch.from_numpy(batch.marks),
        is_token=torch.from_numpy(batch.is_token),
        same=torch.from_numpy(batch.same),
        owners=torch.from_numpy(batch.owners),
        targets={name: (torch.from_numpy(at), torch.from_numpy(tags)) for name, (at, tags) in batch.targets.items()},
    )


class StudentModule(nn.Module):
    """The network in training. Its parameters are named like the arrays of a student."""

    def __init__(self, settings: StudentSettings, config: StudentOptimConfig) -> None:
        super().__init__()
        self.settings, self.config = settings, config
        self._random = np.random.default_rng(config.seed)
        self.table = nn.Parameter(torch.randn(ROWS, settings.dim) * 0.1)
        shapes = settings.shapes()
        self.weights = nn.ParameterDict({name: _initial(name, shape) for name, shape in shapes.items()})
        types = sorted({name for found in settings.conventions.values() for name in found})
        self.shared = nn.Parameter(torch.zeros(settings.width, 1 + TAGS * len(types)))
        self.shared_columns = torch.from_numpy(_find_shared_columns(settings, types))

    def loss(self, batch: _Batch) -> Tensor:
        """Return the cross-entropy of the tags, per token."""
        logits = self.logits(batch)
        parts = []
        for name, (at, targets) in batch.targets.items():
            found = functional.log_softmax(logits[:, self.settings.columns(name)].index_select(0, at), dim=1)
            parts.append(-(targets * found).sum())
        return torch.stack(parts).sum() / batch.is_token.sum()

    def logits(self, batch: _Batch) -> Tensor:
        """Return the logits of all tags. *Shape:* (tokens, settings.outputs)."""
        weights = self.weights
        values = self._inputs(batch)
        for layer in range(self.settings.layers):
            if layer == self.settings.layers // 2:
                values = self._pool(values, batch)
            new = _maxout(_around(values) @ weights[f"layer{layer}"], weights[f"layer{layer}-bias"])
            values = _normalise(values + self._drop(new), weights[f"layer{layer}-gain"]) * batch.is_token
        found: Tensor = self._drop(values) @ self._tag_weights() + weights["tags-bias"]
        return found

    def student(self, averages: dict[str, Tensor]) -> Student:
        """Return the student with these averaged weights."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name in averages:
                    parameter.copy_(averages[name])
            arrays = {name: parameter.numpy() for name, parameter in self.weights.items()}
            arrays["tags"] = self._tag_weights().numpy()
            return Student.of(self.settings, self.table.numpy(), arrays)

    def _inputs(self, batch: _Batch) -> Tensor:
        features, weights = batch.features, self.weights
        fixed = functional.embedding(torch.from_numpy(features.fixed), self.table, sparse=True)
        offsets = torch.from_numpy(features.offsets[:-1])
        grams = functional.embedding_bag(torch.from_numpy(features.grams), self.table, offsets, mode="mean", sparse=True)
        word, suffix = fixed[:, 0] + fixed[:, 1], fixed[:, 3] + fixed[:, 4]
        joined = torch.cat([word, fixed[:, 2], suffix, fixed[:, 5], grams], dim=1)
        words = _normalise(_maxout(joined @ weights["word"], weights["word-bias"]), weights["word-gain"])
        words = self._hide(self._drop(words).index_select(0, batch.words), self.config.drop_words)
        marks = self._hide(batch.marks, self.config.drop_marks)
        return self._drop(_normalise(words + marks @ weights["bits"], weights["bits-gain"])) * batch.is_token

    def _pool(self, values: Tensor, batch: _Batch) -> Tensor:
        means = [_means(values, batch.is_token, groups) for groups in (batch.same, batch.owners)]
        added = self._drop(torch.cat(means, dim=1)) @ self.weights["pool"] + self.weights["pool-bias"]
        return _normalise(values + added, self.weights["pool-gain"]) * batch.is_token

    def _tag_weights(self) -> Tensor:
        found: Tensor = self.weights["tags"] + self.shared[:, self.shared_columns]
        return found

    def _drop(self, values: Tensor) -> Tensor:
        """Apply dropout; the share is rounded to 1/256, because random bytes are several times faster than torch's dropout."""
        dropped = round(self.config.dropout * 256)
        if not dropped or not self.training:
            return values
        drawn = self._random.integers(0, 256, size=tuple(values.shape), dtype=np.uint8)
        return values * torch.from_numpy((drawn >= dropped) * np.float32(256 / (256 - dropped)))

    def _hide(self, values: Tensor, share: float) -> Tensor:
        return values * (torch.rand(len(values), 1) >= share) if self.training and share else values


def _initial(name: str, shape: tuple[int, ...]) -> nn.Parameter:
    if name.endswith("-gain"):
        return nn.Parameter(torch.ones(shape))
    if name.endswith("-bias") or name == "tags":
        return nn.Parameter(torch.zeros(shape))
    return nn.Parameter(torch.randn(shape) / math.sqrt(shape[0]))


def _find_shared_columns(settings: StudentSettings, types: Sequence[str]) -> Ints:
    """Return, for each tag of each convention, the column of its type's shared tag."""
    found = np.zeros(settings.outputs, dtype=np.int64)
    for name, annotated in settings.conventions.items():
        own = [0, *(1 + TAGS * types.index(each) + tag for each in annotated for tag in range(TAGS))]
        found[settings.columns(name)] = own
    return found


def _maxout(values: Tensor, bias: Tensor) -> Tensor:
    one, other = (values + bias).chunk(2, dim=1)
    return other + functional.relu(one - other)  # the maximum of both, with a cheaper gradient


def _normalise(values: Tensor, gain: Tensor) -> Tensor:
    return values * (values.square().mean(dim=1, keepdim=True) + EPSILON).rsqrt() * gain


def _around(values: Tensor) -> Tensor:
    """Return the values of the previous token, of the token and of the next one, side by side."""
    padded = functional.pad(values, (0, 0, 1, 1))
    return torch.cat([padded[:-2], values, padded[2:]], dim=1)


def _means(values: Tensor, is_token: Tensor, groups: Tensor) -> Tensor:
    """Return, for each token, the mean over the tokens of its group."""
    sums = values.new_zeros(int(groups.max()) + 1, values.shape[1]).index_add(0, groups, values)
    counts = values.new_zeros(len(sums), 1).index_add(0, groups, is_token).clamp(min=1)
    return (sums / counts).index_select(0, groups)


class _Optimiser:
    """Adam for the table, which has sparse gradients, and AdamW for the rest; keeps a moving average of the rest."""

    def __init__(self, module: StudentModule, config: StudentOptimConfig, steps: int) -> None:
        rest = {name: parameter for name, parameter in module.named_parameters() if name != "table"}
        self._rest, self._decay, self._step = rest, config.average, 0
        rate, decay = config.learning_rate, config.weight_decay
        self._optimisers = (
            torch.optim.SparseAdam([module.table], lr=rate, betas=_BETAS),
            torch.optim.AdamW(rest.values(), lr=rate, betas=_BETAS, weight_decay=decay),
        )
        warmup = max(1, min(config.warmup_steps, steps // 4))

        def share(step: int) -> float:
            return min(1.0, (step + 1) / warmup) * max(_LAST_RATE, 1 - step / steps)

        self._schedules = [torch.optim.lr_scheduler.LambdaLR(each, share) for each in self._optimisers]
        self.averages = {name: parameter.detach().clone() for name, parameter in rest.items()}

    def step(self, loss: Tensor) -> float:
        """Make one step down the gradient of the loss; return the loss."""
        for each in self._optimisers:
            each.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(list(self._rest.values()), _MAX_GRAD_NORM)
        for optimiser in self._optimisers:
            optimiser.step()  # type: ignore[no-untyped-call]
        for schedule in self._schedules:
            schedule.step()
        self._step += 1
        decay = min(self._decay, (1 + self._step) / (10 + self._step))
        with torch.no_grad():
            for name, parameter in self._rest.items():
                self.averages[name].lerp_(parameter, 1 - decay)
        return loss.item()
