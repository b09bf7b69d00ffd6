"""Generative linker: a seq2seq model generates a name, constrained by a trie so that the output is always a KB name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from onym.errors import ConfigError, missing_extra
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, names_of, rank_scored
from onym.methods.base import Linker, ModelLinkerConfig, Rank
from onym.methods.generative.template import InputLayout, template_named
from onym.parts import ModelReference, OpenContext, TokenizerReference, require_model
from onym.store.models import FolderSettings, weights_digest
from onym.text.queries import Query, spell_out
from onym.types import Document, Mention

if TYPE_CHECKING:
    from onym.methods.generative.decoding.adapters import Adapter
    from onym.methods.generative.decoding.search import Decoded, Hypothesis, SearchConfig
    from onym.methods.generative.decoding.session import TreeSession
    from onym.methods.generative.trie.packed import PackedTrie, Restriction
    from onym.models.tokens import Tokenizer

Search = Literal["beam", "exact"]
Ranking = Literal["mean", "sum"]


class ModelSettings(FolderSettings):
    """The settings that a model was trained with, stored in its folder. They are the defaults of the linker options.

    >>> ModelSettings().update(window=64, search=None).window
    64
    """

    FILE: ClassVar[str] = "onym.json"

    template: str = "genbioel"
    window: int = Field(default=128, ge=8, le=100_000)
    search: Search = "beam"
    ranking: Ranking = "mean"


class GenerativeLinkerConfig(ModelLinkerConfig):
    """Trie-constrained generation. Options that are None default to the settings stored with the model.

    With pooling "best", a concept's score is the score of its best name; with "sum", the log of the summed probabilities of its
    names.
    """

    kind: Literal["generative"] = "generative"
    tokenizer: TokenizerReference | None = Field(
        default=None, description="Folder of the tokenizer, if the model's folder has no tokenizer."
    )
    template: str | None = Field(default=None, description="genbioel, or genre (no prompt); defaults to the model's setting.")
    window: int | None = Field(
        default=None,
        ge=8,
        le=100_000,
        description="Tokens of a mention with its context; defaults to the model's setting.",
    )
    search: Search | None = Field(
        default=None, description="beam, or exact (provably the best names); defaults to the model's setting."
    )
    ranking: Ranking | None = Field(
        default=None, description="Score of a name: mean or sum of token log-probabilities; defaults to the model's setting."
    )
    width: int = Field(default=5, ge=1, le=100, description="Beam width, and maximum number of names per mention.")
    pooling: Literal["best", "sum"] = Field(
        default="best", description="Score of a concept: the score of its best name (best), or the sum over its names (sum)."
    )

    def resolve(self, own: ModelSettings | None = None) -> GenerativeLinkerConfig:
        """Return the configuration with unset options filled in from the model's settings."""
        settings = (own or ModelSettings()).update(
            template=self.template, window=self.window, search=self.search, ranking=self.ranking
        )
        return self.model_copy(update=settings.model_dump())


Config = GenerativeLinkerConfig  # the registry expects this name in every module


