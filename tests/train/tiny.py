"""Tiny training data and configurations: samples of random tokens, and a corpus with three concepts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from onym.methods.generative.template import GENBIOEL, InputLayout
from onym.models.tokens import Tokenizer
from onym.train.configs import (
    AnyConfig,
    CollectiveTrainingConfig,
    EncoderOptimConfig,
    EncoderTrainingConfig,
    GenerativeOptimConfig,
    GenerativeTrainingConfig,
)
from onym.train.generative.trainer import NameCollate, NameTrainer
from onym.train.samples.base import Batch, Pair, Sample

T = TypeVar("T")
START, EOS, PAD, VOCABULARY = 2, 2, 1, 420
COLLATE = NameCollate(START, EOS, PAD)

HEART, FEVER, PRESSURE = "D009203", "D005334", "D006973"
CORPUS: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {
    "train": [
        ("He had heart attacks, then a high fever.", [("heart attacks", HEART), ("fever", FEVER)]),
        ("Hyperthermia and pyrexia were seen.", [("Hyperthermia", FEVER), ("pyrexia", FEVER)]),
        ("High blood pressures are hypertensions.", [("High blood pressures", PRESSURE), ("hypertensions", PRESSURE)]),
        ("An infarct of the heart, a cardiac attack.", [("infarct", HEART), ("cardiac attack", HEART)]),
        ("Myocardial infarctions with fevers.", [("Myocardial infarctions", HEART), ("fevers", FEVER)]),
        ("Blood pressure rose; the MI came late.", [("Blood pressure", PRESSURE), ("MI", HEART)]),
    ],
    "dev": [
        ("A heart attack with pyrexias.", [("heart attack", HEART), ("pyrexias", FEVER)]),
        ("The hypertension went with a fever.", [("hypertension", PRESSURE), ("fever", FEVER)]),
    ],
    "test": [("Another heart attack.", [("heart attack", HEART)])],
}
"""Titles with their mentions and ids, by split."""


def pubtator(split: str, titles: Sequence[tuple[str, list[tuple[str, str]]]]) -> str:
    """Return titles as a PubTator file; each split has its own document ids."""
    blocks = []
    for number, (title, mentions) in enumerate(titles):
        doc_id = f"{['train', 'dev', 'test'].index(split) + 1}{number:02}"
        spans = [(title.index(surface), surface, concept_id) for surface, concept_id in mentions]
        rows = [f"{doc_id}\t{at}\t{at + len(word)}\t{word}\tDisease\t{ids}" for at, word, ids in spans]
        blocks.append("\n".join([f"{doc_id}|t|{title}", f"{doc_id}|a|", *rows]))
    return "\n\n".join(blocks) + "\n"


class RecordingSamples(Generic[T]):
    """Samples in memory that record every requested index."""

    def __init__(self, samples: Sequence[T]) -> None:
        self.samples = list(samples)
        self.indices: list[int] = []

    def __len__(self) -> int:
        return len(self.samples)

    def __getitems__(self, indices: Sequence[int]) -> list[T]:
        self.indices += indices
        return [self.samples[index] for index in indices]


def samples(count: int, seed: int = 0) -> RecordingSamples[Sample]:
    """Return samples of random tokens and random lengths."""
    draw = random.Random(seed)
    return RecordingSamples([Sample(_tokens(draw, 3, 9), _tokens(draw, 1, 4), _tokens(draw, 1, 5)) for _ in range(count)])


def pairs(count: int, seed: int = 0) -> RecordingSamples[Pair]:
    """Return preference pairs of random tokens, with random reference scores."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        source, prompt, preferred, rejected = (_tokens(draw, *each) for each in ((3, 9), (1, 4), (1, 5), (1, 5)))
        made.append(Pair(source, prompt, preferred, rejected, (-draw.random() * 9, -draw.random() * 9)))
    return RecordingSamples(made)


def _tokens(draw: random.Random, min_count: int, max_count: int) -> list[int]:
    return [draw.randrange(4, VOCABULARY) for _ in range(draw.randint(min_count, max_count))]


FEW_STEPS: dict[str, Any] = {
    "steps": 4, "batch_size": 4, "eval_steps": 100, "learning_rate": 1e-2, "max_grad_norm": 1.0, "precision": "fp32",
}  # fmt: skip


