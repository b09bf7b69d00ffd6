"""The generative linker: a seq2seq model writes the concept's name, and may only write names of the knowledge base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from onym.decoding.adapters import Adapter, adapter_of
from onym.decoding.results import Decoded, Hypothesis
from onym.decoding.score_candidates import score_given
from onym.decoding.search import SearchConfig, search_names
from onym.decoding.session import TreeSession
from onym.decoding.weights import open_model
from onym.encoders.device import Precision
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.base import ConceptMask, Linked, names_of
from onym.linkers.settings import ModelSettings, read_settings
from onym.store.models import folder_of, weights_digest
from onym.text.expansion import written_out
from onym.text.layout import Layout
from onym.text.template import GENBIOEL, Template, template_named
from onym.text.tokens import FILE, Tokenizer
from onym.trie.artefact import Progress
from onym.trie.derived import trie_beside
from onym.trie.packed import PackedTrie
from onym.trie.restriction import Restriction
from onym.types import Candidate, Document, Link, Mention

Pooling = Literal["best", "sum"]
"""A concept's score: that of its best name, or the logarithm of the sum of its names' probabilities."""
_BATCH = 256  # documents


@dataclass(frozen=True, slots=True)
class GenerativeConfig:
    """How a model is asked. `window` is how many tokens it reads of a mention and its context, special ones included.

    With `expand`, a mention that the document itself says to be short for something is read as that.
    """

    window: int = 128
    pooling: Pooling = "best"
    search: SearchConfig = field(default_factory=SearchConfig)
    expand: bool = True

    @classmethod
    def of(cls, own: ModelSettings, width: int = 5) -> GenerativeConfig:
        """Return a configuration by a model's own settings; as many names come back as the beam is wide."""
        return cls(own.window, search=SearchConfig(search=own.search, ranking=own.ranking, width=width, top_k=width))


