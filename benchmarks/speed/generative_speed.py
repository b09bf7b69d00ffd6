"""Measure a trained model on real mentions, in mentions per second, with its prompts and names of any length.

    beam5       Onym, beam search with 5 beams
    exact       Onym, exact search for the best name
    callback    transformers' generate, 5 beams, batches of up to 32, a callback over a trie of dicts; a batch holds mentions
                whose prompts have the same length, so that no prompt is padded

All systems use the precision that is fastest on this machine, and the same input tokens. The median of three rounds after a
warm-up is reported. `exact_proved_pct` is the share of mentions whose best name is proved optimal. `beam5_miss_pct` is the
share of these for which beam search returns a less likely name; differences within rounding error do not count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.decoding import BATCH, WIDTH, best_precision
from benchmarks.report import percent
from benchmarks.results.generative_results import RANKINGS
from benchmarks.results.tasks import KINDS, open_task
from onym.kb import KnowledgeBase
from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.search import Decoded, Ranking, SearchConfig, search_names
from onym.methods.generative.decoding.session import TreeSession, open_model
from onym.methods.generative.linker import ModelSettings
from onym.methods.generative.template import InputLayout, template_named
from onym.methods.generative.trie.artefact import open_derived_trie
from onym.methods.generative.trie.packed import PackedTrie
from onym.models.tokens import Tokenizer

MENTIONS, QUICK_MENTIONS, RUNS = 512, 32, 3
Tokens = Sequence[int]
Node = dict[int, Any]


@dataclass(frozen=True, slots=True)
class Setup:
    """A model, the trie of names, and the mentions to decode."""

    model: Any
    kb: KnowledgeBase
    trie: PackedTrie
    layout: InputLayout
    sources: list[Tokens]
    prompts: list[Tokens]
    ranking: Ranking


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, help="folder of a trained model to measure")
    parser.add_argument("--ranking", choices=RANKINGS, default=None, help="with --model: ranking; by default the model's own")
    parser.add_argument(
        "--dataset", choices=KINDS, default="ncbi_disease", help="with --model: dataset whose test mentions are used"
    )


def measure(options: argparse.Namespace) -> dict[str, object]:
    setup = _setup(options)
    children, max_tokens = dict_trie(setup)
    systems: dict[str, Callable[[], object]] = {
        "beam5": lambda: onym(setup, search="beam", top_k=WIDTH),
        "exact": lambda: onym(setup, search="exact", top_k=1),
        "callback": lambda: generate(setup, children, max_tokens),
    }
    rates, last = _time_systems(systems, len(setup.sources), runs=1 if options.quick else RUNS)
    figures: dict[str, object] = {f"{name}_mentions_per_s": round(rate, 2) for name, rate in rates.items()}
    about = {"mentions": len(setup.sources), "precision": best_precision()}
    return figures | misses(last["beam5"], last["exact"], setup.ranking) | about


def misses(beam: Sequence[Decoded], exact: Sequence[Decoded], ranking: Ranking) -> dict[str, object]:
    """Return the share of mentions whose best name is proved optimal, and the share of these that beam search misses."""
    proved = [(one, other) for one, other in zip(beam, exact, strict=True) if other.is_proved and other.hypotheses]
    missed = sum(_is_missed(one, other, ranking) for one, other in proved)
    return {"exact_proved_pct": percent(len(proved), len(exact)), "beam5_miss_pct": percent(missed, len(proved))}


def onym(setup: Setup, **options: Any) -> list[Decoded]:
    """Decode with Onym's search."""
    adapter = adapter_of(setup.model)
    config = SearchConfig(ranking=setup.ranking, width=WIDTH, batch=BATCH, **options)
    return search_names(lambda batch: TreeSession(adapter, batch), setup.trie, setup.sources, setup.prompts, config)


