"""The score that a training is watched by: the real decoder, over the real names, on mentions it did not learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onym.decoding.adapters import adapter_of
from onym.decoding.results import Decoded
from onym.decoding.search import SearchConfig
from onym.encoders.loading import in_precision
from onym.kb import KnowledgeBase
from onym.linkers.generative import Config, GenerativeLinker
from onym.text.layout import Layout
from onym.train.config import DevConfig
from onym.train.samples.mistakes import gold_of, is_name_of
from onym.train.samples.targets import Place
from onym.trie.derived import open_derived_trie


class DevScore:
    """Links the same mentions each time: `dev_r1` and `dev_r5` are recall by any id that shares the name, in percent."""

    def __init__(self, places: Sequence[Place], kb: KnowledgeBase, layout: Layout, config: DevConfig) -> None:
        self._places, self._kb, self._layout = places, kb, layout
        self._trie = open_derived_trie(kb, layout.tokens, layout.template)
        self._search = SearchConfig(search=config.search, ranking=config.ranking, width=5, top_k=5, budget=200)
        self._gold = [gold_of(mention, kb) for _, mention in places]

    def __len__(self) -> int:
        return len(self._places)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the scores of a model, which is left as it was."""
        linker = linker_of(model, self._kb, self._layout, self._search, self._trie)
        found = [
            self._first_right(each, gold) for each, gold in zip(linker.decode_mentions(self._places), self._gold, strict=True)
        ]
        return {f"dev_r{k}": 100 * sum(place < k for place in found) / max(len(found), 1) for k in (1, 5)}

    def _first_right(self, decoded: Decoded, gold: frozenset[int]) -> int:
        for place, hypothesis in enumerate(decoded.hypotheses):
            if is_name_of(gold, self._trie.names_at(hypothesis.leaf).tolist(), self._kb):
                return place
        return len(decoded.hypotheses) + 5


def linker_of(model: Any, kb: KnowledgeBase, layout: Layout, search: SearchConfig, trie: Any = None) -> GenerativeLinker:
    """Return a linker with a model that is still being trained, as it is at this moment."""
    still = in_precision(model, "auto")
    config = Config(template=layout.template.name, window=layout.window)
    return GenerativeLinker(kb, adapter_of(still), layout.tokens, config, search=search, trie=trie)


def every_nth(places: Sequence[Place], count: int) -> list[Place]:
    """Return so many mentions, evenly spread over all of them.

    >>> every_nth([1, 2, 3, 4, 5, 6], 3)
    [1, 3, 5]
    """
    if not count or count >= len(places):
        return list(places)
    return [places[number * len(places) // count] for number in range(count)]