def optim(**more: Any) -> GenerativeOptimConfig:
    """Return optimiser settings for a few steps with a visible effect."""
    return GenerativeOptimConfig(**(FEW_STEPS | {"schedule": "constant"} | more))


def train_model(
    model: Any,
    dataset: RecordingSamples[Sample],
    folder: Path,
    settings: GenerativeOptimConfig,
    collate: Callable[[Sequence[Sample]], Batch] = COLLATE,
    **more: Any,
) -> NameTrainer:
    """Train a model on samples."""
    trainer = NameTrainer(model, dataset, collate, folder, settings, **more)
    trainer.resume()
    return trainer


def weights_of(model: Any) -> dict[str, Tensor]:
    """Return a copy of a model's weights."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def are_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Return whether the weights of two models are identical."""
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def require_left_alone(dev: Callable[[Any], object], model: Any) -> None:
    """Assert that an evaluation changes neither the model nor the random state."""
    before = weights_of(model)
    torch.manual_seed(0)
    drawn = torch.rand(3)
    torch.manual_seed(0)
    assert dev(model) == dev(model)
    assert torch.equal(torch.rand(3), drawn), "an evaluation must not draw random numbers"
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert are_equal(weights_of(model), before)


def furthest(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    """Return the maximum absolute difference between the weights of two models."""
    assert one.keys() == other.keys()
    return max(float((value.double() - other[name].double()).abs().max()) for name, value in one.items())


def losses(folder: Path) -> list[float]:
    """Return the losses in the log of a training run."""
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [entry["loss"] for entry in entries if "loss" in entry]


def layout(model: Path, window: int = 32) -> InputLayout:
    """Return the input layout of the tiny model."""
    return InputLayout(GENBIOEL, Tokenizer.open(model), window, 158)


def config(stage: str, model: Path, corpus: Path | None, kb: Path, **more: dict[str, Any]) -> GenerativeTrainingConfig:
    """Return a small configuration; `more` overrides keys by table."""
    tables: dict[str, dict[str, Any]] = {
        "start": {"model": str(model), "window": 32},
        "data": {"dataset": str(corpus or ""), "kb": str(kb)},
        "dev": {"mentions": 0},
        "optim": optim().model_dump(),
        "prefer": {"beam_width": 5},
    }
    values = {name: table | more.get(name, {}) for name, table in tables.items()}
    return GenerativeTrainingConfig.of({"stage": stage, **values})


def encoder_optim(**more: Any) -> EncoderOptimConfig:
    """Return optimiser settings for a few steps of an encoder with a visible effect."""
    return EncoderOptimConfig(**(FEW_STEPS | more))


def encoder_config(stage: str, model: Path, corpus: Path | None, kb: Path, **more: dict[str, Any]) -> EncoderTrainingConfig:
    """Return a small configuration of an encoder; `more` overrides keys by table."""
    tables: dict[str, dict[str, Any]] = {
        "start": {"model": str(model), "pooling": "mean", "similarity": "cosine", "dropout": 0.0},
        "data": {"dataset": str(corpus or ""), "kb": str(kb)},
        "dev": {"mentions": 0},
        "optim": encoder_optim().model_dump(),
        "loss": {},
    }
    return EncoderTrainingConfig.of({"stage": stage, **{name: table | more.get(name, {}) for name, table in tables.items()}})


def collective_config(model: Path, corpus: Path | None, kb: Path, **more: dict[str, Any]) -> CollectiveTrainingConfig:
    """Return a small configuration of a collective model; `more` overrides keys by table."""
    tables: dict[str, dict[str, Any]] = {
        "start": {"model": str(model), "detect": "spans", "represent": "mean", "window": 24, "overlap": 8, "dropout": 0.0},
        "data": {"dataset": str(corpus or ""), "kb": str(kb), "hard_negatives": 2, "random_negatives": 1, "pool": 8},
        "dev": {"mentions": 0},
        "optim": encoder_optim().model_dump(),
        "loss": {},
    }
    return CollectiveTrainingConfig.of({name: table | more.get(name, {}) for name, table in tables.items()})


def settings_of(training_config: AnyConfig) -> list[str]:
    """Return a configuration as `key=value` arguments of `--set`."""
    tables = training_config.model_dump(mode="json", exclude={"stage"}).items()
    return [f"{name}.{key}={json.dumps(value)}" for name, table in tables for key, value in table.items()]
