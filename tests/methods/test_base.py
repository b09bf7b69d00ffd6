"""Tests of what all linkers share: answers kept by text, names that decide, and the defaults of the base class."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, concepts_with_ids
from onym.methods import linker_config, open_linker
from onym.methods.base import Linker, Rank, open_ranking
from onym.methods.compose.cascade import CascadeLinker
from onym.methods.exact import ExactLinker
from onym.methods.reranker.linker import RerankLinker
from onym.methods.tfidf import TfidfLinker
from onym.methods.trees.linker import TreesLinker
from onym.pipeline import Pipeline, PipelineOptions
from onym.recent import Recent
from onym.registry import LINKERS
from onym.text.queries import Query, queries_of
from onym.types import Candidate, Document, LinkedDocument, Mention
from tests.methods.reranker.test_model import write_folder
from tests.support.linking import link_with

TEXTS = ("fever", "hart attack", "Fever", "fevers", "mi", "FEVER", "chill", "mi", "fevers", "hart attack")


def documents(*texts: str) -> list[Document]:
    """Return documents whose whole text is one mention."""
    return [Document(str(number), text, (Mention(0, len(text), text),)) for number, text in enumerate(texts)]


def queries(*texts: str) -> list[Query]:
    return [query for document in documents(*texts) for query in queries_of(document)]


class Drifting(Linker):
    """A linker whose scores vary slightly with the batch, as those of a model do. It records the texts that it computes."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.computed: list[list[str]] = []

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "drifting"}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        def rank(queries: Sequence[Query]) -> list[Ranked]:
            texts = [query.text for query in queries]
            self.computed.append(texts)
            if "bad" in texts:
                raise ValueError
            score = 0.5 + len("".join(texts)) * 2**-40
            return [Ranked((Candidate(self.kb.concept_ids[0], text, score),) * min(top_k, 2)) for text in texts]

        return rank


class Keeping(Drifting):
    """A linker like `Drifting` that allows its answers to be kept from one call to the next."""

    keeps_answers = True


