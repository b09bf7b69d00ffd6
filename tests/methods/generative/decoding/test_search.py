"""Tests of the name search: results do not depend on batches, threads or the device, and are always names of the trie."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.score_candidates import score_candidates
from onym.methods.generative.decoding.search import SearchConfig, search_names
from onym.methods.generative.decoding.session import TreeSession
from tests.methods.generative.decoding.families import model
from tests.methods.generative.decoding.paths import PathSession, draw_logits, some_trie, trie
from tests.models.second_device import DEVICE, second_device
from tests.robustness.decoding import decode_sound
from tests.robustness.decoding.cases import trie_of
from tests.support.models import tiny_bart

SOURCES = [[1], [2, 2], [3], [4, 4, 4], [5], [6, 6], [7]]
PROMPTS = [[], [1], [1, 1], [], [3], [], [2]]
both = pytest.mark.parametrize("search", ["beam", "exact"])


@both
@pytest.mark.parametrize("chain", [0, 8])
def test_batches_change_nothing(search: Any, chain: int) -> None:
    names = some_trie(4)
    sizes: list[int] = []

    def start(sources: Sequence[Sequence[int]]) -> PathSession:
        sizes.append(len(sources))
        return PathSession(sources)

    config = SearchConfig(search, batch=1)
    alone = [search_names(start, names, [source], [prompt], config)[0] for source, prompt in zip(SOURCES, PROMPTS, strict=True)]
    for batch in (1, 2, 3, 32):
        sizes.clear()
        found = search_names(start, names, SOURCES, PROMPTS, SearchConfig(search, batch=batch, chain=chain))
        assert [each.hypotheses for each in found] == [each.hypotheses for each in alone]
        assert sum(sizes) == 7
        assert max(sizes) == min(batch, 7)


def test_decodes_similar_lengths_together() -> None:
    lengths: list[list[int]] = []

    def start(sources: Sequence[Sequence[int]]) -> PathSession:
        lengths.append([len(source) for source in sources])
        return PathSession(sources)

    search_names(start, some_trie(1), SOURCES, PROMPTS, SearchConfig(batch=3))
    assert lengths == [[3, 2, 2], [1, 1, 1], [1]]


@both
def test_parallel_batches_change_neither_results_nor_threads(search: Any) -> None:
    names, config = some_trie(4), SearchConfig(search, batch=2)
    alone = search_names(PathSession, names, SOURCES, PROMPTS, config)
    threads: set[int] = set()

    def start(sources: Sequence[Sequence[int]]) -> PathSession:
        threads.add(threading.get_ident())
        return PathSession(sources)

    torch.set_num_threads(2)
    try:
        assert search_names(start, names, SOURCES, PROMPTS, config) == alone
        assert torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError):
            search_names(lambda _: 1 // 0, names, SOURCES, PROMPTS, config)  # type: ignore[arg-type, return-value]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert threading.get_ident() not in threads


@both
def test_threads_give_the_same_results(search: Any) -> None:
    adapter = adapter_of(tiny_bart())
    names = trie_of([[5, 6], [5, 7, 8], [9], [10, 11, 12]], adapter.eos, adapter.vocabulary)
    sources = [[0, *range(4, 5 + number % 9), 2] for number in range(24)]

    def decode(_: int) -> list[Any]:
        config = SearchConfig(search, batch=4)
        return search_names(lambda some: TreeSession(adapter, some), names, sources, [[2]] * len(sources), config)

    torch.set_num_threads(2)
    try:
        alone = decode(0)
        with ThreadPoolExecutor(8) as pool:
            assert all(found == alone for found in pool.map(decode, range(16)))
    finally:
        torch.set_num_threads(1)


def test_no_mention() -> None:
    assert search_names(PathSession, some_trie(1), [], [], SearchConfig()) == []


@both
@pytest.mark.parametrize("top_k", [1, 3])
def test_returns_at_most_top_k_names(search: Any, top_k: int) -> None:
    names = trie([3], [4], [5], [6], [7])
    (five,) = search_names(PathSession, names, [[1]], [[]], SearchConfig(search, width=5, top_k=5))
    (some,) = search_names(PathSession, names, [[1]], [[]], SearchConfig(search, width=5, top_k=top_k))
    assert len(five.hypotheses) == 5
    assert some.hypotheses == five.hypotheses[:top_k]


@both
def test_a_restriction(search: Any) -> None:
    names = trie([3], [3, 4], [5], [6, 7])
    wanted = names.restriction(np.array([False, True, False, True]))
    found = search_names(PathSession, names, SOURCES, PROMPTS, SearchConfig(search), restriction=wanted)
    leaves = {each.leaf for decoded in found for each in decoded.hypotheses}
    assert leaves == {names.find([3, 4]), names.find([6, 7])}
    nobody = names.restriction(np.zeros(4, dtype=bool))
    assert [
        each.hypotheses for each in search_names(PathSession, names, [[1]], [[]], SearchConfig(search), restriction=nobody)
    ] == [()]


def test_the_exact_search_has_the_budget_it_is_passed() -> None:
    names = some_trie(1, max_names=60)
    (little,) = search_names(PathSession, names, [[1]], [[]], SearchConfig("exact", budget=1))
    (much,) = search_names(PathSession, names, [[1]], [[]], SearchConfig("exact", budget=1000))
    assert (little.is_proved, much.is_proved) == (False, True)
    assert draw_logits((1,)).shape == (9,)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("has_model", [False, True])
def test_results_are_always_names_of_the_trie(seed: int, *, has_model: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs some of the million cases of tests/robustness/decoding/decode_sound.py."""
    monkeypatch.setattr(decode_sound, "AT_ONCE", {False: 100, True: 10})
    counts = decode_sound.search(decode_sound.Job(seed, has_model=has_model))
    assert counts["decodes"] + counts["model_decodes"] == (10 if has_model else 100)
    assert counts["outside"] == counts["malformed"] == 0


