"""Negative-aware training (ANGEL section 3.2): the model writes names, and learns to prefer the right ones to its mistakes.

In each round the model as it then is writes the names and is the reference. A round that was stopped goes on with its own
pairs, and a finished one is not repeated.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path

import numpy as np
from safetensors.torch import load_model

from onym.decoding.search import SearchConfig
from onym.errors import ConfigError, InputError
from onym.store.output import whole_folder
from onym.train.generative.context import Setting
from onym.train.generative.dev import linker_of
from onym.train.generative.preference import PreferenceTrainer, reference_scores, score_of
from onym.train.samples.mistakes import Preferred, iter_knowledge_mistakes, lookalike_mistakes, own_mistakes
from onym.train.samples.order import Shuffled
from onym.train.samples.pairs import Asked, PairSamples, Reference, read_pairs, write_pairs
from onym.train.samples.statements import Statements
from onym.train.samples.targets import Place

_MODEL, _PAIRS = "model", "pairs.jsonl"


def prefer(setting: Setting) -> PreferenceTrainer:
    """Train on pairs of names, going on where an earlier call was stopped."""
    rounds = setting.config.prefer.rounds
    done = [number for number in range(rounds) if (_work(setting, number) / _MODEL).is_dir()]
    if done:
        load_model(setting.model, _work(setting, done[-1]) / _MODEL / "model.safetensors")
    for number in range(len(done), rounds):
        trainer = _round(setting, number)
        if trainer.accelerator.is_main_process:
            with whole_folder(_work(setting, number) / _MODEL, force=True) as folder:
                trainer.write(folder.path)
        trainer.accelerator.wait_for_everyone()
    return trainer if len(done) < rounds else _round(setting, rounds - 1)


def _round(setting: Setting, number: int) -> PreferenceTrainer:
    config, work = setting.config, _work(setting, number)
    asked, preferred, references = _pairs(setting, number)
    steps = ceil(config.prefer.epochs * len(preferred) / setting.step_samples)
    optim = config.optim.model_copy(update={"steps": steps})
    pairs = PairSamples(
        preferred,
        asked,
        setting.kb.names,
        setting.layout,
        steps * setting.step_samples,
        seed=config.optim.seed,
        references=references,
    )
    trainer = PreferenceTrainer(
        setting.model,
        pairs,
        setting.collate,
        work,
        optim,
        prefer=config.prefer,
        dev=setting.dev,
        patience=config.dev.patience,
    )
    trainer.resume()
    return trainer


def _work(setting: Setting, number: int) -> Path:
    return setting.work / f"round-{number}"


def _pairs(setting: Setting, number: int) -> tuple[Asked, list[Preferred], list[Reference]]:
    asked, places, statements = _questions(setting, number)
    path = _work(setting, number) / _PAIRS
    if path.is_file():
        return asked, *read_pairs(path)
    preferred = _preferred(setting, places, statements)
    if not preferred:
        fix = "train the model on right names first, so that some of its answers are right"
        raise InputError("training-empty", "no mention gave a right and a wrong name", fix=fix)
    pairs = PairSamples(preferred, asked, setting.kb.names, setting.layout, len(preferred))
    found = [pairs.at(row) for row in range(len(preferred))]
    how = score_of(setting.config.prefer)
    setting.say(f"scoring {len(found):,} pairs of names as they are before the training")
    references = reference_scores(setting.model, found, setting.collate, how, precision=setting.config.optim.precision)
    write_pairs(preferred, references, path)
    return asked, preferred, references


def _questions(setting: Setting, number: int) -> tuple[Asked, list[Place], Statements | None]:
    """Return what is asked in a round: a part of the corpus' mentions, or, without a corpus, of the knowledge base's own."""
    if setting.benchmark is None:
        statements = Statements(setting.kb, setting.config.optim.seed + number, mention=setting.config.data.mention)

        def clause(place: int) -> tuple[str, int, int]:
            stated = statements.at([place])[0].clause
            return stated.text, stated.start, stated.end

        return clause, [], statements
    order = Shuffled(len(setting.places), setting.config.optim.seed).at(np.arange(len(setting.places)))
    part = [setting.places[row] for row in order[number :: setting.config.prefer.rounds].tolist()]

    def mention(place: int) -> tuple[str, int, int]:
        doc, mention = part[place]
        return doc.text, mention.start, mention.end

    return mention, part, None


def _preferred(setting: Setting, places: list[Place], statements: Statements | None) -> list[Preferred]:
    how, seed = setting.config.prefer, setting.config.optim.seed
    if statements is not None:
        if how.negatives != "similar":
            fix = 'set prefer.negatives to "similar", or name a corpus'
            raise ConfigError("config-invalid", "a knowledge base alone is not decoded: it is too large", fix=fix)
        return list(iter_knowledge_mistakes(statements, setting.kb, setting.samples_seen, seed=seed))
    if how.negatives == "similar":
        return lookalike_mistakes(places, setting.kb, top=how.top, seed=seed)
    search = SearchConfig(ranking=setting.config.dev.ranking, width=how.width, top_k=how.top)
    setting.say(f"linking {len(places):,} mentions, to learn from the mistakes")
    linker = linker_of(setting.model, setting.kb, setting.layout, search)
    return own_mistakes(linker, places, top=how.top, rule=how.rule)
