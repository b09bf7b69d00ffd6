"""Preference optimisation on hard negatives (ANGEL section 3.2): right names are preferred to those wrongly predicted.

In each round the current model predicts the names and is the reference. An interrupted round resumes with its own pairs, and a
finished one is not repeated.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
from safetensors.torch import load_model

from onym.decoding.search import SearchConfig
from onym.errors import ConfigError, InputError
from onym.store.output import whole_folder
from onym.train.arguments import training_precision
from onym.train.generative.context import GenerativeContext
from onym.train.generative.dev import linker_of
from onym.train.generative.preference_trainer import PreferenceTrainer, reference_scores, score_of
from onym.train.samples.order import Shuffled
from onym.train.samples.pairs import PairSamples, Reference, read_pairs, write_pairs
from onym.train.samples.preferences import PreferencePair, iter_kb_preferences, lookalike_preferences, predicted_preferences
from onym.train.samples.statements import Statements
from onym.train.samples.targets import DocMention

_log = logging.getLogger("onym.train")
_MODEL, _PAIRS = "model", "pairs.jsonl"


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