def generate(setup: Setup, children: Node, max_tokens: int) -> list[list[int]]:
    """Decode with transformers, and return the tokens of the best name of each mention, without the end token."""
    config = setup.model.config
    found: dict[int, list[int]] = {}
    for batch in like_prompts(setup.sources, setup.prompts):
        rows = [torch.tensor(setup.sources[i]) for i in batch]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=config.pad_token_id)
        lengths = torch.tensor([len(row) for row in rows])
        decoder_ids = torch.tensor([[config.decoder_start_token_id, *setup.prompts[i]] for i in batch])
        with torch.inference_mode():
            made = setup.model.generate(
                input_ids=ids,
                attention_mask=(torch.arange(ids.shape[1]) < lengths[:, None]).long(),
                decoder_input_ids=decoder_ids,
                prefix_allowed_tokens_fn=callback(children, decoder_ids.shape[1], config.eos_token_id),
                num_beams=WIDTH,
                max_new_tokens=max_tokens,
                max_length=None,
                min_length=0,
                early_stopping=False,
                length_penalty=1.0 if setup.ranking == "mean" else 0.0,
                no_repeat_ngram_size=0,
                repetition_penalty=1.0,
                forced_bos_token_id=None,
                forced_eos_token_id=None,
                do_sample=False,
            )
        found |= dict(
            zip(batch, (_until(row, config.eos_token_id) for row in made[:, decoder_ids.shape[1] :].tolist()), strict=True)
        )
    return [found[i] for i in range(len(setup.sources))]


def like_prompts(sources: Sequence[Tokens], prompts: Sequence[Tokens], size: int = BATCH) -> Iterator[list[int]]:
    """Yield batches of mentions with prompts of equal length, sorted by source length."""
    order = sorted(range(len(sources)), key=lambda i: (len(prompts[i]), len(sources[i])))
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) == size or len(prompts[batch[0]]) != len(prompts[i])):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def callback(root: Node, prompt_length: int, eos: int) -> Callable[[int, torch.Tensor], list[int]]:
    """Return the callback that GENRE passes to transformers: it walks nested dicts from the root for every row."""

    def allow_tokens(_: int, ids: torch.Tensor) -> list[int]:
        node = root
        for token in ids.tolist()[prompt_length:]:
            node = node.get(token, {})
        return list(node) or [eos]

    return allow_tokens


def dict_trie(setup: Setup) -> tuple[Node, int]:
    """Return the names as nested dicts, and the length of the longest name in tokens, with the end token."""
    template, names = setup.layout.template, setup.kb.names.to_arrow().to_pylist()
    tokens = setup.layout.tokens.ids_of([template.name_text(name) for name in names])
    flat, offsets = tokens.values.tolist(), tokens.offsets.tolist()
    root: Node = {}
    for start, end in pairwise(offsets):
        node = root
        for token in (*flat[start:end], setup.trie.eos):
            node = node.setdefault(token, {})
    return root, 1 + max(end - start for start, end in pairwise(offsets))


def _setup(options: argparse.Namespace) -> Setup:
    task = open_task(options.dataset, "test")
    own = ModelSettings.read(options.model).update(ranking=options.ranking)
    tokenizer, template = Tokenizer.open(options.model), template_named(own.template)
    model = open_model(options.model, best_precision(), device="cpu")
    layout = InputLayout(template, tokenizer, own.window, adapter_of(model).max_positions)
    mentions = ((doc, mention) for doc in task.dataset.documents("test") for mention in doc.mentions)
    pairs = list(islice(mentions, QUICK_MENTIONS if options.quick else MENTIONS))
    return Setup(
        model=model,
        kb=task.kb,
        trie=open_derived_trie(task.kb, tokenizer, template),
        layout=layout,
        sources=[layout.source(doc.text, mention.start, mention.end) for doc, mention in pairs],
        prompts=[layout.prompt(mention.surface) for _, mention in pairs],
        ranking=own.ranking,
    )


def _time_systems(systems: dict[str, Callable[[], Any]], count: int, runs: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Run all systems in turn, and return the mentions per second and the last answers of each."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    last: dict[str, Any] = {}
    for number in range(1 + runs):
        for name, decode in systems.items():
            start = time.perf_counter()
            last[name] = decode()
            if number:  # the first round is a warm-up
                seconds[name].append(time.perf_counter() - start)
    return {name: count / median(times) for name, times in seconds.items()}, last


def _is_missed(beam: Decoded, exact: Decoded, ranking: Ranking) -> bool:
    best = exact.hypotheses[0]
    if not beam.hypotheses:
        return True
    found = beam.hypotheses[0]
    return found.leaf != best.leaf and found.score(ranking) < best.score(ranking)


def _until(tokens: list[int], eos: int) -> list[int]:
    return tokens[: tokens.index(eos)] if eos in tokens else tokens
