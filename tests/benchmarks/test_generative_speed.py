"""Tests of the generative speed benchmark: all systems get the same input and find the same names."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.speed import generative_speed
from benchmarks.speed.generative_speed import callback, dict_trie, generate, like_prompts, misses, onym

from onym.methods.generative.decoding.search import Decoded, Hypothesis
from onym.methods.generative.linker import ModelSettings


@pytest.fixture
def options(small_data: Path, runs: Path) -> argparse.Namespace:
    assert small_data.is_dir()
    return argparse.Namespace(model=runs / "tiny", ranking=None, quick=True, dataset="ncbi_disease")


def make_decoded(*names: tuple[int, float], is_proved: bool = True) -> Decoded:
    return Decoded(tuple(Hypothesis(leaf, log_prob, 1) for leaf, log_prob in names), is_proved, 1)


def test_measures_a_model(options: argparse.Namespace) -> None:
    figures = generative_speed.measure(options)
    assert figures["mentions"] == 2
    assert figures["exact_proved_pct"] == 100.0
    assert all(float(str(figures[f"{name}_mentions_per_s"])) > 0 for name in ("beam5", "exact", "callback"))


@pytest.mark.parametrize("ranking", ["mean", "sum"])
def test_all_systems_find_the_same_names(options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, ranking: str) -> None:
    monkeypatch.setattr(generative_speed, "best_precision", lambda: "fp32")
    options.ranking = ranking
    setup = generative_speed._setup(options)
    children, max_tokens = dict_trie(setup)
    tokens = [tuple(setup.layout.name(name)) for name in setup.kb.names.to_arrow().to_pylist()]
    found = generate(setup, children, max_tokens)
    for beam, exact, other in zip(
        onym(setup, search="beam", top_k=5), onym(setup, search="exact", top_k=1), found, strict=True
    ):
        leaf = exact.hypotheses[0].leaf
        assert beam.hypotheses[0].leaf == leaf  # with fewer names than beams, beam search is exact
        assert tokens[int(setup.trie.names_at(leaf)[0])] == tuple(other)


def test_prompts_of_a_batch_have_equal_length() -> None:
    prompts = [[1], [1, 2], [3], [4, 5], [6]]
    sources: list[Any] = [[0] * length for length in (9, 1, 3, 2, 5)]
    assert list(like_prompts(sources, prompts, size=2)) == [[2, 4], [0], [1, 3]]
    assert list(like_prompts([], [])) == []


def test_callback_starts_after_the_prompt() -> None:
    allowed = callback({7: {8: {2: {}}, 9: {2: {}}}}, 2, eos=2)
    assert allowed(0, torch.tensor([0, 5])) == [7]
    assert allowed(0, torch.tensor([0, 5, 7])) == [8, 9]
    assert allowed(0, torch.tensor([0, 5, 7, 8, 2])) == [2]


def test_counts_less_likely_names_as_misses() -> None:
    exact = [
        make_decoded((1, -1.0)),
        make_decoded((1, -1.0)),
        make_decoded((1, -1.0)),
        make_decoded((1, -1.0), is_proved=False),
    ]
    beam = [make_decoded((1, -1.0)), make_decoded((2, -2.0)), make_decoded((2, -0.9)), make_decoded((2, -2.0))]
    assert misses(beam, exact, "sum") == {"exact_proved_pct": 75.0, "beam5_miss_pct": 33.3}
    assert misses([make_decoded()], exact[:1], "sum")["beam5_miss_pct"] == 100.0


def test_uses_template_and_window_of_the_model(options: argparse.Namespace) -> None:
    (options.model / "onym.json").write_bytes(ModelSettings(template="genre", window=32, ranking="sum").to_bytes())
    setup = generative_speed._setup(options)
    assert (setup.layout.template.name, setup.layout.window, setup.ranking) == ("genre", 32, "sum")
    assert all(len(source) <= 32 for source in setup.sources)
    options.ranking = "mean"
    assert generative_speed._setup(options).ranking == "mean"
