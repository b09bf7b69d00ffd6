"""Cascade linker: exact match, then dense retrieval, then generative scoring of the retrieved candidates, or a reranker.

At least two of these components are needed:

    exact               links mentions that are the name of exactly one concept
    dense               retrieves candidates by embedding; their order is final if there is no generative component
    generative          scores the names of the retrieved candidates in one pass; without `dense`, it searches all names
    rerank              links all mentions that exact match cannot link; replaces `dense` and `generative`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

from pydantic import Field
from pydantic.fields import FieldInfo

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, best_of, rank_scored
from onym.methods import exact as exact_part
from onym.methods.base import Linker, LinkerConfig, Rank, open_ranking
from onym.methods.dense import linker as dense_part
from onym.methods.generative import linker as generative_part
from onym.methods.reranker import linker as rerank_part
from onym.parts import OpenContext
from onym.text.queries import Query
from onym.types import Candidate

_ENCODER, _RERANKER = "encoder", "reranker"


class CascadeLinkerConfig(LinkerConfig):
    """The components of a cascade. The generative component scores `candidates` concepts, with up to `names` names of each.

    On the command line, `--encoder` is the model of the dense component, or of the reranker's dense component. The other
    options belong to the generative component.
    """

    kind: Literal["cascade"] = "cascade"
    exact: exact_part.ExactLinkerConfig | None = Field(default_factory=exact_part.ExactLinkerConfig)
    dense: dense_part.DenseLinkerConfig | None = None
    generative: generative_part.GenerativeLinkerConfig | None = None
    rerank: rerank_part.RerankLinkerConfig | None = None
    candidates: int = Field(default=10, ge=1, le=1_000, description="Candidates per mention that the generative model scores.")
    names: int = Field(
        default=3, ge=1, le=100, description="Names per candidate that the generative model scores: nearest, then preferred."
    )

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """Return the options of all components."""
        encoder = dense_part.DenseLinkerConfig.model_fields["model"]
        own = {name: cls.model_fields[name] for name in ("candidates", "names")}
        index, reranker = (
            dense_part.DenseLinkerConfig.model_fields["index"],
            rerank_part.RerankLinkerConfig.model_fields["model"],
        )
        return {
            **generative_part.GenerativeLinkerConfig.options(),
            _ENCODER: encoder,
            "index": index,
            _RERANKER: reranker,
            **own,
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Build a configuration from options; `encoder` is the dense model, `model` the generative model.

        With `reranker`, `encoder` is the dense model of the reranker.
        """
        wanted = {name: value for name, value in options.items() if value is not None}
        own: dict[str, Any] = {name: wanted.pop(name) for name in ("candidates", "names") if name in wanted}
        encoder, index, reranker = (wanted.pop(name, None) for name in (_ENCODER, "index", _RERANKER))
        if reranker is not None:
            own["rerank"] = rerank_part.RerankLinkerConfig.from_options({"model": reranker, "encoder": encoder, "index": index})
        elif encoder is not None:
            own["dense"] = dense_part.DenseLinkerConfig.from_options({"model": encoder, "index": index})
        if "model" in wanted:
            own["generative"] = generative_part.GenerativeLinkerConfig.from_options(wanted)
        elif wanted:
            what = f"option {min(wanted)} applies to the generative component, but no generative model is given"
            raise ConfigError("config-invalid", what, fix="give its folder with --model, or drop the option")
        return cls.of(own)


Config = CascadeLinkerConfig  # the registry expects this name in every module


