"""Reranking linker: pools candidates of several linkers and a memory, and ranks them by their probability of being correct.

Gradient-boosted trees score each candidate by features: similarity, exact match, kind and source of the name, counts in
annotated documents, type agreement, and the other mentions of the document. They are trained by `onym train rerank`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, concepts_of_types, intersect, rank_scored
from onym.methods import tfidf as tfidf_part
from onym.methods.base import Linker, LinkerConfig, Propose, Rank
from onym.methods.dense import linker as dense_part
from onym.methods.evidence import Evidence, FeatureEffect, Reason, effects_of, name_reasons
from onym.methods.reranker.decided import let_names_decide
from onym.methods.reranker.features import NAMES, FeatureMaker, Support
from onym.methods.reranker.model import Reranker, open_reranker
from onym.methods.reranker.pool import Pool, PooledMention, Pooling, iter_mentions
from onym.methods.reranker.surfaces import FeatureCache, MentionFeatures, SurfaceKey, fill_matrix, supports_of
from onym.methods.trees.memory import KbMemory
from onym.methods.trees.trees import Floats
from onym.parts import ModelReference, OpenContext, require_model
from onym.recent import Recent
from onym.text.queries import Query, by_document
from onym.text.similarity import NameSimilarity
from onym.types import Link

STAGE = "rerank"
CANDIDATES = 15
"""Number of candidates per linker."""
NAMES_PER_MENTION = 60
"""Number of similar names that the TF-IDF linker retrieves per mention."""
_ANSWERS = 20_000  # answers that are kept


class RerankLinkerConfig(LinkerConfig):
    """A trained reranker, and its dense component if the reranker was trained with a dense linker."""

    kind: Literal["rerank"] = "rerank"
    model: ModelReference | None = Field(default=None, description="Folder of the trained reranker.")
    dense: dense_part.DenseLinkerConfig | None = None
    follow_annotations: bool = Field(
        default=True,
        description="Follow the reranker's training documents where they mean another concept by a name than the one concept "
        "that has it. For texts annotated by the same guidelines.",
    )
    groups: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda groups: not groups,
        description="Only concepts of these semantic groups are candidates: a knowledge base may have many others.",
    )

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Return the options: the model, and the options of the dense component."""
        own = dense_part.DenseLinkerConfig.model_fields
        both = {name: cls.model_fields[name] for name in ("model", "follow_annotations")}
        return {**both, "encoder": own["model"], "index": own["index"]}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Build a configuration from options; `encoder` is the model of the dense component."""
        wanted = {name: value for name, value in options.items() if value is not None}
        encoder, index = wanted.pop("encoder", None), wanted.pop("index", None)
        if encoder is not None:
            wanted["dense"] = dense_part.DenseLinkerConfig.from_options({"model": encoder, "index": index})
        elif index is not None:
            what = "option index applies to the dense component, but no encoder is given"
            raise ConfigError("config-invalid", what, fix="give its folder with --encoder, or drop the option")
        return cls.of(wanted)


Config = RerankLinkerConfig  # the registry expects this name in every module


def open(config: RerankLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> RerankLinker:
    """Open the reranker and the linkers whose candidates it was trained on."""
    folder = require_model(config.model, "a reranker").folder(context)
    reranker = open_reranker(folder, verify=context.verify)
    if ("dense" in reranker.origin.parts) != (config.dense is not None):
        needs = "was trained with the candidates of an encoder" if config.dense is None else "was trained without an encoder"
        fix = "give the folder of that encoder with --encoder" if config.dense is None else "drop --encoder"
        raise ConfigError("rerank-parts", f"the reranker {needs}", where=str(folder), fix=fix)
    only = concepts_of_types(kb, config.groups) if config.groups else None
    parts = open_parts(kb, context, config.dense, only)
    return RerankLinker(kb, reranker, parts, config, only)


def open_parts(
    kb: KnowledgeBase,
    context: OpenContext,
    dense: dense_part.DenseLinkerConfig | None = None,
    only: ConceptMask | None = None,
) -> RerankParts:
    """Open the linkers whose candidates are pooled: TF-IDF (of the names of `only`), and dense if an encoder is given."""
    options = tfidf_part.TfidfLinkerConfig(names_per_mention=NAMES_PER_MENTION)
    tfidf = tfidf_part.TfidfLinker(kb, options, only=only, progress=context.progress)
    found: dict[str, Linker] = {"tfidf": tfidf}
    if dense is not None:
        found["dense"] = dense_part.open(dense, kb, context)
    return RerankParts(found, tfidf.similarity)


class RerankParts:
    """The linkers that propose candidates, by name, and the TF-IDF similarity used for features."""

    def __init__(self, linkers: Mapping[str, Linker], similarity: NameSimilarity) -> None:
        self.linkers, self.similarity = linkers, similarity

    @property
    def encoder(self) -> str:
        """The digest of the dense component's weights; empty if there is no dense component."""
        dense = self.linkers.get("dense")
        return str(dense.config.get("weights", "")) if dense else ""

    def proposing(self, only: ConceptMask | None = None) -> dict[str, Propose]:
        """Return each linker's function from queries to candidates by row."""
        return {name: linker.proposing(CANDIDATES, only) for name, linker in self.linkers.items()}

    def propose(self, queries: Sequence[Query], only: ConceptMask | None = None) -> dict[str, list[Ranked]]:
        """Return the candidates of every linker for each query."""
        return {name: linker.rank(queries, CANDIDATES, only) for name, linker in self.linkers.items()}