class GenerativeLinker:
    """Links mentions by the names that a seq2seq model writes for them under the trie of all names."""

    def __init__(
        self,
        kb: KnowledgeBase,
        adapter: Adapter,
        tokenizer: Tokenizer,
        *,
        template: Template = GENBIOEL,
        settings: GenerativeConfig | None = None,
        trie: PackedTrie | None = None,
        model: dict[str, Any] | None = None,
    ) -> None:
        self.kb = kb
        self.trie = trie or trie_beside(kb, tokenizer, template)
        if self.trie.vocabulary > adapter.vocabulary:
            what = f"the tokenizer has {self.trie.vocabulary:,} tokens, the model {adapter.vocabulary:,}"
            raise ConfigError("model-tokenizer", what, fix="name the tokenizer that the model was trained with")
        if self.trie.eos != adapter.eos:
            what = f"the tokenizer ends a text with token {self.trie.eos:,}, the model with {adapter.eos:,}"
            raise ConfigError("model-tokenizer", what, fix="name the tokenizer that the model was trained with")
        self._adapter = adapter
        self._tokenizer = tokenizer
        self._template = template
        self._settings = settings or GenerativeConfig()
        self._model = model or {}
        self.layout = Layout(template, tokenizer, self._settings.window, adapter.longest)

    @classmethod
    def from_pretrained(
        cls,
        model: Path | str,
        kb: KnowledgeBase,
        *,
        tokenizer: Path | str | None = None,
        template: Template | None = None,
        settings: GenerativeConfig | None = None,
        precision: Precision = "auto",
        download: bool = False,
        progress: Progress = lambda _what, _names: None,
    ) -> GenerativeLinker:
        """Open a model: a folder, or with `download` a name on Hugging Face's hub.

        A model that Onym trained knows its template and its settings; they count where none are given.

        `tokenizer` is the folder or the name of another model whose tokenizer it shares: ANGEL's checkpoints have none of their
        own, theirs is that of `facebook/bart-large`. `progress` is told of the trie, which is built on first use.
        """
        folder = folder_of(model, download=download)
        own = read_settings(folder)
        known = Tokenizer.open(folder_of(tokenizer, (FILE,), download=download) if tokenizer else folder)
        opened = open_model(folder, precision)
        about = {
            "model": folder.name if Path(model).exists() else str(model),
            "weights": weights_digest(folder),
            "parameters": sum(parameter.numel() for parameter in opened.parameters()),
            "precision": str(opened.dtype).removeprefix("torch."),
        }
        template, settings = template or template_named(own.template), settings or GenerativeConfig.of(own)
        trie = trie_beside(kb, known, template, progress=progress)
        return cls(kb, adapter_of(opened), known, template=template, settings=settings, trie=trie, model=about)

    @property
    def config(self) -> dict[str, Any]:
        """What was really used."""
        settings = asdict(self._settings)
        text = {"tokenizer": self._tokenizer.digest, "template": self._template.name}
        return {"linker": "generative", **self._model, **text, **settings}

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with the concepts of the names that the model writes, best first."""
        restriction = None if only is None else self.trie.restriction(names_of(self.kb, only))
        rest = iter(documents)
        while batch := list(islice(rest, _BATCH)):
            decoded = iter(self.decode(batch, restriction))
            for doc in batch:
                links = [Link(each, self._candidates(next(decoded), top_k, only, restriction)) for each in doc.mentions]
                yield Linked(doc, tuple(links))

    def decode(self, documents: Sequence[Document], restriction: Restriction | None = None) -> list[Decoded]:
        """Return the names that the model writes for each mention of the documents, in order."""
        return self.decode_mentions([place for doc in documents for place in self._asked(doc)], restriction)

    def decode_mentions(
        self, pairs: Sequence[tuple[Document, Mention]], restriction: Restriction | None = None
    ) -> list[Decoded]:
        """Return the names that the model writes for each mention, given with its document."""
        if not pairs:
            return []
        sources = [self.layout.source(doc.text, mention.start, mention.end) for doc, mention in pairs]
        prompts = [self.layout.prompt(mention.surface) for _, mention in pairs]
        return search_names(self._start, self.trie, sources, prompts, self._settings.search, restriction=restriction)

    def score_names(self, documents: Sequence[Document], names: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return what the model says of names that are given by their ids, for each mention of the documents, in order.

        A score is that of a candidate which `link` would find by this name alone.
        """
        pairs = [place for doc in documents for place in self._asked(doc)]
        sources = [self.layout.source(doc.text, mention.start, mention.end) for doc, mention in pairs]
        prompts = [self.layout.prompt(mention.surface) for _, mention in pairs]
        tokens = [[self.layout.name(self.kb.names[name]) for name in each] for each in names]
        scored = score_given(self._start, sources, prompts, tokens, eos=self.trie.eos)
        ranking = "sum" if self._settings.pooling == "sum" else self._settings.search.ranking
        return [[name.score(ranking) for name in each] for each in scored]

    def with_search(self, **changes: Any) -> GenerativeLinker:
        """Return the same linker with another way to search."""
        settings = replace(self._settings, search=replace(self._settings.search, **changes))
        return GenerativeLinker(
            self.kb,
            self._adapter,
            self._tokenizer,
            template=self._template,
            settings=settings,
            trie=self.trie,
            model=self._model,
        )

    def _asked(self, doc: Document) -> list[tuple[Document, Mention]]:
        return written_out(doc) if self._settings.expand else [(doc, mention) for mention in doc.mentions]

    def _start(self, sources: Sequence[Sequence[int]]) -> TreeSession:
        return TreeSession(self._adapter, sources)

    def _candidates(
        self, decoded: Decoded, top_k: int, only: ConceptMask | None, restriction: Restriction | None
    ) -> tuple[Candidate, ...]:
        found: dict[int, list[tuple[float, int]]] = {}
        for hypothesis in decoded.hypotheses:
            score = self._score(hypothesis)
            for concept, name in self._named(hypothesis, only, restriction).items():
                found.setdefault(concept, []).append((score, name))
        pooled = {concept: (self._pooled([score for score, _ in names]), names[0][1]) for concept, names in found.items()}
        order = sorted(pooled.items(), key=lambda item: (-item[1][0], item[0]))[:top_k]
        return tuple(Candidate(self.kb.concept_ids[concept], self.kb.names[name], score) for concept, (score, name) in order)

    def _named(self, hypothesis: Hypothesis, only: ConceptMask | None, restriction: Restriction | None) -> dict[int, int]:
        """Return the concepts that were named, each with its first name there: names with the same tokens share a leaf."""
        named: dict[int, int] = {}
        for name in (restriction or self.trie).names_at(hypothesis.leaf).tolist():
            for concept in self.kb.name_concepts[name].tolist():
                if only is None or only[concept]:
                    named.setdefault(concept, name)
        return named

    def _score(self, hypothesis: Hypothesis) -> float:
        return hypothesis.log_prob if self._settings.pooling == "sum" else hypothesis.score(self._settings.search.ranking)

    def _pooled(self, scores: list[float]) -> float:
        return scores[0] if self._settings.pooling == "best" else float(np.logaddexp.reduce(scores))
