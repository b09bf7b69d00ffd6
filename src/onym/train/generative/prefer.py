"""Preference optimisation on hard negatives (ANGEL section 3.2): train the model to prefer right names to wrong ones.

A pair is a right name of a mention, and a wrong name that the model predicts or that is similar to the mention. In each round,
the current model predicts the names and is the reference model. The pairs of a round are stored in a file, so an interrupted
round resumes with the same pairs; finished rounds are not repeated. The source of a pair is encoded once for both names.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors.torch import load_model
from torch import Tensor

from onym.errors import ConfigError, InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.search import open_similarity
from onym.methods.generative.decoding.search import SearchConfig
from onym.methods.generative.linker import GenerativeLinker
from onym.methods.generative.template import InputLayout
from onym.store.arrays import Strings
from onym.store.output import whole_file, whole_folder
from onym.text.normal import normal_name
from onym.train.configs import GenerativeOptimConfig, PreferConfig
from onym.train.generative.losses import (
    IGNORED,
    NamedLoss,
    Preference,
    Score,
    average_tokens,
    find_loss,
    gather_log_probs,
    score_sequences,
)
from onym.train.generative.statements import Statements
from onym.train.generative.trainer import GenerativeContext, NameCollate, NameTrainer, head_where, linker_of, sources_once
from onym.train.precision import training_precision
from onym.train.samples.base import Batch, Pair, Samples, Shuffled, draw
from onym.train.samples.mentions import DocMention, gold_concepts, is_name_of, targets_of
from onym.train.trainer import Dev

Rule = Literal["violating", "all"]
"""Only pairs that the model ranks in the wrong order, or all pairs: ANGEL's Table 2."""
_STATEMENTS = 1024  # statements per batch of similarity look-ups
NONE = -1
"""Returned instead of a name id if no name of another concept shares a 3-gram with the mention."""
_STREAM = 3
_MORE = 4  # search 4 times as many names as needed; while too few of these are wrong, search 4 times as many again
TextOf = Callable[[int], tuple[str, int, int]]
"""Returns the text of a mention by its index, and the offsets of the mention in it."""
Reference = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """The index of a mention, and the ids of a right name (a name of its concept) and of a wrong name."""

    mention: int
    right: int
    wrong: int


def predict_preferences(
    linker: GenerativeLinker, mentions: Sequence[DocMention], *, top_k: int = 5, rule: Rule = "violating"
) -> list[PreferencePair]:
    """Return pairs of right and wrong names among the `top_k` names that the linker predicts for each mention."""
    found = []
    for number, ((_, mention), answer) in enumerate(zip(mentions, linker.decode_mentions(mentions), strict=True)):
        gold = gold_concepts(mention, linker.kb)
        names = [linker.trie.names_at(each.leaf).tolist() for each in answer.hypotheses[:top_k]]
        is_right = [is_name_of(gold, equal, linker.kb) for equal in names]
        found += [PreferencePair(number, names[good][0], names[bad][0]) for good, bad in rank_preferences(is_right, rule=rule)]
    return found


def lookalike_preferences(
    mentions: Sequence[DocMention], kb: KnowledgeBase, *, top_k: int = 5, seed: int = 0
) -> list[PreferencePair]:
    """Pair the most similar right name of each mention with a wrong name that is similar to the mention."""
    right = targets_of(mentions, kb)
    wrong = Lookalikes(kb, count=top_k, seed=seed).names_for(
        [mention.surface for _, mention in mentions],
        [gold_concepts(mention, kb) for _, mention in mentions],
        range(len(mentions)),
    )
    pairs = enumerate(zip(right, wrong, strict=True))
    return [PreferencePair(number, names[0], bad) for number, (names, bad) in pairs if names and bad != NONE]


def iter_kb_preferences(statements: Statements, kb: KnowledgeBase, count: int, *, seed: int = 0) -> Iterator[PreferencePair]:
    """Pair the target name of each of `count` KB statements with a wrong name similar to its mention (ANGEL 3.2)."""
    lookalikes = Lookalikes(kb, seed=seed)
    for first in range(0, count, _STATEMENTS):
        numbers = range(first, min(first + _STATEMENTS, count))
        stated = statements.at(numbers)
        surfaces = [kb.names[statement.mention] for statement in stated]
        gold = [kb.name_concepts[statement.mention].tolist() for statement in stated]
        for number, statement, wrong in zip(numbers, stated, lookalikes.names_for(surfaces, gold, numbers), strict=True):
            if wrong != NONE:
                yield PreferencePair(number, statement.target, wrong)