def test_soundness_check_detects_invalid_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode_sound, "AT_ONCE", {False: 100, True: 10})
    of = decode_sound.Book.of
    monkeypatch.setattr(decode_sound.Book, "of", lambda names, *more: of([[3, *name] for name in names], *more))
    healthy = decode_sound.search(decode_sound.Job(9, has_model=False))
    assert healthy["outside"] == 0
    assert healthy["hypotheses"] > 0

    def forgetful(names: Any, *more: Any) -> decode_sound.Book:
        book = of(names, *more)
        return decode_sound.Book(book.trie, {}, {}, 0)

    monkeypatch.setattr(decode_sound.Book, "of", forgetful)
    broken = decode_sound.search(decode_sound.Job(9, has_model=False))
    assert broken["outside"] == broken["malformed"] == 100 - broken["nameless"]


WORDS = (
    "fever heart attack liver kidney disease tumor protein patient doctor nurse cancer lung muscle nerve water house river "
    "mountain window garden yellow purple orange simple candle music market village summer"
)


@pytest.mark.real_models
@both
@pytest.mark.parametrize("family", ["bart", "t5"])
def test_a_model_on_another_device(search: Any, family: str) -> None:
    """On a second device, the search must find the same names with the same scores."""
    names = [[5, 6, 7], [5, 9], [8, 6, 7, 10], [11], [12, 13]]
    config = SearchConfig(search, width=3, top_k=3, batch=3, chain=2)

    def find_names() -> list[list[tuple[int, float]]]:
        adapter = adapter_of(made)
        start, trie = partial(TreeSession, adapter), trie_of(names, adapter.eos, adapter.vocabulary)
        decoded = search_names(start, trie, SOURCES, PROMPTS, config)
        scored = score_candidates(start, SOURCES, PROMPTS, [names] * len(SOURCES), eos=adapter.eos)
        assert len(scored[0]) == len(names)
        return [[(each.leaf, round(each.log_prob, 3)) for each in one.hypotheses] for one in decoded]

    made = copy.deepcopy(model(family))
    wanted = find_names()
    with second_device() as device:
        made.to(device)
        assert adapter_of(made).device == DEVICE
        assert find_names() == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(batch=8),
        SearchConfig(batch=30, chain=8),
        SearchConfig(ranking="sum", width=10),
        SearchConfig("exact", "sum"),
        SearchConfig("exact", "mean", budget=10_000),
    ],
)
def test_trained_model_finds_pronunciations(real_models: Path, config: SearchConfig) -> None:
    """A trained grapheme-to-phoneme BART must find the right pronunciation of 30 words among near misses."""
    pytest.importorskip("safetensors")
    model, spelt, spoken = _speaker(real_models / "bart-g2p")
    names = list(spoken.values())
    names += [near for name in names for near in (name[:-1], [*name, name[-1]], name[::-1], name[1:])]
    adapter = adapter_of(model)
    sounds = trie_of(names, adapter.eos, adapter.vocabulary)
    prompts = [[model.config.bos_token_id]] * len(spelt)
    found = search_names(lambda sources: TreeSession(adapter, sources), sounds, list(spelt.values()), prompts, config)
    for word, decoded in zip(spelt, found, strict=True):
        assert decoded.hypotheses[0].leaf == sounds.find(spoken[word]), word
        assert decoded.is_proved == (config.search == "exact")


def _speaker(folder: Path) -> tuple[Any, dict[str, list[int]], dict[str, list[int]]]:
    """Return a grapheme-to-phoneme model, the spelling of some words, and their pronunciation by its greedy search."""
    import torch
    from transformers import BartForConditionalGeneration
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = BartForConditionalGeneration.from_pretrained(folder).eval()
    letters = json.loads((folder / "config.json").read_text())["grapheme_chars"]
    bos, eos = model.config.bos_token_id, model.config.eos_token_id
    spelt = {word: [bos, *(letters.index(letter) for letter in word), eos] for word in WORDS.split()}
    spoken = {}
    for word, ids in spelt.items():
        (found,) = model.generate(input_ids=torch.tensor([ids]), num_beams=1, do_sample=False, max_length=60).tolist()
        assert found[:2] == [bos, bos]
        spoken[word] = found[2 : found.index(eos)]
    assert len({tuple(each) for each in spoken.values()}) == 30
    return model, spelt, spoken