def open(config: CascadeLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> CascadeLinker:
    """Open all components."""
    if config.dense is None and config.generative is None and config.rerank is None:
        what = "a cascade needs an encoder, a generative model or a reranker"
        raise ConfigError("model-missing", what, fix="add --encoder FOLDER, --model FOLDER or both, or --reranker FOLDER")
    return CascadeLinker(
        exact=exact_part.open(config.exact, kb, context) if config.exact else None,
        dense=dense_part.open(config.dense, kb, context) if config.dense else None,
        generative=generative_part.open(config.generative, kb, context) if config.generative else None,
        rerank=rerank_part.open(config.rerank, kb, context) if config.rerank else None,
        config=config,
    )


class CascadeLinker(Linker):
    """Tries its components in order until one links the mention. Scores of different components are not comparable.

    Needs: two or three linkers for one knowledge base.
    When to use: with a model that is more accurate than dense retrieval, but too slow to search all names.
    """

    reads_context = True  # some parts may; each part that does not keeps its answers by text

    def __init__(
        self,
        *,
        exact: Linker | None = None,
        dense: Linker | None = None,
        generative: generative_part.GenerativeLinker | None = None,
        rerank: Linker | None = None,
        config: CascadeLinkerConfig | None = None,
    ) -> None:
        parts: list[Linker] = [part for part in (exact, dense, generative, rerank) if part is not None]
        if len(parts) < 2 or len({part.kb.digest for part in parts}) != 1:
            what = "a cascade needs two or three components with the same knowledge base"
            raise ConfigError("cascade-parts", what, fix="give an encoder, a generative model or both; or give a reranker")
        if rerank is not None and (dense is not None or generative is not None):
            what = "a reranker cannot be combined with a dense or generative component"
            raise ConfigError("cascade-parts", what, fix="drop the reranker, or the encoder and the generative model")
        self.kb: KnowledgeBase = parts[0].kb
        self._exact, self._dense, self._generative, self._rerank, self._parts = exact, dense, generative, rerank, parts
        self._config = config or CascadeLinkerConfig()
        self.keeps_answers = all(part.keeps_answers for part in parts)

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration of the cascade and of each component."""
        own = self._config.model_dump(include={"candidates", "names"})
        return {"linker": "cascade", "parts": [part.config for part in self._parts], **own}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that asks the parts in order; `Ranked.stage` names the part that linked a mention."""
        exact = open_ranking(self._exact, top_k, allowed) if self._exact else None
        later = self._later(top_k, allowed)

        def rank(queries: Sequence[Query]) -> list[Ranked]:
            found = [_set_stage(each, "exact") for each in exact(queries)] if exact else [Ranked()] * len(queries)
            left = [row for row, each in enumerate(found) if not each.candidates or each.tied]
            for row, each in zip(left, later([queries[row] for row in left]), strict=True):
                found[row] = each
            return found

        return rank

    def _later(self, top_k: int, allowed: ConceptMask | None) -> Rank:
        """Return the ranking of the parts after exact match."""
        if self._dense is None or self._generative is None:
            named = {"dense": self._dense, "generative": self._generative, "rerank": self._rerank}
            [(stage, rank)] = [(stage, open_ranking(part, top_k, allowed)) for stage, part in named.items() if part]
            return lambda queries: [_set_stage(each, stage) for each in rank(queries)]
        near, model = open_ranking(self._dense, self._config.candidates, allowed), self._generative

        def rescore(queries: Sequence[Query]) -> list[Ranked]:
            candidates = [each.candidates for each in near(queries)]
            return [_set_stage(each, "generative") for each in self._rescore(model, queries, candidates, top_k)]

        return rescore

    def _rescore(
        self,
        model: generative_part.GenerativeLinker,
        queries: Sequence[Query],
        candidates: Sequence[tuple[Candidate, ...]],
        top_k: int,
    ) -> Iterator[Ranked]:
        """Yield the candidates of each mention in the model's order."""
        names = [self._names(each) for each in candidates]
        wanted = [{self.kb.concept_ids.find(candidate.concept_id) for candidate in each} for each in candidates]
        for own, scores, concepts in zip(names, model.score_names(queries, names), wanted, strict=True):
            names_by_score = sorted(zip(own, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
            best = best_of(self.kb, names_by_score)  # may include concepts that were not retrieved but share a name
            yield rank_scored(self.kb, {concept: best[concept] for concept in best if concept in concepts}, top_k)

    def _names(self, candidates: Sequence[Candidate]) -> list[int]:
        """Return the names to score, up to `names` per candidate: the retrieved name, then the concept's names in order."""
        found: dict[int, None] = {}
        for candidate in candidates:
            own = self.kb.names_of(self.kb.concept_ids.find(candidate.concept_id)).tolist()
            found |= dict.fromkeys(list(dict.fromkeys((self.kb.find(candidate.name), *own)))[: self._config.names])
        return list(found)


def _set_stage(ranked: Ranked, stage: str) -> Ranked:
    return replace(ranked, stage=stage if ranked.candidates else None)
