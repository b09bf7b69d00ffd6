"""Preference optimisation on hard negatives (ANGEL section 3.2): right names are preferred to those wrongly predicted.

In each round the current model predicts the names and is the reference. An interrupted round resumes with its own pairs, and a
finished one is not repeated. The source of a pair is encoded once for both of its names.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_model
from torch import Tensor

from onym.decoding.search import SearchConfig
from onym.errors import ConfigError, InputError
from onym.store.output import whole_folder
from onym.train.configs import GenerativeOptimConfig, PreferConfig
from onym.train.generative import GenerativeContext, NameCollate, NameTrainer, head_where, linker_of, sources_once
from onym.train.losses import (
    IGNORED,
    NamedLoss,
    Preference,
    Score,
    average_tokens,
    gathered_log_probs,
    loss_named,
    score_sequences,
)
from onym.train.precision import training_precision
from onym.train.samples.base import Batch, Pair, Samples, Shuffled
from onym.train.samples.mentions import DocMention
from onym.train.samples.preferences import (
    PairSamples,
    PreferencePair,
    Reference,
    iter_kb_preferences,
    lookalike_preferences,
    predicted_preferences,
    read_pairs,
    write_pairs,
)
from onym.train.samples.statements import Statements
from onym.train.trainer import Dev

_log = logging.getLogger("onym.train")
_MODEL, _PAIRS = "model", "pairs.jsonl"
_NAMES = 2
_BATCH = 64


def prefer(context: GenerativeContext) -> PreferenceTrainer:
    """Train on preference pairs; an interrupted run resumes."""
    rounds = context.config.prefer.rounds
    done = [number for number in range(rounds) if (_work(context, number) / _MODEL).is_dir()]
    if done:
        load_model(context.model, _work(context, done[-1]) / _MODEL / "model.safetensors")
    for number in range(len(done), rounds):
        trainer = _round(context, number)
        if trainer.accelerator.is_main_process:
            with whole_folder(_work(context, number) / _MODEL, force=True) as folder:
                trainer.write(folder.path)
        trainer.accelerator.wait_for_everyone()
    return trainer if len(done) < rounds else _round(context, rounds - 1)


@dataclass(frozen=True)
class _Mentions:
    """The mentions of a round: a part of the dataset's, or, without a dataset, the statements of the knowledge base."""

    part: list[DocMention]
    statements: Statements | None = None

    def text_of(self, index: int) -> tuple[str, int, int]:
        """Return the text of a mention, and its offsets."""
        if self.statements is not None:
            clause = self.statements.at([index])[0].clause
            return clause.text, clause.start, clause.end
        doc, mention = self.part[index]
        return doc.text, mention.start, mention.end


def _round(context: GenerativeContext, number: int) -> PreferenceTrainer:
    config, mentions = context.config, _mentions(context, number)
    pairs, references = _pairs(context, mentions, _work(context, number) / _PAIRS)
    steps = ceil(config.prefer.epochs * len(pairs) / context.samples_per_step)
    samples = PairSamples(
        pairs,
        mentions.text_of,
        context.kb.names,
        context.layout,
        steps * context.samples_per_step,
        seed=config.optim.seed,
        references=references,
    )
    trainer = PreferenceTrainer(
        context.model,
        samples,
        context.collate,
        _work(context, number),
        config.optim.model_copy(update={"steps": steps}),
        prefer=config.prefer,
        dev=context.dev,
        patience=config.dev.patience,
    )
    trainer.resume()
    return trainer


def _work(context: GenerativeContext, number: int) -> Path:
    return context.work / f"round-{number}"


def _mentions(context: GenerativeContext, number: int) -> _Mentions:
    seed = context.config.optim.seed
    if context.dataset is None:
        return _Mentions([], Statements(context.kb, seed + number, mention=context.config.data.mention))
    order = Shuffled(len(context.mentions), seed).at(np.arange(len(context.mentions)))
    return _Mentions([context.mentions[row] for row in order[number :: context.config.prefer.rounds].tolist()])


def _pairs(context: GenerativeContext, mentions: _Mentions, path: Path) -> tuple[list[PreferencePair], list[Reference]]:
    """Return the pairs of a round with their reference scores; they are made once and kept."""
    if path.is_file():
        return read_pairs(path)
    pairs = _preferences(context, mentions)
    if not pairs:
        fix = "train the model on right names first, so that some of its predictions are right"
        raise InputError("training-empty", "no mention has a right and a wrong name", fix=fix)
    samples = PairSamples(pairs, mentions.text_of, context.kb.names, context.layout, len(pairs))
    _log.info("scoring %d preference pairs with the reference model", len(pairs))
    references = reference_scores(
        context.model,
        [samples.at(row) for row in range(len(pairs))],
        context.collate,
        score_of(context.config.prefer),
        is_bf16=training_precision(context.config.optim) != "fp32",
    )
    write_pairs(pairs, references, path)
    return pairs, references


