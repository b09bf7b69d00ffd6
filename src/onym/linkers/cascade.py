"""The cascade: exact match first, then the nearest names, then a model's word on those; or the reranker on all the rest.

Each part is optional, but there are two at least:

    exact               answers where the mention is the name of one concept alone
    dense               finds candidates by their embeddings; answers where there is no generative part
    generative          scores the names of just those candidates, in one pass; without a dense part it searches all names
    rerank              answers what is left, instead of these two
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, Self

from pydantic import Field
from pydantic.fields import FieldInfo

from onym.corpora.problems import require_complete
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, best_of, rank_scored
from onym.linkers import dense as dense_part
from onym.linkers import exact as exact_part
from onym.linkers import generative as generative_part
from onym.linkers import rerank as rerank_part
from onym.linkers.base import Cacheable, Linker, LinkerConfig, link_batches, with_cache
from onym.parts import OpenContext
from onym.text.analysis import analyse
from onym.types import Candidate, Document, Link, LinkedDocument

_BATCH = 256  # documents
_ENCODER, _RERANKER = "encoder", "reranker"


class CascadeLinkerConfig(LinkerConfig):
    """The parts of a cascade; the generative part is asked about `candidates` concepts, by up to `names` names of each.

    On the command line `--encoder` is the model of the dense part, or that of the reranker; the other options are those of the
    generative part.
    """

    kind: Literal["cascade"] = "cascade"
    exact: exact_part.ExactLinkerConfig | None = Field(default_factory=exact_part.ExactLinkerConfig)
    dense: dense_part.DenseLinkerConfig | None = None
    generative: generative_part.GenerativeLinkerConfig | None = None
    rerank: rerank_part.RerankLinkerConfig | None = None
    candidates: int = Field(default=10, ge=1, le=1_000, description="Candidates per mention that the generative part scores.")
    names: int = Field(
        default=3, ge=1, le=100, description="Names per candidate that it scores: the nearest, then the preferred ones."
    )

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """Return the options of the parts."""
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
        """Make a configuration of options; `encoder` is the dense part's model, `model` the generative part's.

        With `reranker`, the encoder is that of its own dense part.
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
            what = f"{min(wanted)} is an option of the generative part, which has no model"
            raise ConfigError("config-invalid", what, fix="name its folder with --model")
        return cls.of(own)


Config = CascadeLinkerConfig  # the name that the registry looks up


