"""The evaluation of a generative model during training: the real decoder, over all names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onym.decoding.adapters import adapter_of
from onym.decoding.search import Decoded, SearchConfig
from onym.kb import KnowledgeBase
from onym.linkers.generative import Config, GenerativeLinker
from onym.models.template import Layout
from onym.models.torch_loading import in_precision
from onym.train.generative.config import GenerativeDevConfig
from onym.train.samples.targets import DocMention, gold_concepts, is_name_of
from onym.trie.artefact import open_derived_trie


class GenerativeDev:
    """Links the same mentions each time: `dev_r1` and `dev_r5` are recall by any concept of the name, in percent."""

    def __init__(self, mentions: Sequence[DocMention], kb: KnowledgeBase, layout: Layout, config: GenerativeDevConfig) -> None:
        self._mentions, self._kb, self._layout = mentions, kb, layout
        self._trie = open_derived_trie(kb, layout.tokens, layout.template)
        self._search = SearchConfig(search=config.search, ranking=config.ranking, width=5, top_k=5, budget=200)
        self._gold = [gold_concepts(mention, kb) for _, mention in mentions]

    def __len__(self) -> int:
        return len(self._mentions)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the scores of a model, which is left unchanged."""
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


def linker_of(model: Any, kb: KnowledgeBase, layout: Layout, search: SearchConfig, trie: Any = None) -> GenerativeLinker:
    """Return a linker with a copy of a model in training."""
    adapter = adapter_of(in_precision(model, "auto"))
    config = Config(template=layout.template.name, window=layout.window)
    return GenerativeLinker(kb, adapter, layout.tokens, config, search=search, trie=trie)
