"""Tests that the logits at each node of a token tree agree with the model's forward pass over the path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from onym.errors import InputError
from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.session import TreeSession
from tests.methods.generative.decoding.families import logits, model
from tests.methods.generative.decoding.walk import Path, Walk

CLOSE = 1e-4
SOURCES = [[5, 9, 11, 2], [7, 2], [30, 31, 4, 8, 12, 9, 2]]
PROMPTS = [[6, 17], [], [21, 22, 23, 5]]
both = pytest.mark.parametrize("family", ["bart", "t5"])


@both
def test_prompts_of_any_length_are_read_in_one_pass(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = adapter_of(model(family))
    passes: list[int] = []
    embed = adapter.embed

    def count_embed(tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        passes.append(len(tokens))
        return embed(tokens, positions)

    monkeypatch.setattr(adapter, "embed", count_embed)
    slots, found = TreeSession(adapter, SOURCES).begin(PROMPTS)
    assert passes == [9]
    assert len(slots) == len(found) == 3
    for mine, source, prompt in zip(found, SOURCES, PROMPTS, strict=True):
        assert torch.allclose(mine, logits(model(family), source, prompt), atol=CLOSE)


@both
def test_prompt_equals_a_path(family: str) -> None:
    """Reading the prompt token by token gives the same logits as reading it in one call."""
    walk = Walk(model(family), [SOURCES[0]], [[]])
    for end in range(1, 5):
        walk.read([(0, (21, 22, 23, 5)[:end])])
    assert walk.worst < CLOSE


@both
def test_siblings_do_not_see_each_other(family: str) -> None:
    walk = Walk(model(family), SOURCES, PROMPTS)
    walk.read([(mention, (token,)) for mention in range(3) for token in (4, 5, 6)])
    walk.read([(0, (4, 9)), (0, (5, 9)), (0, (6, 9)), (2, (5, 9))])
    assert walk.worst < CLOSE


@both
def test_a_path_is_read_in_one_pass(family: str) -> None:
    walk = Walk(model(family), SOURCES, PROMPTS)
    path = (4, 5, 6, 7, 8)
    walk.read([(0, path[:end]) for end in range(1, 6)] + [(1, (9,))] + [(2, path[:end]) for end in range(1, 4)])
    assert walk.worst < CLOSE
    walk.read([(0, (*path, 3)), (2, (4, 3)), (2, (4, 5, 6, 3))])
    assert walk.worst < CLOSE


@both
def test_continues_from_old_slots(family: str) -> None:
    walk = Walk(model(family), SOURCES, PROMPTS)
    walk.read([(0, (4,)), (1, (4,))])
    walk.read([(0, (4, 5))])
    walk.read([(0, (6,)), (0, (4, 6)), (0, (4, 5, 6)), (1, (6,))])
    assert walk.worst < CLOSE


@both
def test_kept_mentions_are_renumbered(family: str) -> None:
    walk = Walk(model(family), SOURCES, PROMPTS)
    walk.read([(mention, (token,)) for mention in range(3) for token in (4, 5)])
    walk.keep([1, 2])
    walk.read([(0, (4, 6)), (1, (5, 7)), (1, (8,))])
    walk.keep([1])
    walk.read([(0, (5, 7, 3)), (0, (8, 3))])
    assert walk.worst < CLOSE


@both
def test_many_tokens_make_the_session_grow(family: str) -> None:
    walk = Walk(model(family), SOURCES[:2], PROMPTS[:2])
    base: Path = ()
    for _ in range(4):  # the buffers must grow when 32, 64 and 128 slots are full
        for token in range(4, 40):
            walk.read([(mention, (*base, token)) for mention in range(2)])
        base = (*base, 4)
    assert min(map(len, walk.slots)) > 128
    assert walk.worst < CLOSE


@both
def test_padding_changes_nothing(family: str) -> None:
    adapter = adapter_of(model(family))
    _, together = TreeSession(adapter, SOURCES).begin(PROMPTS)
    for source, prompt, mine in zip(SOURCES, PROMPTS, together, strict=True):
        assert torch.allclose(TreeSession(adapter, [source]).begin([prompt])[1][0], mine, atol=CLOSE)


@both
@pytest.mark.parametrize("seed", range(6))
def test_random_trees(family: str, seed: int) -> None:
    """Read random trees in random portions: paths, siblings, children of old slots, some mentions only, dropped mentions."""
    rng = np.random.default_rng(seed)
    found = model(family)
    mentions = int(rng.integers(1, 5))
    walk = Walk(
        found,
        [rng.integers(3, 40, rng.integers(1, 9)).tolist() for _ in range(mentions)],
        [rng.integers(3, 40, rng.integers(0, 5)).tolist() for _ in range(mentions)],
    )
    for _ in range(12):
        if len(walk.slots) > 1 and rng.random() < 0.15:
            walk.keep(sorted(rng.permutation(len(walk.slots))[:-1].tolist()))
        rows = [row for mention in range(len(walk.slots)) if rng.random() < 0.7 for row in _portion(walk, mention, rng)]
        if rows:
            walk.read(rows)
    assert walk.worst < CLOSE


def _portion(walk: Walk, mention: int, rng: np.random.Generator) -> list[tuple[int, Path]]:
    known = list(walk.slots[mention])
    rows: list[tuple[int, Path]] = []
    for _ in range(int(rng.integers(1, 4))):
        path = known[int(rng.integers(len(known)))]
        for token in rng.integers(3, 40, rng.integers(1, 4)).tolist():
            path = (*path, token)
            if path in walk.slots[mention] or (mention, path) in rows:
                break
            rows.append((mention, path))
    return rows


@pytest.mark.parametrize("family", ["bart", "t5"])
def test_in_bf16(family: str) -> None:
    half: Any = model(family, torch.bfloat16)
    walk = Walk(half, SOURCES, PROMPTS)
    walk.read([(mention, (token,)) for mention in range(3) for token in (4, 5, 6)])
    spread = float(logits(half, SOURCES[0], PROMPTS[0]).float().std())
    assert walk.worst < 0.1 * spread


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_rejects_non_finite_outputs(number: float, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = adapter_of(model("bart"))
    begun = TreeSession(adapter, SOURCES)
    slots, _ = begun.begin(PROMPTS)
    plain = adapter.embed
    monkeypatch.setattr(adapter, "embed", lambda *args: plain(*args) * number)
    with pytest.raises(InputError, match="model-not-finite"):
        begun.read(np.array([0]), slots[:1], np.array([5]), np.array([0]))
    monkeypatch.setattr(adapter, "embed", plain)
    monkeypatch.setattr(adapter, "logits", lambda states: torch.full((len(states), 3), number))
    with pytest.raises(InputError, match="model-not-finite"):
        TreeSession(adapter, SOURCES).begin(PROMPTS)
