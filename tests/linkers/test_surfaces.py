"""Tests of the surface cache: per call, limited in size, and never used by linkers that read context."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, concepts_with_ids
from onym.linkers import cascade, linker_config, open_linker, rerank
from onym.linkers.base import Answers, Cacheable, CachingLinker, SurfaceCache, SurfaceLinker, with_cache
from onym.linkers.cascade import CascadeLinker
from onym.linkers.exact import ExactLinker
from onym.linkers.rerank import RerankLinker
from onym.linkers.tfidf import TfidfLinker
from onym.registry import LINKERS
from onym.types import Candidate, Document, Link, LinkedDocument, Mention
from tests.linkers.test_reranker import write_folder

TEXTS = ("fever", "hart attack", "Fever", "fevers", "mi", "FEVER", "chill", "mi", "fevers", "hart attack")


def documents(*texts: str) -> list[Document]:
    """Return documents whose whole text is one mention."""
    return [Document(str(number), text, (Mention(0, len(text), text),)) for number, text in enumerate(texts)]


class Drifting(SurfaceLinker):
    """A linker whose scores vary slightly with the batch, as those of a model do. It records the queries that it computes."""

    batch = 2

    def __init__(self, kb: KnowledgeBase, cache_size: int = 100) -> None:
        super().__init__(kb, expand=False, cache_size=cache_size)
        self.computed: list[list[str]] = []

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "drifting"}

    def answering(self, top_k: int, only: ConceptMask | None) -> Answers:
        def answers(queries: Sequence[str]) -> list[Ranked]:
            self.computed.append(list(queries))
            score = 0.5 + len("".join(queries)) * 2**-40
            return [Ranked((Candidate(self.kb.concept_ids[0], query, score),) * min(top_k, 2)) for query in queries]

        return answers


class InContext:
    """A linker whose results depend on the document, not on the mention only."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.config: dict[str, Any] = {"linker": "in-context"}

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        for doc in documents:
            candidate = Candidate(self.kb.concept_ids[0], doc.id, 1.0)
            yield LinkedDocument(doc, tuple(Link(mention, (candidate,)) for mention in doc.mentions))


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def candidates(linked: Iterable[LinkedDocument]) -> list[tuple[Candidate, ...]]:
    return [link.candidates for each in linked for link in each.links]


def test_a_query_is_computed_once_in_a_call(kb: KnowledgeBase) -> None:
    linker = Drifting(kb)
    found = candidates(linker.link(documents("fever", "mi", "Fever", "chill", "MI")))
    assert linker.computed == [["fever", "mi"], ["chill"]]
    assert found[0] == found[2] != found[3]
    assert found[1] == found[4]


def test_each_call_starts_with_an_empty_cache(kb: KnowledgeBase) -> None:
    """If the cache were kept after a call, the last `fever` would get the score that was computed together with `mi`."""
    linker = Drifting(kb)
    alone = candidates(linker.link(documents("fever")))
    both = candidates(linker.link(documents("fever", "mi")))
    assert both[:1] != alone
    assert candidates(linker.link(documents("fever"))) == alone


def test_cache_size_is_limited(kb: KnowledgeBase) -> None:
    linker = Drifting(kb, cache_size=2)
    candidates(linker.link(documents("a", "b", "c", "b", "b", "c", "a")))
    assert linker.computed == [["a", "b"], ["c"], ["a"]]  # when c was added, a was evicted, so it is computed again
    none = Drifting(kb, cache_size=0)
    candidates(none.link(documents("a", "a", "a")))
    assert none.computed == [["a"], ["a"]]  # repeated queries of a batch are computed once, even without a cache


@pytest.mark.parametrize("size", [0, 1, 3])
def test_cache_never_exceeds_its_size(size: int) -> None:
    cache = SurfaceCache(lambda queries: [Ranked()] * len(queries), size)
    for queries in (["a", "b", "c", "d"], ["a"], [], ["e", "a", "f"]):
        assert list(cache.look_up(queries)) == queries
        assert len(list(cache)) <= size
    assert list(cache) == ["a", "e", "f"][3 - size :]  # the most recent entries are last


def test_failed_queries_are_not_cached() -> None:
    def answers(queries: Sequence[str]) -> list[Ranked]:
        if "bad" in queries:
            raise ValueError
        return [Ranked()] * len(queries)

    cache = SurfaceCache(answers, 10)
    cache.look_up(["fever"])
    with pytest.raises(ValueError, match=r"^$"):
        cache.look_up(["mi", "bad"])
    assert list(cache) == ["fever"]


def test_failing_document_does_not_affect_others(kb: KnowledgeBase) -> None:
    class Failing(Drifting):
        def queries(self, doc: Document) -> list[str]:
            if doc.text == "bad":
                raise ValueError
            return super().queries(doc)

    linked = list(Failing(kb).link(documents("fever", "bad", "fever")))
    assert [each.is_complete for each in linked] == [True, False, True]
    assert linked[0].links[0].candidates == linked[2].links[0].candidates