def rank_preferences(is_right: Sequence[bool], *, rule: Rule = "violating") -> list[tuple[int, int]]:
    """Return the (right, wrong) pairs of ranks to train on.

    ANGEL's rule (section 3.2): each right name is paired with every wrong name ranked above it; a right name at rank 0 is
    paired with the first wrong name, so that it stays first. Without a right name there are no pairs.

    >>> rank_preferences([False, True, False])
    [(1, 0)]
    >>> rank_preferences([True, False, True])
    [(0, 1), (2, 1)]
    >>> rank_preferences([True, False, True], rule="all")
    [(0, 1), (2, 1)]
    """
    right = [rank for rank, flag in enumerate(is_right) if flag]
    wrong = [rank for rank, flag in enumerate(is_right) if not flag]
    if rule == "all":
        return [(good, bad) for good in right for bad in wrong]
    first = [(0, wrong[0])] if right and right[0] == 0 and wrong else []
    return first + [(good, bad) for good in right if good for bad in wrong if bad < good]


class Lookalikes:
    """Samples, for a mention, one of the `count` most similar names of other concepts.

    Create one object and reuse it, because it opens the 3-gram TF-IDF matrix of all names.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> heart = kb.resolve("mesh:D009203")
    >>> found = Lookalikes(kb, count=1).names_for(["high heart attack"], [heart], [0])
    >>> [kb.names[name] for name in found]
    ['high blood pressure']
    """

    def __init__(self, kb: KnowledgeBase, *, count: int = 5, seed: int = 0) -> None:
        self._kb, self._count, self._seed = kb, count, seed
        self._similarity = open_similarity(kb)

    def names_for(self, surfaces: Sequence[str], gold: Sequence[Collection[int]], indices: Sequence[int]) -> list[int]:
        """Return the id of a wrong name for each mention, or NONE. The choice is determined by seed and index."""
        found = self._wrong([normal_name(surface) for surface in surfaces], [frozenset(each) for each in gold])
        return [
            names[draw(self._seed, index, len(names), stream=_STREAM)] if names else NONE
            for names, index in zip(found, indices, strict=True)
        ]

    def _wrong(self, surfaces: Sequence[str], gold: Sequence[frozenset[int]]) -> list[list[int]]:
        """Return up to `count` most similar wrong names for each mention."""
        found: list[list[int]] = [[] for _ in surfaces]
        left, depth = list(range(len(surfaces))), self._count * _MORE
        while left:
            tops = self._similarity.top([surfaces[row] for row in left], depth)
            cut = []
            for row, (names, _) in zip(left, tops, strict=True):
                found[row] = [name for name in names.tolist() if self._is_wrong(name, gold[row])][: self._count]
                if len(found[row]) < self._count and len(names) == depth:
                    cut.append(row)
            left, depth = cut, depth * _MORE
        return found

    def _is_wrong(self, name: int, gold: frozenset[int]) -> bool:
        return gold.isdisjoint(self._kb.name_concepts[name].tolist())


@dataclass(frozen=True)
class PairSamples:
    """`count` preference pairs as training samples, shuffled by `seed`; an epoch has every pair once."""

    pairs: Sequence[PreferencePair]
    text_of: TextOf
    names: Strings
    layout: InputLayout
    count: int
    seed: int = 0
    references: Sequence[Reference] = ()

    def __len__(self) -> int:
        return self.count

    def __getitems__(self, indices: Sequence[int]) -> list[Pair]:
        order = Shuffled(len(self.pairs), self.seed)
        return [self.at(row) for row in order.at(np.asarray(indices, dtype=np.int64)).tolist()]

    def at(self, row: int) -> Pair:
        """Return the tokenised pair at a row of `pairs` (before shuffling)."""
        each, layout = self.pairs[row], self.layout
        text, start, end = self.text_of(each.mention)
        return Pair(
            layout.source(text, start, end),
            layout.prompt(text[start:end]),
            layout.name(self.names[each.right]),
            layout.name(self.names[each.wrong]),
            self.references[row] if self.references else (0.0, 0.0),
        )


def write_pairs(pairs: Sequence[PreferencePair], references: Sequence[Reference], path: Path) -> None:
    """Write pairs and their reference scores as JSON lines [mention, right, wrong, score, score]."""
    with whole_file(path, force=True) as file:
        for each, reference in zip(pairs, references, strict=True):
            file.write(json.dumps([each.mention, each.right, each.wrong, *reference]).encode() + b"\n")


def read_pairs(path: Path) -> tuple[list[PreferencePair], list[Reference]]:
    """Read a file written by `write_pairs`.

    >>> path = getfixture("tmp_path") / "pairs.jsonl"
    >>> write_pairs([PreferencePair(0, 3, 4)], [(-1.5, -2.0)], path)
    >>> read_pairs(path)
    ([PreferencePair(mention=0, right=3, wrong=4)], [(-1.5, -2.0)])
    """
    try:
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        pairs = [
            (PreferencePair(int(mention), int(right), int(wrong)), (float(one), float(two)))
            for mention, right, wrong, one, two in rows
        ]
    except (OSError, ValueError, TypeError, IndexError) as e:
        what, fix = "invalid file of preference pairs", "delete the file and run again"
        raise IntegrityError("artefact-corrupt", what, where=str(path), fix=fix) from e
    return [each for each, _ in pairs], [reference for _, reference in pairs]