def open(config: CascadeLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> CascadeLinker:
    """Open the parts."""
    if config.dense is None and config.generative is None and config.rerank is None:
        what = "a cascade needs an encoder, a generative model or both, or a reranker"
        raise ConfigError("model-missing", what, fix="name folders with --encoder and --model, or with --reranker")
    return CascadeLinker(
        exact=exact_part.open(config.exact, kb, context) if config.exact else None,
        dense=dense_part.open(config.dense, kb, context) if config.dense else None,
        generative=generative_part.open(config.generative, kb, context) if config.generative else None,
        rerank=rerank_part.open(config.rerank, kb, context) if config.rerank else None,
        config=config,
    )


class NameScorer(Linker, Protocol):
    """A linker that can also score names that it did not find itself, as `GenerativeLinker` can."""

    def score_names(self, documents: Sequence[Document], names: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the scores of names by their ids, for each mention of the documents, in order."""


class CascadeLinker(Cacheable):
    """Links each mention by the first part that can. Scores are those of the part that answered: do not compare them.

    Needs: two or three linkers over one knowledge base.
    When to use: a model that is right more often than near names are, but too slow to be asked about everything.
    """

    def __init__(
        self,
        *,
        exact: Linker | None = None,
        dense: Linker | None = None,
        generative: NameScorer | None = None,
        rerank: Linker | None = None,
        config: CascadeLinkerConfig | None = None,
    ) -> None:
        parts: list[Linker] = [part for part in (exact, dense, generative, rerank) if part is not None]
        if len(parts) < 2 or len({part.kb.digest for part in parts}) != 1:
            what = "a cascade has two parts or three, over one knowledge base"
            raise ConfigError("cascade-parts", what, fix="name an encoder, a model or both, or a reranker")
        if rerank is not None and (dense is not None or generative is not None):
            what = "a reranker answers all that exact match leaves, and the cascade has another part for it"
            raise ConfigError("cascade-parts", what, fix="leave the other model out")
        self.kb: KnowledgeBase = parts[0].kb
        self._exact, self._dense, self._generative, self._rerank, self._parts = exact, dense, generative, rerank, parts
        self._config = config or CascadeLinkerConfig()

    @property
    def config(self) -> dict[str, Any]:
        """What was really used, part by part."""
        own = self._config.model_dump(include={"candidates", "names"})
        return {"linker": "cascade", "parts": [part.config for part in self._parts], **own}

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with the candidates of the part that answered; `Link.stage` says which one that was."""
        cached = self.with_cache()
        return link_batches(documents, lambda batch: cached.link_batch(batch, top_k, only), batch=_BATCH)

    def with_cache(self) -> CascadeLinker:
        """Return the same cascade whose parts that see the mention alone have a cache."""
        exact, dense, rerank = (part and with_cache(part) for part in (self._exact, self._dense, self._rerank))
        return CascadeLinker(exact=exact, dense=dense, generative=self._generative, rerank=rerank, config=self._config)

    def link_batch(self, documents: Sequence[Document], top_k: int, only: ConceptMask | None) -> list[list[Link]]:
        """Return the links of each document."""
        batch = [analyse(doc) for doc in documents]  # the parts share what the text says about itself
        links = [[Link(mention) for mention in doc.mentions] for doc in batch]
        left = [list(range(len(doc.mentions))) for doc in batch]
        if self._exact is not None:
            for row, linked in enumerate(require_complete(self._exact.link(batch, top_k=top_k, only=only))):
                certain = {at for at, link in enumerate(linked.links) if link.candidates and not link.tied}
                left[row] = [at for at in left[row] if at not in certain]
                for at in certain:
                    links[row][at] = replace(linked.links[at], stage="exact")
        rest = [replace(doc, mentions=tuple(doc.mentions[at] for at in ats)) for doc, ats in zip(batch, left, strict=True)]
        for row, answers in enumerate(self._later(rest, top_k, only)):
            for at, link in zip(left[row], answers, strict=True):
                links[row][at] = replace(link, mention=batch[row].mentions[at])
        return links

    def _later(self, rest: Sequence[Document], top_k: int, only: ConceptMask | None) -> Iterator[list[Link]]:
        """Yield the links of the parts after exact match."""
        if self._dense is None or self._generative is None:
            named = {"dense": self._dense, "generative": self._generative, "rerank": self._rerank}
            for stage, part in named.items():
                for linked in require_complete(part.link(rest, top_k=top_k, only=only)) if part else ():
                    yield [_set_stage(link, stage) for link in linked.links]
            return
        near = require_complete(self._dense.link(rest, top_k=self._config.candidates, only=only))
        candidates = [link.candidates for linked in near for link in linked.links]
        scored = self._rescore(self._generative, rest, candidates, top_k)
        for doc in rest:
            yield [_set_stage(next(scored).link(mention), "generative") for mention in doc.mentions]

    def _rescore(
        self,
        model: NameScorer,
        rest: Sequence[Document],
        candidates: Sequence[tuple[Candidate, ...]],
        top_k: int,
    ) -> Iterator[Ranked]:
        """Yield the candidates of each mention in the model's order."""
        names = [self._names(each) for each in candidates]
        wanted = [{self.kb.concept_ids.find(candidate.concept_id) for candidate in each} for each in candidates]
        for own, scores, concepts in zip(names, model.score_names(rest, names), wanted, strict=True):
            names_by_score = sorted(zip(own, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
            best = best_of(self.kb, names_by_score)  # a name may be another concept's too
            yield rank_scored(self.kb, {concept: best[concept] for concept in best if concept in concepts}, top_k)

    def _names(self, candidates: Sequence[Candidate]) -> list[int]:
        """Return the names by which the model is asked about candidates: the one that was found, then the preferred ones."""
        found: dict[int, None] = {}
        for candidate in candidates:
            own = self.kb.names_of(self.kb.concept_ids.find(candidate.concept_id)).tolist()
            found |= dict.fromkeys(list(dict.fromkeys((self.kb.names.find(candidate.name), *own)))[: self._config.names])
        return list(found)


def _set_stage(link: Link, stage: str) -> Link:
    return replace(link, stage=stage if link.candidates else None)