def test_cache_is_separate_per_filter_and_top_k(kb: KnowledgeBase) -> None:
    linker = Drifting(kb).with_cache()
    assert [len(candidates(linker.link(documents("fever"), top_k=k))[0]) for k in (1, 2, 1)] == [1, 2, 1]
    exact = ExactLinker(kb).with_cache()
    for ids in (["mesh:D006973"], ["mesh:D009203"]):
        only = concepts_with_ids(kb, ids)
        (found,) = candidates(exact.link(documents("mi"), only=only))
        assert [candidate.concept_id for candidate in found] == ids
    assert len(candidates(exact.link(documents("mi")))[0]) == 2


@pytest.mark.parametrize("kind", [ExactLinker, TfidfLinker])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_answers_are_the_same_without_a_cache(kb: KnowledgeBase, kind: type[ExactLinker | TfidfLinker], size: int) -> None:
    linker = kind(kb)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "batch", 2)
        expected = candidates(linker.link(documents(*TEXTS)))
        patch.setattr(linker, "cache_size", size)
        assert candidates(linker.link(documents(*TEXTS))) == expected
    assert candidates(linker.link(documents(TEXTS[1]))) == [expected[1]]


def test_cacheable_linkers() -> None:
    """Linkers that read context must not be cacheable: they would return results of another document."""
    pytest.importorskip("faiss")
    pytest.importorskip("torch")
    classes = {name: getattr(LINKERS.load(name), f"{name.title().replace('_', '')}Linker") for name in LINKERS.names}
    assert {name for name, each in classes.items() if issubclass(each, SurfaceLinker)} == {"exact", "tfidf", "dense"}
    assert {name for name, each in classes.items() if not issubclass(each, Cacheable)} == {
        "generative",
        "collective",
        "genes",
        "by_type",
        "organisms",
        "variants",
    }


def test_a_linker_that_reads_context_has_no_cache(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    linker = InContext(kb)
    assert with_cache(linker) is linker
    monkeypatch.setattr(cascade, "_BATCH", 1)
    docs = documents("chill", "chill", "chill")
    for composed in (CascadeLinker(exact=ExactLinker(kb), dense=linker), CascadeLinker(exact=ExactLinker(kb), rerank=linker)):
        assert [each[0].name for each in candidates(composed.link(docs))] == ["0", "1", "2"]


def test_a_cascade_computes_a_query_once_for_all_its_batches(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cascade, "_BATCH", 1)
    dense = Drifting(kb)
    composed = CascadeLinker(exact=ExactLinker(kb), dense=dense)
    first = candidates(composed.link(documents("chill", "fever", "Chill", "CHILL")))
    assert dense.computed == [["chill"]]
    assert candidates(composed.link(documents("chill", "fever", "Chill", "CHILL"))) == first
    assert dense.computed == [["chill"], ["chill"]]  # the second call starts with an empty cache


@pytest.fixture
def reranker(tmp_path: Path, tiny_kb: Path) -> RerankLinker:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    linker = open_linker(linker_config("rerank", model=str(write_folder(tmp_path / "model"))), kb)
    assert isinstance(linker, RerankLinker)
    return linker


def watch_queries(linker: SurfaceLinker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records each query that the linker computes."""
    computed: list[str] = []

    def watching(own: Callable[..., Any]) -> Callable[..., Any]:
        def make(top_k: int, only: ConceptMask | None) -> Callable[[Sequence[str]], Any]:
            answers = own(top_k, only)

            def watch_answers(queries: Sequence[str]) -> Any:
                computed.extend(queries)
                return answers(queries)

            return watch_answers

        return make

    for name in ("answering", "proposing"):
        monkeypatch.setattr(linker, name, watching(getattr(linker, name)))
    return computed


@pytest.mark.parametrize("is_in_cascade", [False, True])
def test_a_reranker_computes_candidates_and_probabilities_once(
    reranker: RerankLinker, monkeypatch: pytest.MonkeyPatch, is_in_cascade: bool
) -> None:
    monkeypatch.setattr(rerank, "_BATCH", 1)
    monkeypatch.setattr(cascade, "_BATCH", 1)
    tfidf = reranker.parts.linkers["tfidf"]
    assert isinstance(tfidf, TfidfLinker)
    computed = watch_queries(tfidf, monkeypatch)
    scored: list[int] = []
    probabilities = type(reranker.reranker).probabilities

    def count_probabilities(own: Any, matrix: Any) -> Any:
        scored.append(len(matrix))
        return probabilities(own, matrix)

    monkeypatch.setattr(type(reranker.reranker), "probabilities", count_probabilities)
    linker = CascadeLinker(exact=ExactLinker(reranker.kb), rerank=reranker) if is_in_cascade else reranker
    found = candidates(linker.link(documents("fevers", "hart attack", "fevers", "fevers")))
    assert computed == ["fevers", "hart attack"]
    assert len(scored) == 2
    assert found[0] == found[2] == found[3]
    assert isinstance(reranker.parts.linkers["tfidf"], TfidfLinker)  # only a copy of the linker has a cache


def test_caching_linker_has_the_same_config(kb: KnowledgeBase) -> None:
    linker = ExactLinker(kb)
    cached = with_cache(linker)
    assert isinstance(cached, CachingLinker)
    assert with_cache(cached) is cached
    assert (cached.config, cached.kb) == (linker.config, linker.kb)