_log = logging.getLogger("onym.train")
_MODEL, _PAIRS = "model", "pairs.jsonl"
_NAMES = 2
_PAIRS_AT_ONCE = 64


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
    """The mentions of a round: a part of the dataset's mentions or, if there is no dataset, the mentions in KB statements."""

    part: list[DocMention]
    statements: Statements | None = None

    def text_of(self, index: int) -> tuple[str, int, int]:
        """Return the text that contains a mention, and the mention's offsets in it."""
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
    """Return the pairs of a round with their reference scores; computed once, then read from the file `path`."""
    if path.is_file():
        return read_pairs(path)
    pairs = _preferences(context, mentions)
    if not pairs:
        fix = "fine-tune the model first (onym train finetune), so that some of its predictions are right"
        raise InputError("training-empty", "no mention has both a right and a wrong name", fix=fix)
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
            fix = 'set prefer.negatives to "similar", or set data.dataset'
            what = f'prefer.negatives = "{config.negatives}" needs a dataset: decoding a whole knowledge base takes too long'
            raise ConfigError("config-invalid", what, fix=fix)
        return list(iter_kb_preferences(mentions.statements, context.kb, context.total_samples, seed=seed))
    if config.negatives == "similar":
        return lookalike_preferences(mentions.part, context.kb, top_k=config.top_k, seed=seed)
    search = SearchConfig(ranking=context.config.dev.ranking, width=config.beam_width, top_k=config.top_k)
    _log.info("linking %d mentions, to mine hard negatives", len(mentions.part))
    linker = linker_of(context.model, context.kb, context.layout, search)
    return predict_preferences(linker, mentions.part, top_k=config.top_k, rule=config.rule)


class PreferenceTrainer(NameTrainer):
    """Trainer of a model that prefers the right name of each pair."""

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
        """Return the loss summed over all pairs."""
        reference = inputs.pop("reference")
        scores, means = name_scores(model, self.accelerator.unwrap_model(model), inputs, self.score)
        preference = Preference(scores[:, 0], scores[:, 1], reference[:, 0], reference[:, 1])
        return self.loss(preference, -means[:, 0]).sum()

    def items(self, inputs: Batch) -> int:
        """Return the number of pairs."""
        return len(inputs["reference"])


def loss_of(prefer: PreferConfig) -> NamedLoss:
    """Return the configured loss, with the configured beta, gamma and alpha if the loss has these options.

    >>> dict(loss_of(PreferConfig(loss="pairwise", beta=0.2)).options)["beta"]
    0.2
    """
    options = find_loss(prefer.loss).options
    return find_loss(prefer.loss, **{name: getattr(prefer, name) for name in ("beta", "gamma", "alpha") if name in options})


def score_of(prefer: PreferConfig) -> Score:
    """Return how a name is scored: as configured or, by default, as in the paper of the loss.

    >>> score_of(PreferConfig(loss="simpo")), score_of(PreferConfig(loss="simpo", score="sum"))
    ('mean', 'sum')
    """
    return prefer.score or loss_of(prefer).score


def name_scores(model: Any, bare: Any, inputs: Batch, score: Score) -> tuple[Tensor, Tensor]:
    """Return the scores of the names of all pairs, and their mean log-probabilities, both (pairs, 2).

    `bare` is the model without its DDP or FSDP wrapper.
    """
    labels = inputs.pop("labels")
    is_labelled = labels != IGNORED
    with sources_once(bare, _NAMES), head_where(bare, is_labelled):
        logits = model(**inputs, use_cache=False).logits
    tokens, rows = gather_log_probs(logits, labels[is_labelled]), is_labelled.nonzero()[:, 0]
    scores, means = score_sequences(tokens, rows, len(labels), score), average_tokens(tokens, rows, len(labels))
    return scores.view(-1, _NAMES), means.view(-1, _NAMES)


def reference_scores(
    model: Any, pairs: Sequence[Pair], collate: NameCollate, score: Score, *, is_bf16: bool = False
) -> list[tuple[float, float]]:
    """Return the scores of both names of each pair, computed without dropout; the model is not changed."""
    was_training = model.training
    found: list[tuple[int, list[float]]] = []
    model.eval()
    order = sorted(range(len(pairs)), key=lambda row: len(pairs[row].prompt) + len(pairs[row].preferred))
    with torch.no_grad(), torch.autocast(model.device.type, torch.bfloat16, enabled=is_bf16):
        for first in range(0, len(order), _PAIRS_AT_ONCE):
            rows = order[first : first + _PAIRS_AT_ONCE]
            batch = {name: value.to(model.device) for name, value in collate.pairs([pairs[row] for row in rows]).items()}
            batch.pop("reference")
            scores, _ = name_scores(model, model, batch, score)
            found += zip(rows, scores.tolist(), strict=True)
    model.train(was_training)
    return [(scores[0], scores[1]) for _, scores in sorted(found)]
