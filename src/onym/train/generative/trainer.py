"""Training of generative models on gold names (GenBioEL, ANGEL): KB-guided pre-training and fine-tuning on mentions.

The loss covers only the name, batches have samples of similar length, and the dev evaluation decodes over all names of the KB.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from onym.kb import KnowledgeBase
from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.search import Decoded, SearchConfig
from onym.methods.generative.linker import GenerativeLinker, GenerativeLinkerConfig, ModelSettings
from onym.methods.generative.template import InputLayout, template_named
from onym.methods.generative.trie.artefact import open_derived_trie
from onym.models.tokens import FILE
from onym.models.torch_loading import in_precision
from onym.train.configs import GenerativeDevConfig, GenerativeOptimConfig, GenerativeTrainingConfig
from onym.train.context import TrainingContext, space_evenly
from onym.train.generative.losses import IGNORED, cross_entropy
from onym.train.generative.start import open_start
from onym.train.generative.statements import KnowledgeSamples
from onym.train.samples.base import Batch, Bucketed, Pair, Sample, Samples
from onym.train.samples.mentions import DocMention, MentionSamples, gold_concepts, is_name_of, mentions_of, require_linkable
from onym.train.trainer import Dev, ModelTrainer

_log = logging.getLogger("onym.train")
_UNBOUNDED = 1_000_000


def finetune(context: GenerativeContext) -> NameTrainer:
    """Train on the mentions of a dataset; an interrupted run resumes."""
    data = context.config.data
    _log.info("choosing names for %d mentions", len(context.mentions))
    samples = MentionSamples(
        context.mentions,
        context.kb,
        context.layout,
        count=context.total_samples,
        choice=data.target,
        names=data.names,
        seed=context.config.optim.seed,
    )
    require_linkable(samples.epoch)
    return train_names(context, samples)


def train_names(context: GenerativeContext, samples: Samples[Sample]) -> NameTrainer:
    """Train on names as targets; shared by fine-tuning and pre-training."""
    trainer = NameTrainer(
        context.model,
        samples,
        context.collate,
        context.work,
        context.config.optim,
        dev=context.dev,
        patience=context.config.dev.patience,
    )
    trainer.resume()
    return trainer


def pretrain(context: GenerativeContext) -> NameTrainer:
    """Train on the names of a knowledge base; an interrupted run resumes."""
    config = context.config
    samples = KnowledgeSamples(
        context.kb, context.layout, count=context.total_samples, seed=config.optim.seed, mention=config.data.mention
    )
    return train_names(context, samples)


@dataclass(frozen=True)
class GenerativeContext(TrainingContext[GenerativeTrainingConfig]):
    """Inputs of a generative training run."""

    @property
    def files(self) -> dict[str, bytes]:
        """All files except the weights: the tokenizer and the linker settings."""
        start, dev = self.config.start, self.config.dev
        settings = ModelSettings(template=start.template, window=start.window, search=dev.search, ranking=dev.ranking)
        return {FILE: self.layout.tokens.data, ModelSettings.FILE: settings.to_bytes()}

    @cached_property
    def model(self) -> Any:
        """The model to train."""
        start = self.config.start
        _log.info("opening the model %s", start.model)
        model = open_start(Path(start.model), dropout=start.dropout, attention_dropout=start.attention_dropout)
        if start.freeze_embeddings:
            model.get_input_embeddings().requires_grad_(False)
            model.get_output_embeddings().requires_grad_(False)
        return self.on_device(model)

    @cached_property
    def layout(self) -> InputLayout:
        """The layout of the model's input and output."""
        start = self.config.start
        return InputLayout(template_named(start.template), self.tokenizer, start.window, adapter_of(self.model).max_positions)

    @cached_property
    def collate(self) -> NameCollate:
        """The collate function."""
        config = self.model.config
        return NameCollate(config.decoder_start_token_id, config.eos_token_id, config.pad_token_id, self.layout.max_tokens)

    @cached_property
    def dev(self) -> GenerativeDev | None:
        """The evaluation on dev; None if it is disabled or there is no dataset."""
        config = self.config.dev
        if self.dataset is None or not config.mentions:
            return None
        kb = self.dev_kb
        _log.info("preparing the evaluation on %s", config.split)
        mentions = space_evenly(mentions_of(self.dataset.documents(config.split)), config.mentions)
        return GenerativeDev(mentions, kb, self.layout, config)


