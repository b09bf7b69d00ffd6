"""A fake model: its logits are a function of the token path."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from onym.methods.generative.decoding.session import Ints
from onym.methods.generative.trie.packed import PackedTrie
from tests.robustness.decoding.cases import leaves_of, random_names, trie_of

EOS, VOCABULARY = 2, 9
Path = tuple[int, ...]
Table = Callable[[Path], Tensor]


def draw_logits(path: Path) -> Tensor:
    """Return pseudo-random logits for a path."""
    return torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(zlib.crc32(repr(path).encode()))) * 1.5


def tabulate_logits(chances: dict[Path, dict[int, float]]) -> Table:
    """Return logits for the given token probabilities after each path; the other tokens share the remaining probability."""

    def logits(path: Path) -> Tensor:
        said = chances.get(path, {})
        rest = (1 - sum(said.values())) / (VOCABULARY - len(said))
        return torch.tensor([said.get(token, rest) for token in range(VOCABULARY)]).log()

    return logits


class PathSession:
    """A session of the fake model. It checks the calls of the protocol and counts the passes."""

    vocabulary = VOCABULARY

    def __init__(self, sources: Sequence[Sequence[int]], table: Table = draw_logits) -> None:
        self.passes: list[int] = []
        self.kept: list[int] = []
        self._table = table
        self._paths: list[list[Path]] = [[tuple(source)] for source in sources]

    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[Ints, Tensor]:
        assert len(prompts) == len(self._paths)
        for paths, prompt in zip(self._paths, prompts, strict=True):
            paths[0] = (*paths[0], *prompt)
        return np.zeros(len(prompts), dtype=np.int64), torch.stack([self._table(paths[0]) for paths in self._paths])

    def read(self, owners: Ints, parents: Ints, tokens: Ints, wave: Ints) -> tuple[Ints, Tensor]:
        assert owners.tolist() == sorted(owners.tolist())
        self.passes.append(len(owners))
        slots: list[int] = []
        found: list[Tensor] = []
        for row, (owner, parent, token) in enumerate(zip(owners.tolist(), parents.tolist(), tokens.tolist(), strict=True)):
            above = parent if parent >= 0 else slots[-1 - parent]
            assert parent >= 0 or (-1 - parent < row and owners[-1 - parent] == owner)
            assert int(wave[row]) == (0 if parent >= 0 else int(wave[-1 - parent]) + 1)
            path = (*self._paths[owner][above], token)
            assert path not in self._paths[owner], "a node is expanded twice"
            slots.append(len(self._paths[owner]))
            self._paths[owner].append(path)
            found.append(self._table(path))
        return np.array(slots), torch.stack(found)

    def keep(self, mentions: Ints) -> None:
        assert mentions.tolist() == sorted(set(mentions.tolist()))
        self.kept.append(len(mentions))
        self._paths = [self._paths[mention] for mention in mentions.tolist()]


def log_prob(table: Table, before: Path, name: Path) -> float:
    """Return the log-probability of a name with its end token, by brute force."""
    tokens = (*name, EOS)
    return sum(float(table((*before, *tokens[:offset])).log_softmax(0)[token]) for offset, token in enumerate(tokens))


def score_all_names(trie: PackedTrie, table: Table, before: Path) -> dict[int, tuple[float, int]]:
    """Return the log-probability and the number of tokens of each leaf."""
    return {leaf: (log_prob(table, before, name), len(name) + 1) for leaf, name in leaves_of(trie).items()}


def some_trie(seed: int, max_names: int = 40) -> PackedTrie:
    return trie_of(random_names(np.random.default_rng(seed), VOCABULARY, 1, max_names, max_tokens=4), EOS, VOCABULARY)


def trie(*names: Sequence[int]) -> PackedTrie:
    return trie_of([list(name) for name in names], EOS, VOCABULARY)
