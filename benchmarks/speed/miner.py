"""Compare hard-pair mining and the multi-similarity loss with pytorch-metric-learning as called by SapBERT's code.

Equality: on random float64 batches both must select the same pairs; `worst_delta` is the largest difference of a loss or a
gradient. Batches include pairs, several names per concept, a single concept (no negatives), one name per concept (no
positives), equal vectors, equal distances with a margin that is met exactly, and very few names.

Speed and memory: a step computes the miner and the loss, forward and backward, in float32 on one thread. The two libraries run
in turn, five times each, and the median of the CPU seconds is reported. Memory is measured in a separate process for each
library: the peak during a step (VmHWM, reset before it) minus the memory before it (VmRSS), after a small warm-up step.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks.report import own_bytes
from onym.train.dense.trainer import MultiSimilarityLoss, RowPairs, hard_pairs

ALPHA, BETA, BASE, MARGIN = 1.0, 60.0, 0.5, 0.2  # SapBERT's
WITHIN = 1e-6
WIDTH, TURNS, SEED = 384, 5, 13
_FEW = 32  # pairs of the smallest batch that takes the same code path as large batches
_PEAK = """
import sys
from benchmarks.speed.miner import STEPS, gained_bytes
print(gained_bytes(STEPS[sys.argv[1]], int(sys.argv[2])))
"""


@dataclass(frozen=True)
class Batch:
    embeddings: Tensor
    labels: Tensor
    margin: float = MARGIN


@dataclass(frozen=True)
class Found:
    pairs: RowPairs
    loss: Tensor
    gradient: Tensor


Step = Callable[[Batch], Found]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batches", type=int, default=0, help="random batches to compare; 1,000 without --quick")
    parser.add_argument("--pairs", type=int, default=0, help="pairs of the batch that is timed; 512 without --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    torch.set_num_threads(1)
    batches = options.batches or (70 if options.quick else 1000)
    pairs = options.pairs or (64 if options.quick else 512)
    worst = worst_delta(iter_batches(batches), own, reference)
    if not worst <= WITHIN:
        sys.exit(f"a loss or a gradient differs by {worst}")
    return {
        "batches": batches,
        "worst_delta": worst,
        "speed_ratio": round(_speed_ratio(pairs), 1),
        "memory_ratio": round(_peak_bytes("reference", pairs) / max(_PAGE, _peak_bytes("own", pairs)), 1),
    }


def own(batch: Batch) -> Found:
    embeddings = batch.embeddings.clone().requires_grad_()
    pairs = hard_pairs(embeddings, batch.labels, margin=batch.margin)
    return _mine_pairs(pairs, MultiSimilarityLoss(ALPHA, BETA, BASE)(embeddings, pairs), embeddings)


def reference(batch: Batch) -> Found:
    from pytorch_metric_learning.losses import MultiSimilarityLoss as Loss
    from pytorch_metric_learning.miners import TripletMarginMiner

    embeddings = batch.embeddings.clone().requires_grad_()
    triplets = TripletMarginMiner(margin=batch.margin, type_of_triplets="all")(embeddings, batch.labels)
    loss = Loss(alpha=ALPHA, beta=BETA, base=BASE)(embeddings, batch.labels, triplets)
    return _mine_pairs(pairs_of(triplets, len(embeddings)), loss, embeddings)


def pairs_of(triplets: tuple[Tensor, Tensor, Tensor], rows: int) -> RowPairs:
    """Return the pairs of triplets (anchors, positives, negatives)."""
    anchors, positives, negatives = triplets
    pairs = RowPairs(torch.zeros(rows, rows, dtype=torch.bool), torch.zeros(rows, rows, dtype=torch.bool))
    pairs.positive[anchors, positives] = True
    pairs.negative[anchors, negatives] = True
    return pairs


def _mine_pairs(pairs: RowPairs, loss: Any, embeddings: Tensor) -> Found:
    loss.backward()
    if embeddings.grad is None:
        sys.exit("a loss without a gradient")
    return Found(pairs, loss.detach(), embeddings.grad)


def worst_delta(batches: Iterator[Batch], one: Step, other: Step) -> float:
    """Return the largest difference; infinite if the pairs differ or a value is NaN."""
    worst = 0.0
    for batch in batches:
        a, b = one(batch), other(batch)
        is_same = torch.equal(a.pairs.positive, b.pairs.positive) and torch.equal(a.pairs.negative, b.pairs.negative)
        delta = float(torch.cat(((a.loss - b.loss).reshape(1), (a.gradient - b.gradient).ravel())).abs().max())
        worst = max(worst, delta if is_same and not isnan(delta) else inf)
    return worst


def iter_batches(count: int, seed: int = SEED) -> Iterator[Batch]:
    for number in range(count):
        generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
        yield _KINDS[number % len(_KINDS)](generator)


def pairs_batch(pairs: int, width: int, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Batch:
    """Return a batch as in training: two names per concept, the second near the first."""
    first = torch.randn(pairs, width, generator=generator, dtype=dtype)
    second = first + 1.5 * torch.rand(pairs, 1, generator=generator) * torch.randn(
        pairs, width, generator=generator, dtype=dtype
    )
    return Batch(torch.cat((first, second)), torch.arange(pairs).repeat(2))


def _of_pairs(generator: torch.Generator) -> Batch:
    return pairs_batch(_below(33, generator) + 1, 16, generator)


def _of_several_names(generator: torch.Generator) -> Batch:
    rows = _below(48, generator) + 4
    return _draw_labelled_batch(rows, torch.randint(_below(rows // 2, generator) + 1, (rows,), generator=generator), generator)


def _of_one_concept(generator: torch.Generator) -> Batch:
    rows = _below(32, generator) + 1
    return _draw_labelled_batch(rows, torch.full((rows,), 7), generator)


def _of_a_name_each(generator: torch.Generator) -> Batch:
    rows = _below(32, generator) + 1
    return _draw_labelled_batch(rows, torch.randperm(rows, generator=generator), generator)


def _of_equal_vectors(generator: torch.Generator) -> Batch:
    batch = _of_several_names(generator)
    rows = len(batch.labels)
    return Batch(batch.embeddings[torch.randint(_below(rows, generator) + 1, (rows,), generator=generator)], batch.labels)


def _of_equal_distances(generator: torch.Generator) -> Batch:
    """Return corners of a cube, and a margin that equals a difference of two of their distances."""
    batch = _of_several_names(generator)
    corners = torch.randint(2, (len(batch.labels), 3), generator=generator).double() * 2 - 1
    distances = torch.cdist(*2 * (torch.nn.functional.normalize(corners),))
    rows = torch.randint(len(corners), (3,), generator=generator).tolist()
    return Batch(corners, batch.labels, float(distances[rows[0], rows[1]] - distances[rows[0], rows[2]]))


def _of_few_names(generator: torch.Generator) -> Batch:
    rows = _below(3, generator) + 2
    return _draw_labelled_batch(rows, torch.randint(2, (rows,), generator=generator), generator, width=2)


_KINDS = (
    _of_pairs,
    _of_several_names,
    _of_one_concept,
    _of_a_name_each,
    _of_equal_vectors,
    _of_equal_distances,
    _of_few_names,
)


def _draw_labelled_batch(rows: int, labels: Tensor, generator: torch.Generator, width: int = 8) -> Batch:
    return Batch(torch.randn(rows, width, generator=generator, dtype=torch.float64), labels)


def _below(bound: int, generator: torch.Generator) -> int:
    return int(torch.randint(bound, (), generator=generator))


STEPS: dict[str, Step] = {"own": own, "reference": reference}


def _draw_timed_batch(pairs: int) -> Batch:
    return pairs_batch(pairs, WIDTH, torch.Generator().manual_seed(SEED), torch.float32)


def _speed_ratio(pairs: int) -> float:
    batch, seconds = _draw_timed_batch(pairs), {name: [0.0] * TURNS for name in STEPS}
    for step in STEPS.values():
        step(_draw_timed_batch(_FEW))
    for turn in range(TURNS):
        for name, step in STEPS.items():
            start = time.process_time()  # CPU time, so that other processes do not matter
            step(batch)
            seconds[name][turn] = time.process_time() - start
    return median(seconds["reference"]) / median(seconds["own"])


_PAGE = 4096  # bytes; lower limit of the measured growth, which is 0 if a step fits into memory that is already allocated


def _peak_bytes(step: str, pairs: int) -> int:
    command = [sys.executable, "-c", _PEAK, step, str(pairs)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


def measure_growth(step: Step, pairs: int) -> int:
    """Return the peak memory growth of this process during a step."""
    torch.set_num_threads(1)
    batch = _draw_timed_batch(pairs)
    step(_draw_timed_batch(_FEW))
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak memory (VmHWM)
    before = own_bytes("VmRSS")
    step(batch)
    return own_bytes("VmHWM") - before