def open(config: GenerativeLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> GenerativeLinker:
    """Open the model and the trie of all names; the trie is built on first use.

    Set `config.tokenizer` if the model's folder has no tokenizer: ANGEL's checkpoints use that of `facebook/bart-large`.
    """
    reference = require_model(config.model, "a generative linker")
    if config.template is not None:
        template_named(config.template)  # reject an unknown template before opening anything
    try:
        from onym.methods.generative.decoding.adapters import adapter_of
        from onym.methods.generative.decoding.session import open_model
        from onym.models.tokens import Tokenizer
    except ImportError as e:
        raise missing_extra("a generative linker", "models") from e
    folder = reference.folder(context)
    model = open_model(folder, config.dtype, device=config.device)
    about = {
        "model": reference.name,
        "weights": weights_digest(folder),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "precision": str(model.dtype).removeprefix("torch."),
    }
    tokenizer = Tokenizer.open(config.tokenizer.folder(context) if config.tokenizer else folder)
    return GenerativeLinker(
        kb, adapter_of(model), tokenizer, config.resolve(ModelSettings.read(folder)), about=about, context=context
    )


class GenerativeLinker(Linker):
    """Links mentions to the concepts of the names that a seq2seq model generates, constrained by the trie of all names."""

    reads_context = True

    def __init__(
        self,
        kb: KnowledgeBase,
        adapter: Adapter,
        tokenizer: Tokenizer,
        config: GenerativeLinkerConfig | None = None,
        *,
        search: SearchConfig | None = None,
        trie: PackedTrie | None = None,
        about: dict[str, Any] | None = None,
        context: OpenContext | None = None,
    ) -> None:
        self.kb = kb
        self._config = (config or GenerativeLinkerConfig()).resolve()
        self._template = template_named(str(self._config.template))
        self.trie = trie or self._open_trie(tokenizer, context or OpenContext())
        _require_same_tokens(self.trie, adapter)
        self._adapter, self._tokenizer, self._about = adapter, tokenizer, about or {}
        self._search = search or self._search_config()
        self.layout = InputLayout(self._template, tokenizer, int(self._config.window or 0), adapter.max_positions)

    def _open_trie(self, tokenizer: Tokenizer, context: OpenContext) -> PackedTrie:
        from onym.methods.generative.trie.artefact import open_derived_trie

        return open_derived_trie(self.kb, tokenizer, self._template, progress=context.progress)

    def _search_config(self) -> SearchConfig:
        """Return the search settings; the number of names returned is the beam width."""
        from onym.methods.generative.decoding.search import SearchConfig

        config = self._config
        return SearchConfig(
            search=config.search or "beam", ranking=config.ranking or "mean", width=config.width, top_k=config.width
        )

    @classmethod
    def from_pretrained(
        cls, model: Path | str, kb: KnowledgeBase, *, context: OpenContext | None = None, **options: Any
    ) -> GenerativeLinker:
        """Open a model by its folder or its name on the hub; `options` are fields of `GenerativeLinkerConfig`."""
        return open(
            GenerativeLinkerConfig.of({"model": ModelReference(path=str(model)), **options}), kb, context or OpenContext()
        )

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        own = self._config.model_dump(include={"window", "pooling"})
        text = {"tokenizer": self._tokenizer.digest, "template": self._template.name}
        return {"linker": "generative", **self._about, **text, **own, "search": asdict(self._search)}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that maps queries to the concepts of the generated names, best first."""
        restriction = None if allowed is None else self.trie.restriction(names_of(self.kb, allowed))

        def rank(queries: Sequence[Query]) -> list[Ranked]:
            return [self._rank(decoded, top_k, allowed, restriction) for decoded in self.decode(queries, restriction)]

        return rank

    def decode(self, queries: Sequence[Query], restriction: Restriction | None = None) -> list[Decoded]:
        """Return the generated names for each query, in order."""
        return self.decode_mentions([spell_out(query) for query in queries], restriction)

    def decode_mentions(
        self, pairs: Sequence[tuple[Document, Mention]], restriction: Restriction | None = None
    ) -> list[Decoded]:
        """Return the generated names for each (document, mention) pair."""
        from onym.methods.generative.decoding.search import search_names

        if not pairs:
            return []
        sources = [self.layout.source(doc.text, mention.start, mention.end) for doc, mention in pairs]
        prompts = [self.layout.prompt(mention.surface) for _, mention in pairs]
        return search_names(self._start, self.trie, sources, prompts, self._search, restriction=restriction)

    def score_names(self, queries: Sequence[Query], names: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the model's scores of names (given by id) for each query, in order.

        The scores are the same as those that `rank` gives a candidate found by this name only.
        """
        from onym.methods.generative.decoding.score_candidates import score_candidates

        pairs = [spell_out(query) for query in queries]
        sources = [self.layout.source(doc.text, mention.start, mention.end) for doc, mention in pairs]
        prompts = [self.layout.prompt(mention.surface) for _, mention in pairs]
        tokens = [[self.layout.name(self.kb.names[name]) for name in each] for each in names]
        scored = score_candidates(self._start, sources, prompts, tokens, eos=self.trie.eos)
        ranking = "sum" if self._config.pooling == "sum" else self._search.ranking
        return [[name.score(ranking) for name in each] for each in scored]

    def with_search(self, **changes: Any) -> GenerativeLinker:
        """Return a copy with other search settings; `changes` are fields of `SearchConfig`."""
        return GenerativeLinker(
            self.kb,
            self._adapter,
            self._tokenizer,
            self._config,
            search=replace(self._search, **changes),
            trie=self.trie,
            about=self._about,
        )

    def _start(self, sources: Sequence[Sequence[int]]) -> TreeSession:
        from onym.methods.generative.decoding.session import TreeSession

        return TreeSession(self._adapter, sources)

    def _rank(self, decoded: Decoded, top_k: int, only: ConceptMask | None, restriction: Restriction | None) -> Ranked:
        found: dict[int, list[tuple[float, int]]] = {}
        for hypothesis in decoded.hypotheses:
            score = self._score(hypothesis)
            for concept, name in self._concepts_at(hypothesis, only, restriction).items():
                found.setdefault(concept, []).append((score, name))
        pooled = {concept: (self._pool_scores([score for score, _ in names]), names[0][1]) for concept, names in found.items()}
        return rank_scored(self.kb, pooled, top_k)

    def _concepts_at(self, hypothesis: Hypothesis, only: ConceptMask | None, restriction: Restriction | None) -> dict[int, int]:
        """Map each concept at a leaf to its first name at that leaf; names with the same tokens share a leaf."""
        named: dict[int, int] = {}
        for name in (restriction or self.trie).names_at(hypothesis.leaf).tolist():
            for concept in self.kb.name_concepts[name].tolist():
                if only is None or only[concept]:
                    named.setdefault(concept, name)
        return named

    def _score(self, hypothesis: Hypothesis) -> float:
        return hypothesis.log_prob if self._config.pooling == "sum" else hypothesis.score(self._search.ranking)

    def _pool_scores(self, scores: list[float]) -> float:
        return scores[0] if self._config.pooling == "best" else float(np.logaddexp.reduce(scores))


def _require_same_tokens(trie: PackedTrie, adapter: Adapter) -> None:
    fix = "give the tokenizer that the model was trained with, with --tokenizer"
    if trie.vocabulary > adapter.vocabulary:
        what = f"the tokenizer has {trie.vocabulary:,} tokens, but the model only {adapter.vocabulary:,}"
        raise ConfigError("model-tokenizer", what, fix=fix)
    if trie.eos != adapter.eos:
        what = f"the tokenizer's end token is {trie.eos:,}, but the model's is {adapter.eos:,}"
        raise ConfigError("model-tokenizer", what, fix=fix)