def _preferences(context: GenerativeContext, mentions: _Mentions) -> list[PreferencePair]:
    config, seed = context.config.prefer, context.config.optim.seed
    if mentions.statements is not None:
        if config.negatives != "similar":
            fix = 'set prefer.negatives to "similar", or name a dataset'
            raise ConfigError("config-invalid", "a knowledge base alone is too large to be decoded", fix=fix)
        return list(iter_kb_preferences(mentions.statements, context.kb, context.total_samples, seed=seed))
    if config.negatives == "similar":
        return lookalike_preferences(mentions.part, context.kb, top_k=config.top_k, seed=seed)
    search = SearchConfig(ranking=context.config.dev.ranking, width=config.beam_width, top_k=config.top_k)
    _log.info("linking %d mentions, to mine hard negatives", len(mentions.part))
    linker = linker_of(context.model, context.kb, context.layout, search)
    return predicted_preferences(linker, mentions.part, top_k=config.top_k, rule=config.rule)


class PreferenceTrainer(NameTrainer):
    """Trains a model to prefer the right name of each pair."""

    def __init__(
        self,
        model: Any,
        pairs: Samples[Pair],
        collate: NameCollate,
        folder: Path,
        optim: GenerativeOptimConfig,
        *,
        prefer: PreferConfig,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        super().__init__(model, pairs, collate.pairs, folder, optim, dev=dev, patience=patience)
        self.loss, self.score = loss_of(prefer), score_of(prefer)

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the sum of the losses of all pairs."""
        reference = inputs.pop("reference")
        scores, means = name_scores(model, self.accelerator.unwrap_model(model), inputs, self.score)
        preference = Preference(scores[:, 0], scores[:, 1], reference[:, 0], reference[:, 1])
        return self.loss(preference, -means[:, 0]).sum()

    def items(self, inputs: Batch) -> int:
        """Count pairs."""
        return len(inputs["reference"])


def loss_of(prefer: PreferConfig) -> NamedLoss:
    """Return the loss of a configuration, with those of its options that the loss has.

    >>> dict(loss_of(PreferConfig(loss="pairwise", beta=0.2)).options)["beta"]
    0.2
    """
    options = loss_named(prefer.loss).options
    return loss_named(prefer.loss, **{name: getattr(prefer, name) for name in ("beta", "gamma", "alpha") if name in options})


def score_of(prefer: PreferConfig) -> Score:
    """Return how a name is scored: as the loss was published, unless it is set.

    >>> score_of(PreferConfig(loss="simpo")), score_of(PreferConfig(loss="simpo", score="sum"))
    ('mean', 'sum')
    """
    return prefer.score or loss_of(prefer).score


def name_scores(model: Any, bare: Any, inputs: Batch, score: Score) -> tuple[Tensor, Tensor]:
    """Return the scores of the names of all pairs, and their mean log-probabilities, both (pairs, 2).

    `model` is called; `bare` is the same without what it is wrapped in.
    """
    labels = inputs.pop("labels")
    is_labelled = labels != IGNORED
    with sources_once(bare, _NAMES), head_where(bare, is_labelled):
        logits = model(**inputs, use_cache=False).logits
    tokens, rows = gathered_log_probs(logits, labels[is_labelled]), is_labelled.nonzero()[:, 0]
    scores, means = score_sequences(tokens, rows, len(labels), score), average_tokens(tokens, rows, len(labels))
    return scores.view(-1, _NAMES), means.view(-1, _NAMES)


def reference_scores(
    model: Any, pairs: Sequence[Pair], collate: NameCollate, score: Score, *, is_bf16: bool = False
) -> list[tuple[float, float]]:
    """Return the scores of both names of each pair by a model, without dropout; the model is left unchanged."""
    was_training = model.training
    found: list[tuple[int, list[float]]] = []
    model.eval()
    order = sorted(range(len(pairs)), key=lambda row: len(pairs[row].prompt) + len(pairs[row].preferred))
    with torch.no_grad(), torch.autocast(model.device.type, torch.bfloat16, enabled=is_bf16):
        for first in range(0, len(order), _BATCH):
            rows = order[first : first + _BATCH]
            batch = {name: value.to(model.device) for name, value in collate.pairs([pairs[row] for row in rows]).items()}
            batch.pop("reference")
            scores, _ = name_scores(model, model, batch, score)
            found += zip(rows, scores.tolist(), strict=True)
    model.train(was_training)
    return [(scores[0], scores[1]) for _, scores in sorted(found)]