@dataclass(frozen=True, slots=True)
class NameCollate:
    """Collate function for seq2seq samples, with the model's decoder start, end and padding token ids.

    `max_length` is the maximum number of decoder tokens; longer names are truncated.

    >>> batch = NameCollate(start=2, eos=2, pad=1)([Sample([0, 7, 2], [8], [9, 9])])
    >>> batch["decoder_input_ids"].tolist(), batch["labels"].tolist()
    ([[2, 8, 9, 9]], [[-100, 9, 9, 2]])
    """

    start: int
    eos: int
    pad: int
    max_length: int = _UNBOUNDED

    def __call__(self, samples: Sequence[Sample]) -> Batch:
        """Return the samples as one batch, in the given order."""
        sources = [sample.source for sample in samples]
        return self._sources(sources) | self._targets([(sample.prompt, sample.name) for sample in samples])

    def pairs(self, pairs: Sequence[Pair]) -> Batch:
        """Return preference pairs as one batch; each pair has two consecutive rows, the preferred and the rejected name."""
        sources = [pair.source for pair in pairs for _ in range(2)]
        targets = [(pair.prompt, name) for pair in pairs for name in (pair.preferred, pair.rejected)]
        reference = torch.tensor([pair.reference for pair in pairs])
        return self._sources(sources) | self._targets(targets) | {"reference": reference}

    def _sources(self, sources: Sequence[Sequence[int]]) -> Batch:
        ids = _pad(sources, self.pad)
        lengths = torch.tensor([len(source) for source in sources])
        return {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long()}

    def _targets(self, targets: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
        inputs = [[self.start, *prompt, *name][: self.max_length] for prompt, name in targets]
        labels = [[*(IGNORED for _ in prompt), *name, self.eos][: self.max_length] for prompt, name in targets]
        return {"decoder_input_ids": _pad(inputs, self.pad), "labels": _pad(labels, IGNORED)}


def _pad(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    length = max(len(row) for row in rows)
    return torch.tensor([[*row, *(fill for _ in range(length - len(row)))] for row in rows])


class NameTrainer(ModelTrainer):
    """Trainer of a model that generates names."""

    def __init__(
        self,
        model: Any,
        samples: Samples[Any],
        collate: Callable[[Sequence[Any]], Batch],
        folder: Path,
        optim: GenerativeOptimConfig,
        *,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        ordered = Bucketed(samples, optim.batch_size, seed=optim.seed)
        super().__init__(model, ordered, collate, folder, optim, dev=dev, patience=patience)
        self.smoothing = optim.label_smoothing

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the loss summed over all labelled tokens."""
        labels = inputs.pop("labels")
        is_labelled = labels != IGNORED
        with head_where(self.accelerator.unwrap_model(model), is_labelled):
            logits = model(**inputs, use_cache=False).logits
        return cross_entropy(logits, labels[is_labelled], self.smoothing)

    def items(self, inputs: Batch) -> int:
        """Return the number of labelled tokens."""
        return int((inputs["labels"] != IGNORED).sum())


@contextmanager
def head_where(model: Any, is_wanted: Tensor) -> Iterator[None]:
    """Compute logits only at the positions in the mask `is_wanted`, as (wanted tokens, vocabulary).

    This saves time: about half of the decoder tokens are an unlabelled prompt, and the output head is a third of the compute of
    a small model. It is a hook on the head itself, so that it also works if the model is wrapped (DDP, FSDP).
    """

    def select_wanted(_: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (arguments[0][is_wanted], *arguments[1:])

    handle = model.get_output_embeddings().register_forward_pre_hook(select_wanted)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def sources_once(model: Any, copies: int) -> Iterator[None]:
    """Make the encoder process each source only once, although each source is in `copies` consecutive rows of the batch."""

    def first_of_each(_: nn.Module, arguments: Any, keywords: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        def cut(value: Any) -> Any:
            return value[::copies] if isinstance(value, Tensor) else value

        return tuple(map(cut, arguments)), {name: cut(value) for name, value in keywords.items()}

    def for_each(_: nn.Module, __: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state.repeat_interleave(copies, dim=0)
        return output

    encoder = model.get_encoder()
    handles = [encoder.register_forward_pre_hook(first_of_each, with_kwargs=True), encoder.register_forward_hook(for_each)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class GenerativeDev:
    """Evaluation on a fixed set of mentions: `dev_r1` and `dev_r5` are any-id recall in percent."""

    def __init__(
        self, mentions: Sequence[DocMention], kb: KnowledgeBase, layout: InputLayout, config: GenerativeDevConfig
    ) -> None:
        self._mentions, self._kb, self._layout = mentions, kb, layout
        self._trie = open_derived_trie(kb, layout.tokens, layout.template)
        self._search = SearchConfig(search=config.search, ranking=config.ranking, width=5, top_k=5, budget=200)
        self._gold = [gold_concepts(mention, kb) for _, mention in mentions]

    def __len__(self) -> int:
        return len(self._mentions)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the scores of a model without changing it."""
        linker = linker_of(model, self._kb, self._layout, self._search, self._trie)
        ranks = [
            self._rank_of_gold(each, gold)
            for each, gold in zip(linker.decode_mentions(self._mentions), self._gold, strict=True)
        ]
        return {f"dev_r{k}": 100 * sum(rank < k for rank in ranks) / max(len(ranks), 1) for k in (1, 5)}

    def _rank_of_gold(self, decoded: Decoded, gold: frozenset[int]) -> int:
        for rank, hypothesis in enumerate(decoded.hypotheses):
            if is_name_of(gold, self._trie.names_at(hypothesis.leaf).tolist(), self._kb):
                return rank
        return len(decoded.hypotheses) + 5


def linker_of(model: Any, kb: KnowledgeBase, layout: InputLayout, search: SearchConfig, trie: Any = None) -> GenerativeLinker:
    """Return a linker with a copy of a model that is being trained."""
    adapter = adapter_of(in_precision(model, "auto"))
    config = GenerativeLinkerConfig(template=layout.template.name, window=layout.window)
    return GenerativeLinker(kb, adapter, layout.tokens, config, search=search, trie=trie)