class RerankLinker(Linker):
    """Links a mention to the candidate with the highest probability of being correct; that probability is its score.

    A concept that the mention's annotations or name decide comes first, with a probability of at least 0.95 (see
    `onym.methods.reranker.decided`).

    Needs: a reranker trained by `onym train rerank`, preferably with the same knowledge base.
    When to use: when you need one id per mention and a calibrated confidence.
    """

    reads_context = decides_names = True

    def __init__(
        self,
        kb: KnowledgeBase,
        reranker: Reranker,
        parts: RerankParts,
        config: RerankLinkerConfig | None = None,
        only: ConceptMask | None = None,
    ) -> None:
        self.kb, self.reranker, self.parts, self._only = kb, reranker, parts, only
        self._config = config or RerankLinkerConfig()
        self.keeps_answers = all(linker.keeps_answers for linker in parts.linkers.values())
        memory = KbMemory(reranker.memory, kb)
        follow = self._config.follow_annotations
        self._pooling = Pooling(kb, memory, skips_names=reranker.origin.skips_names, follow_annotations=follow)
        self._features = FeatureMaker(kb, memory, parts.similarity)

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration of the reranker and of each component."""
        parts = [linker.config for linker in self.parts.linkers.values()]
        own = {"reranker": self.reranker.digest, "trees": len(self.reranker.trees.roots)}
        follow: dict[str, Any] = {"follow_annotations": True} if self._config.follow_annotations else {}
        follow |= {"groups": list(self._config.groups)} if self._config.groups else {}
        return {"linker": "rerank", **own, **follow, "parts": parts}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that ranks the pooled candidates of each query, most probable first."""
        return _Ranking(self, top_k, self._within(allowed)).rank

    def _within(self, only: ConceptMask | None) -> ConceptMask | None:
        """Return the mask of the concepts of the linker's groups that `only` allows."""
        return intersect(self._only, only)

    def evidence(self, queries: Sequence[Query], links: Sequence[Link]) -> list[Evidence]:
        """Return the evidence for each link: supporting names and memory entries, and the effect of each feature."""
        pool = self._pooling.pool(by_document(queries), self.parts.propose(queries, self._only), self._only)
        matrix = self._features.features(pool).matrix
        return [self._evidence(pool, matrix, row, link) if link.candidates else Evidence() for row, link in enumerate(links)]

    def _evidence(self, pool: Pool, matrix: Floats, row: int, link: Link) -> Evidence:
        mention = pool.mentions[row]
        concepts = pool.concepts[pool.offsets[row] : pool.offsets[row + 1]].tolist()
        known = [self.kb.concept_ids.find(each.concept_id) for each in link.candidates[:2]]
        names = name_reasons(self.kb, self.parts.similarity, mention.query, link)
        reasons = (*names, *_memories(mention, known[0]))
        if len(known) < 2 or not set(known) <= set(concepts):
            return Evidence(reasons)
        first, second = (int(pool.offsets[row]) + concepts.index(concept) for concept in known)
        return Evidence(reasons, self._effects(matrix, first, second))

    def _effects(self, matrix: Floats, answer: int, runner_up: int) -> tuple[FeatureEffect, ...]:
        names = self.reranker.origin.features
        columns = [NAMES.index(name) for name in names]
        return effects_of(self.reranker.trees.probabilities, names, matrix[answer, columns], matrix[runner_up, columns])

    def rank_each(self, queries: Sequence[Query], top_k: int = 10, only: ConceptMask | None = None) -> list[Ranked]:
        """Return the candidates of each query as `rank` does, but compute all features for each of them, and keep nothing."""
        only = self._within(only)
        pool = self._pooling.pool(by_document(queries), self.parts.propose(queries, only), only)
        found, bounds = self._features.features(pool), pool.offsets[1:-1]
        parts = zip(*(np.split(each, bounds) for each in (pool.concepts, found.names)), strict=True)
        scores = self.score(np.split(found.matrix, bounds)) if len(pool.mentions) else []
        best = (
            dict(zip(concepts.tolist(), zip(own, names.tolist(), strict=True), strict=True))
            for (concepts, names), own in zip(parts, scores, strict=False)
        )
        return [rank_scored(self.kb, each, top_k) for each in best]

    def feature_cache(self, only: ConceptMask | None) -> FeatureCache:
        """Return a cache of the candidates and features of mentions that are written alike."""
        return FeatureCache(self._pooling, self._features, self.parts.proposing(only), only)

    def score(self, matrices: Sequence[Floats]) -> list[list[float]]:
        """Return the probability of each candidate of each mention, given the features of its candidates."""
        matrix, sizes = np.concatenate(matrices), [len(each) for each in matrices]
        owners = np.repeat(np.arange(len(sizes)), sizes)
        probabilities = self.reranker.probabilities(matrix)
        decided = let_names_decide(probabilities, matrix, owners, follow_annotations=self._config.follow_annotations)
        return [each.tolist() for each in np.split(decided, np.cumsum(sizes[:-1]))]