class InContext(Drifting):
    """A linker whose results depend on the document, not on the mention only."""

    reads_context = True

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        concept = self.kb.concept_ids[0]
        return lambda queries: [Ranked((Candidate(concept, query.document.id, 1.0),)) for query in queries]


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def read_in_batches(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Let pipelines read this number of documents at a time."""
    monkeypatch.setattr("onym.pipeline.pipeline._BATCH", size)
    monkeypatch.setattr("onym.pipeline.pipeline._TERM", 0)


def candidates(linked: Iterable[LinkedDocument]) -> list[tuple[Candidate, ...]]:
    return [link.candidates for each in linked for link in each.links]


# Answers are kept by text.


def test_a_text_is_computed_once_in_a_call(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    read_in_batches(monkeypatch, 2)
    linker = Drifting(kb)
    found = candidates(link_with(linker, documents("fever", "mi", "Fever", "chill", "MI")))
    assert linker.computed == [["fever", "mi"], ["chill"]]
    assert found[0] == found[2] != found[3]
    assert found[1] == found[4]


def test_answers_are_kept_for_the_next_call_only_if_the_linker_allows_it(kb: KnowledgeBase) -> None:
    """If all linkers kept them, the last `fever` would get the score that was computed together with `mi`."""
    for kind, computed in (
        (Drifting, [["fever"], ["fever", "mi"], ["fever"]]),
        (Keeping, [["fever"], ["mi"]]),
    ):
        linker = kind(kb)
        pipeline = Pipeline(linker)
        for texts in (["fever"], ["fever", "mi"], ["fever"]):
            assert len(candidates(pipeline.link_many(documents(*texts)))) == len(texts)
        assert linker.computed == computed


@pytest.mark.parametrize(("size", "computed"), [(0, 7), (2, 4), (100, 3)])
def test_the_number_of_kept_answers_is_limited(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, size: int, computed: int
) -> None:
    read_in_batches(monkeypatch, 1)
    monkeypatch.setattr("onym.methods.base.KEPT_CANDIDATES", 10 * size)  # of ten candidates
    linker = Drifting(kb)
    candidates(link_with(linker, documents("a", "b", "c", "b", "b", "c", "a")))
    assert len(linker.computed) == computed  # with 2, `a` is dropped for `c`


@pytest.mark.parametrize("size", [0, 1, 3])
def test_recent_values_never_exceed_their_number(size: int) -> None:
    recent = Recent[str, str](size)
    computed: list[str] = []

    def compute(new: list[str]) -> list[str]:
        computed.extend(new)
        return [key.upper() for key in new]

    for keys in (["a", "b", "c", "d"], ["a"], [], ["e", "a", "f"]):
        assert recent.fill(keys, compute) == [key.upper() for key in keys]
    assert len(recent._values) <= size
    computed.clear()
    recent.fill(["a", "e", "f"][3 - size :], compute)
    assert computed == []  # the most recent values are kept


def test_values_of_a_failure_are_not_kept() -> None:
    recent = Recent[str, str](10)
    answers = iter((["B"], ["B", "C", "D"]))  # too few, and too many
    for _ in range(2):
        with pytest.raises(ValueError, match="zip"):
            recent.fill(["a", "b"], lambda _: next(answers))
    assert recent.fill(["a", "b"], lambda new: [key.upper() for key in new]) == ["A", "B"]


def test_failing_document_does_not_affect_others(kb: KnowledgeBase) -> None:
    linked = list(link_with(Drifting(kb), documents("fever", "bad", "fever")))
    assert [[problem.code for problem in each.problems] for each in linked] == [[], ["internal-error"], []]
    assert linked[0].links[0].candidates == linked[2].links[0].candidates


def test_kept_answers_are_separate_per_filter_and_top_k(kb: KnowledgeBase) -> None:
    pipeline = Pipeline(Keeping(kb))
    for top_k in (1, 2, 1):
        options = PipelineOptions(top_k=top_k)
        assert len(candidates(pipeline.with_options(options).link_many(documents("fever")))[0]) == top_k
    exact = Pipeline(ExactLinker(kb))
    for ids in (["mesh:D006973"], ["mesh:D009203"]):
        (found,) = candidates(exact.with_filter(concepts=ids, restrict=True).link_many(documents("mi")))
        assert [candidate.concept_id for candidate in found] == ids
    assert len(candidates(exact.link_many(documents("mi")))[0]) == 2


@pytest.mark.parametrize("kind", [ExactLinker, TfidfLinker])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_answers_are_the_same_however_many_are_kept(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, kind: type[ExactLinker | TfidfLinker], size: int
) -> None:
    read_in_batches(monkeypatch, 2)
    linker = kind(kb)
    expected = candidates(link_with(linker, documents(*TEXTS)))
    monkeypatch.setattr("onym.methods.base.KEPT_CANDIDATES", 10 * size)  # of ten candidates
    assert candidates(link_with(linker, documents(*TEXTS))) == expected
    assert candidates(link_with(linker, documents(TEXTS[1]))) == [expected[1]]


def test_which_linkers_read_context_and_decide_names() -> None:
    """A linker that reads context must say so: otherwise it would return results of another document."""
    pytest.importorskip("faiss")
    pytest.importorskip("torch")
    classes = {name: getattr(LINKERS.load(name), f"{name.title().replace('_', '')}Linker") for name in LINKERS.names}
    built_in = {name: each for name, each in classes.items() if LINKERS.part(name).is_built_in}
    assert {name for name, each in built_in.items() if not each.reads_context} == {"exact", "tfidf", "dense"}
    assert {name for name, each in built_in.items() if not each.decides_names} == {
        "cascade",
        "collective",
        "dense",
        "generative",
        "tfidf",
    }
    assert all(each.reads_context for each in built_in.values() if issubclass(each, TreesLinker))


def test_a_part_that_reads_context_keeps_nothing(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    linker = InContext(kb)
    read_in_batches(monkeypatch, 1)
    docs = documents("chill", "chill", "chill")
    for composed in (CascadeLinker(exact=ExactLinker(kb), dense=linker), CascadeLinker(exact=ExactLinker(kb), rerank=linker)):
        assert [each[0].name for each in candidates(link_with(composed, docs))] == ["0", "1", "2"]


def test_a_cascade_computes_a_text_once_for_all_its_batches(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    read_in_batches(monkeypatch, 1)
    dense = Drifting(kb)
    pipeline = Pipeline(CascadeLinker(exact=ExactLinker(kb), dense=dense))
    docs = documents("chill", "fever", "Chill", "CHILL")
    first = candidates(pipeline.link_many(docs))
    assert dense.computed == [["chill"]]
    assert candidates(pipeline.link_many(docs)) == first
    assert dense.computed == [["chill"], ["chill"]]  # the dense part does not keep its answers for the next call


@pytest.fixture
def reranker(tmp_path: Path, tiny_kb: Path) -> RerankLinker:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    linker = open_linker(linker_config("rerank", model=str(write_folder(tmp_path / "model"))), kb)
    assert isinstance(linker, RerankLinker)
    return linker


def watch_texts(linker: Linker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records each text that the linker computes."""
    computed: list[str] = []

    def watching(own: Callable[..., Any]) -> Callable[..., Any]:
        def make(top_k: int, allowed: ConceptMask | None = None) -> Callable[[Sequence[Query]], Any]:
            rank = own(top_k, allowed)

            def watch_rank(queries: Sequence[Query]) -> Any:
                computed.extend(query.text for query in queries)
                return rank(queries)

            return watch_rank

        return make

    for name in ("ranking", "proposing"):
        monkeypatch.setattr(linker, name, watching(getattr(linker, name)))
    return computed


@pytest.mark.parametrize("is_in_cascade", [False, True])
def test_a_reranker_computes_candidates_and_probabilities_once(
    reranker: RerankLinker, monkeypatch: pytest.MonkeyPatch, is_in_cascade: bool
) -> None:
    read_in_batches(monkeypatch, 1)
    computed = watch_texts(reranker.parts.linkers["tfidf"], monkeypatch)
    scored: list[int] = []
    probabilities = type(reranker.reranker).probabilities

    def count_probabilities(own: Any, matrix: Any) -> Any:
        scored.append(len(matrix))
        return probabilities(own, matrix)

    monkeypatch.setattr(type(reranker.reranker), "probabilities", count_probabilities)
    linker = CascadeLinker(exact=ExactLinker(reranker.kb), rerank=reranker) if is_in_cascade else reranker
    pipeline = Pipeline(linker)
    for _ in range(2):  # the second call finds all answers kept
        found = candidates(pipeline.link_many(documents("fevers", "hart attack", "fevers", "fevers")))
        assert computed == ["fevers", "hart attack"]
        assert len(scored) == 2
        assert found[0] == found[2] == found[3]


# Names decide, and the defaults of a linker.


def test_names_decide_for_linkers_that_leave_it_to_the_ranking(kb: KnowledgeBase) -> None:
    asked = queries("heart attack")
    [plain] = Drifting(kb).rank(asked)
    [decided] = open_ranking(Drifting(kb), 10, names=True)(asked)
    assert plain.candidates[0].concept_id == "mesh:D005334"
    assert (decided.candidates[0].concept_id, decided.candidates[0].score) == ("mesh:D009203", plain.candidates[0].score)


def test_defaults_of_a_linker(kb: KnowledgeBase) -> None:
    linker, asked = TfidfLinker(kb), queries("hart attack", "fever")
    ranked = linker.rank(asked, 2)
    proposed = Linker.proposing(linker, 2)(asked)
    assert proposed == linker.proposing(2)(asked)
    assert [list(scores) for scores in proposed] == [
        [kb.concept_ids.find(each.concept_id) for each in found.candidates] for found in ranked
    ]
    links = [each.link(query.mention) for query, each in zip(asked, ranked, strict=True)]
    found = Linker.evidence(linker, asked, links)
    assert [[reason.kind for reason in each.reasons] for each in found] == [["model-name"], ["same-name"]]
    assert linker.rank([]) == []
    assert Linker.proposing(linker, 2)([]) == []
    for concept in ("mesh:D006973", "mesh:D009203"):
        [mi] = linker.rank(queries("mi"), 2, concepts_with_ids(kb, [concept]))
        assert [each.concept_id for each in mi.candidates] == [concept]
