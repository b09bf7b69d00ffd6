"""The cascade: what one linker is sure of needs no other. Exact match first, then near names, then a model's word on those.

Each part is optional, but there are two at least:

    exact               answers where the mention is the name of one concept alone
    dense               finds candidates by nearness; answers where there is no generative part
    generative          scores the names of just those candidates, in one pass; without a dense part it searches all names
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Literal, Protocol

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.base import ConceptMask, Linked, Linker, ranked
from onym.text.analysis import analysed
from onym.types import Candidate, Document, Link

Stage = Literal["exact", "dense", "generative", "none"]
_BATCH = 256  # documents
Answer = tuple[tuple[Candidate, ...], Stage]


class NameScorer(Linker, Protocol):
    """A linker that can also tell what it thinks of names that are given, as `GenerativeLinker` can."""

    def score_names(self, documents: Sequence[Document], names: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the scores of names by their ids, for each mention of the documents, in order."""


@dataclass(frozen=True, slots=True)
class CascadeConfig:
    """How many candidates the generative part is asked about, and by how many names of each: the nearest, then in order."""

    candidates: int = 10
    names: int = 3


class CascadeLinker:
    """Links each mention by the first part that can tell. Scores are those of the part that answered: not to be compared.

    Needs: two or three linkers over one knowledge base.
    When to use: a model that is right more often than near names are, but too slow to be asked about everything.
    """

    def __init__(
        self,
        *,
        exact: Linker | None = None,
        dense: Linker | None = None,
        generative: NameScorer | None = None,
        settings: CascadeConfig | None = None,
    ) -> None:
        parts: list[Linker] = [part for part in (exact, dense, generative) if part is not None]
        if len(parts) < 2 or len({part.kb.digest for part in parts}) != 1:
            what = "a cascade has two parts or three, over one knowledge base"
            raise ConfigError("cascade-parts", what, fix="name an encoder, a model or both")
        self.kb: KnowledgeBase = parts[0].kb
        self._exact, self._dense, self._generative, self._parts = exact, dense, generative, parts
        self._settings = settings or CascadeConfig()

    @property
    def config(self) -> dict[str, Any]:
        """What was really used, part by part."""
        return {"linker": "cascade", "parts": [part.config for part in self._parts], **asdict(self._settings)}

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with the candidates of the part that answered, and which one that was, mention by mention."""
        rest = iter(documents)
        while batch := list(islice(rest, _BATCH)):
            answers = self._answers([analysed(doc) for doc in batch], top_k, only)
            for doc, found in zip(batch, answers, strict=True):
                links = tuple(Link(mention, best[:top_k]) for mention, (best, _) in zip(doc.mentions, found, strict=True))
                yield Linked(doc, links, tuple(stage for _, stage in found))

    def _answers(self, batch: Sequence[Document], top_k: int, only: ConceptMask | None) -> list[list[Answer]]:
        """Return the answer to each mention of each document."""
        found: list[list[Answer]] = [[((), "none")] * len(doc.mentions) for doc in batch]
        left = [list(range(len(doc.mentions))) for doc in batch]
        if self._exact is not None:
            for place, linked in enumerate(self._exact.link(batch, top_k=max(2, top_k), only=only)):
                sure = {number for number, link in enumerate(linked.links) if len(link.candidates) == 1}
                left[place] = [number for number in left[place] if number not in sure]
                for number in sure:
                    found[place][number] = linked.links[number].candidates, "exact"
        asked = [_with_only(doc, numbers) for doc, numbers in zip(batch, left, strict=True)]
        for place, answers in enumerate(self._later(asked, top_k, only)):
            for number, answer in zip(left[place], answers, strict=True):
                found[place][number] = answer
        return found

    def _later(self, asked: Sequence[Document], top_k: int, only: ConceptMask | None) -> Iterator[list[Answer]]:
        """Yield the answers of the dense and the generative part."""
        if self._dense is None:
            if self._generative is not None:
                for linked in self._generative.link(asked, top_k=top_k, only=only):
                    yield [_answer(link.candidates, "generative") for link in linked.links]
            return
        if self._generative is None:
            for linked in self._dense.link(asked, top_k=top_k, only=only):
                yield [_answer(link.candidates, "dense") for link in linked.links]
            return
        near = list(self._dense.link(asked, top_k=self._settings.candidates, only=only))
        scored = iter(
            self._rescored(self._generative, asked, [link.candidates for linked in near for link in linked.links], only)
        )
        for doc in asked:
            yield [_answer(next(scored), "generative") for _ in doc.mentions]

    def _rescored(
        self,
        model: NameScorer,
        asked: Sequence[Document],
        candidates: Sequence[tuple[Candidate, ...]],
        only: ConceptMask | None,
    ) -> Iterator[tuple[Candidate, ...]]:
        """Yield the candidates of each mention in the model's order."""
        names = [self._names(each) for each in candidates]
        wanted = [{candidate.concept_id for candidate in each} for each in candidates]
        for given, scores, ids in zip(names, model.score_names(asked, names), wanted, strict=True):
            best = sorted(zip(given, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
            every = ranked(self.kb, best, len(self.kb), only)  # a name may be another concept's too
            yield tuple(candidate for candidate in every if candidate.concept_id in ids)

    def _names(self, candidates: Sequence[Candidate]) -> list[int]:
        """Return the names by which the model is asked about candidates: the one that was found, then the preferred ones."""
        found: dict[int, None] = {}
        for candidate in candidates:
            own = self.kb.names_of(self.kb.concept_ids.find(candidate.concept_id)).tolist()
            found |= dict.fromkeys(list(dict.fromkeys((self.kb.names.find(candidate.name), *own)))[: self._settings.names])
        return list(found)


def _with_only(doc: Document, numbers: Sequence[int]) -> Document:
    return replace(doc, mentions=tuple(doc.mentions[number] for number in numbers))


def _answer(candidates: tuple[Candidate, ...], stage: Stage) -> Answer:
    return candidates, (stage if candidates else "none")