class _Ranking:
    """Ranks the candidates of mentions, and keeps recent answers: the same mention in a similar document has the same one."""

    def __init__(self, linker: RerankLinker, top_k: int, only: ConceptMask | None) -> None:
        self._linker, self._top_k, self._only = linker, top_k, only
        self._features = linker.feature_cache(only)
        self._recent: Recent[tuple[SurfaceKey, int, Support], Ranked] = Recent(_ANSWERS)

    def rank(self, queries: Sequence[Query]) -> list[Ranked]:
        """Return the candidates of each query, best first."""
        mentions = list(iter_mentions(by_document(queries)))
        features = self._features.of(mentions)
        supports = supports_of(mentions, features)
        keys = [(SurfaceKey.of(one), one.repeated, said) for one, said in zip(mentions, supports, strict=True)]
        features_of = dict(zip(keys, features, strict=True))
        return self._recent.fill(keys, lambda new: self._compute([(features_of[key], *key[1:]) for key in new]))

    def _compute(self, wanted: Sequence[tuple[MentionFeatures, int, Support]]) -> Iterator[Ranked]:
        scores = self._linker.score([fill_matrix(*each) for each in wanted])
        confidences = self._linker.reranker.confidences([max(own, default=0.0) for own in scores])
        for (features, *_), own, confidence in zip(wanted, scores, confidences, strict=True):
            best = dict(zip(features.row_of, zip(own, features.names, strict=True), strict=True))
            yield rank_scored(self._linker.kb, best, self._top_k, stage=STAGE, confidence=confidence)


def _memories(mention: PooledMention, concept: int) -> Iterator[Reason]:
    """Yield the reasons for a concept that come from the memory of annotated documents."""
    texts = {mention.query: mention.recalled_query, mention.surface: mention.recalled_surface}
    for text, recalled in texts.items():
        if concept in recalled:
            yield Reason("memory", text, float(recalled[concept]))
    if concept in mention.similar:
        yield Reason("similar-mention", mention.query, mention.similar[concept])
