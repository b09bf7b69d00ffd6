"""Tests of the step that links: documents that fail, and concept filters, in which other concepts compete."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.errors import ConfigError, InputError, IntegrityError, LimitError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.ranking import ConceptMask, Ranked, concepts_of_types, concepts_with_ids, describe_mask, rank_scored
from onym.kb.recipe import Recipe
from onym.methods.base import Linker, Rank
from onym.methods.exact import ExactLinker
from onym.methods.tfidf import TfidfLinker
from onym.pipeline import Pipeline, PipelineOptions
from onym.text.queries import Query
from onym.types import Candidate, Document, LinkedDocument, Mention, Problem
from tests.support.linking import link_with

SECRET = "patient Smith"
FEVER = Mention(0, 5, "fever")
CANDIDATE = Candidate("mesh:D005334", "fever", 1.0)


def documents(count: int) -> list[Document]:
    return [Document(str(number), "fever", (FEVER,)) for number in range(count)]


class Raising(Linker):
    """A linker that records the number of documents of each call, and raises the errors given by document id."""

    reads_context = True

    def __init__(self, kb: KnowledgeBase, errors: dict[str, Exception]) -> None:
        self.kb, self.errors = kb, errors
        self.sizes: list[int] = []

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "raising"}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        def rank(queries: Sequence[Query]) -> list[Ranked]:
            self.sizes.append(len(queries))
            for query in queries:
                if query.document.id in self.errors:
                    raise self.errors[query.document.id]
            return [Ranked((CANDIDATE,))] * len(queries)

        return rank


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def linking(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Iterator[LinkedDocument], list[int]]]:
    """Return a function that links documents in batches, and also returns the sizes of the calls."""

    def link(count: int, errors: dict[str, Exception], *, batch: int) -> tuple[Iterator[LinkedDocument], list[int]]:
        monkeypatch.setattr("onym.pipeline.pipeline._BATCH", batch)
        monkeypatch.setattr("onym.pipeline.pipeline._TERM", 0)
        linker = Raising(kb, errors)
        return link_with(linker, iter(documents(count))), linker.sizes

    return link


def test_links_in_batches(linking: Any) -> None:
    linked, sizes = linking(5, {}, batch=2)
    assert next(linked).document == documents(1)[0]
    assert sizes == [2]
    assert [(each.document, [link.candidates for link in each.links]) for each in linked] == [
        (document, [(CANDIDATE,)]) for document in documents(5)[1:]
    ]
    assert sizes == [2, 2, 1]


@pytest.mark.parametrize("error", [InputError, LimitError])
def test_document_error_becomes_a_problem(linking: Any, error: type[InputError | LimitError]) -> None:
    raised = error("limit-record", "a document is too long", where="token 9")
    found, sizes = linking(5, {"1": raised}, batch=3)
    linked = list(found)
    assert [each.document for each in linked] == documents(5)
    assert [each.is_complete for each in linked] == [True, False, True, True, True]
    assert linked[1].links == ()
    assert linked[1].problems == (Problem("1", "limit-record", "a document is too long", "token 9"),)
    assert all(len(each.links) == 1 and not each.problems for each in linked if each.document.id != "1")
    assert sizes == [3, 1, 1, 1, 2]  # after a failure, the documents of the batch are linked one at a time


def test_bug_becomes_a_problem_without_its_message(linking: Any, caplog: pytest.LogCaptureFixture) -> None:
    linked = list(linking(3, {"2": ValueError(SECRET)}, batch=3)[0])
    assert [each.is_complete for each in linked] == [True, True, False]
    (problem,) = linked[2].problems
    assert (problem.document_id, problem.code) == ("2", "internal-error")
    assert problem.what.startswith("ValueError in pipeline/link.py:")
    assert SECRET not in repr(problem)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("error", [ConfigError, IntegrityError])
def test_global_error_stops_the_run(linking: Any, error: type[ConfigError | IntegrityError]) -> None:
    linked, _ = linking(4, {"3": error("some-code", "for all")}, batch=2)
    assert [next(linked).document.id, next(linked).document.id] == ["0", "1"]
    with pytest.raises(error, match="some-code"):
        next(linked)


@pytest.mark.parametrize("reads_context", [True, False])
def test_a_wrong_number_of_answers_becomes_a_problem(kb: KnowledgeBase, reads_context: bool) -> None:
    class Skipping(ExactLinker):
        """A linker that leaves out the answer for `fever`."""

        def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
            own = super().ranking(top_k, allowed)
            return lambda queries: own([query for query in queries if query.text != "fever"])

    Skipping.reads_context = reads_context
    text = ("mi", "fever", "heart attack")
    docs = [Document(word, word, (Mention(0, len(word), word),)) for word in text]
    linked = list(link_with(Skipping(kb), docs))
    assert [[problem.code for problem in each.problems] for each in linked] == [[], ["internal-error"], []]
    assert [link.concept_id for each in linked for link in each.links] == ["mesh:D006973", "mesh:D009203"]


# With a concept filter, the other concepts still compete: a mention whose best match is filtered out has no answer.

WORDS = """id\tname\tsynonyms\ttypes
mesh:D008571\tmen\t\tperson
mesh:D009377\tneoplasia\tmen|adenomas\tdisease
mesh:D005334\tfever\theat\tdisease
mesh:D006358\theat\t\tphysics
"""
TEXT = "men with fever, adenomas, heat and nothing"
WHOLE = Document(
    "1", TEXT, tuple(Mention(TEXT.index(word), TEXT.index(word) + len(word), word) for word in TEXT.replace(",", "").split())
)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("words")
    (folder / "words.tsv").write_text(WORDS)
    build_kb(Recipe.of({"sources": [{"path": "words.tsv"}]}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


def link_among(
    linker: Linker, docs: Sequence[Document], *, only: ConceptMask | None = None, restrict: bool = False, top_k: int = 10
) -> list[LinkedDocument]:
    options = PipelineOptions(top_k=top_k, restrict=restrict, assertion=False)
    return list(Pipeline(linker, options=options, only=only).link_many(docs))


def collect_answers(linked: LinkedDocument) -> dict[str, tuple[str | None, str | None]]:
    return {link.mention.surface: (link.concept_id, link.nil_reason) for link in linked.links}


@pytest.mark.parametrize("make", [ExactLinker, TfidfLinker])
def test_mention_of_another_type_is_left_unlinked(words: KnowledgeBase, make: Callable[[KnowledgeBase], Linker]) -> None:
    only = concepts_of_types(words, ["disease"])
    (linked,) = link_among(make(words), [WHOLE], only=only)
    assert linked.document == WHOLE
    assert [link.mention for link in linked.links] == list(WHOLE.mentions)
    found = collect_answers(linked)
    assert found["men"] == found["heat"] == (None, "filtered-out")
    assert (found["fever"][0], found["adenomas"][0], found["nothing"][0]) == ("mesh:D005334", "mesh:D009377", None)
    assert found["nothing"][1] == "no-candidate"
    kept = {link.mention.surface: [each.concept_id for each in link.candidates] for link in linked.links}
    assert (kept["men"][0], kept["heat"][0]) == ("mesh:D009377", "mesh:D005334")
    assert all(only[words.concept_ids.find(concept_id)] for ids in kept.values() for concept_id in ids)


def test_filtered_answer_is_the_best_unfiltered_one(words: KnowledgeBase) -> None:
    (freely,) = link_with(ExactLinker(words), [WHOLE])
    (linked,) = link_among(ExactLinker(words), [WHOLE], only=concepts_of_types(words, ["disease"]))
    for link, free in zip(linked.links, freely.links, strict=True):
        assert link.concept_id in (None, free.concept_id)


def test_restricted_to_some_concepts_the_others_are_ignored(words: KnowledgeBase) -> None:
    only = concepts_of_types(words, ["disease"])
    (linked,) = link_among(ExactLinker(words), [WHOLE], only=only, restrict=True)
    assert [linked] == list(link_with(ExactLinker(words), [WHOLE], only=only))
    assert collect_answers(linked)["men"] == ("mesh:D009377", None)
    assert link_among(ExactLinker(words), [WHOLE]) == list(link_with(ExactLinker(words), [WHOLE]))


def test_counts_ties_among_wanted_concepts(words: KnowledgeBase) -> None:
    only = concepts_with_ids(words, ["mesh:D008571", "mesh:D009377"])
    (linked,) = link_among(ExactLinker(words), [WHOLE], only=only, top_k=1)
    assert (linked.links[0].concept_id, linked.links[0].tied, len(linked.links[0].candidates)) == ("mesh:D008571", 1, 1)
    (linked,) = link_among(ExactLinker(words), [WHOLE], only=concepts_with_ids(words, ["mesh:D008571"]))
    assert (linked.links[0].concept_id, linked.links[0].tied) == ("mesh:D008571", 0)


def watching(linker: Linker, calls: list[tuple[bool, int]], monkeypatch: pytest.MonkeyPatch) -> Linker:
    """Return the linker, which records each call: whether a filter was given, and the number of queries."""
    own = linker.ranking

    def ranking(top_k: int, allowed: ConceptMask | None = None) -> Rank:
        rank = own(top_k, allowed)

        def watch(queries: Sequence[Query]) -> list[Ranked]:
            calls.append((allowed is not None, len(queries)))
            return rank(queries)

        return watch

    monkeypatch.setattr(linker, "ranking", ranking)
    return linker


def test_lists_the_allowed_candidates_even_if_others_come_before_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"x:{number}\tgout\t{'disease' if number == 5 else 'other'}\n" for number in range(1, 6))
    (tmp_path / "gout.tsv").write_text("id\tname\tsemantic_types\n" + rows)
    build_kb(Recipe.of({"sources": [{"path": "gout.tsv"}]}), tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    calls: list[tuple[bool, int]] = []
    linker = watching(ExactLinker(kb), calls, monkeypatch)
    document = Document("1", "gout", (Mention(0, 4, "gout"),))
    (linked,) = link_among(linker, [document], only=concepts_of_types(kb, ["disease"]), top_k=1)
    assert calls == [(False, 1), (True, 1)]
    assert [each.concept_id for each in linked.links[0].candidates] == ["x:5"]
    assert linked.links[0].nil_reason == "filtered-out"


@pytest.mark.parametrize("make", [ExactLinker, TfidfLinker])
def test_ranks_only_filtered_out_mentions_again(
    words: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, make: Callable[[KnowledgeBase], Linker]
) -> None:
    calls: list[tuple[bool, int]] = []
    linker = watching(make(words), calls, monkeypatch)
    only = concepts_of_types(words, ["disease"])
    (linked,) = link_among(linker, [WHOLE], only=only)
    left_out = sum(link.nil_reason == "filtered-out" for link in linked.links)
    assert calls == [(False, len(WHOLE.mentions)), (True, left_out)]
    calls.clear()
    fever = tuple(mention for mention in WHOLE.mentions if mention.surface == "fever")
    docs = [replace(WHOLE, id=str(number), mentions=fever) for number in range(3)]
    assert [link.concept_id for each in link_among(linker, docs, only=only) for link in each.links] == ["mesh:D005334"] * 3
    assert calls == [(False, 1)]  # one text in three documents


def test_keeps_document_order_and_problems(words: KnowledgeBase) -> None:
    class Fails(ExactLinker):
        """Fails on one document without the filter, and on another document with it."""

        reads_context = True

        def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
            bad, own = "3" if allowed is None else "5", super().ranking(top_k, allowed)

            def rank(queries: Sequence[Query]) -> list[Ranked]:
                if any(query.document.id == bad for query in queries):
                    raise LimitError("limit-record", "too long")
                return own(queries)

            return rank

    docs = [replace(WHOLE, id=str(number)) for number in range(700)]
    linked = link_among(Fails(words), docs, only=concepts_of_types(words, ["disease"]))
    assert [each.document.id for each in linked] == [doc.id for doc in docs]
    assert [each.document.id for each in linked if not each.is_complete] == ["3", "5"]
    assert all(len(each.links) == len(WHOLE.mentions) for each in linked if each.is_complete)


def describe_filter(kb: KnowledgeBase, only: ConceptMask | None, *, restrict: bool = False) -> dict[str, Any]:
    source = Pipeline(ExactLinker(kb), options=PipelineOptions(restrict=restrict), only=only).source()
    return {name: value for name, value in source.items() if name.startswith("concepts_") or name == "others_compete"}


def test_source_describes_the_filter(words: KnowledgeBase) -> None:
    only = concepts_of_types(words, ["disease"])
    assert describe_filter(words, None) == {}
    assert describe_filter(words, only) == {**describe_mask(only), "others_compete": True}
    assert describe_filter(words, only, restrict=True) == {**describe_mask(only), "others_compete": False}


def test_description_distinguishes_filters_of_equal_size(words: KnowledgeBase) -> None:
    one, other = (np.arange(len(words)) == row for row in range(2))
    assert describe_filter(words, one)["concepts_allowed"] == describe_filter(words, other)["concepts_allowed"]
    assert describe_filter(words, one) != describe_filter(words, other)


# A linker needs little: filters, abbreviations and names that decide are not its concern.


class Terms(Linker):
    """A linker that looks terms up in a dict."""

    def __init__(self, kb: KnowledgeBase, meanings: dict[str, str]) -> None:
        self.kb, self.meanings = kb, meanings

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "terms", "terms": len(self.meanings)}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        rows = {text: self.kb.concept_ids.find(concept) for text, concept in self.meanings.items()}
        rows = {text: row for text, row in rows.items() if allowed is None or allowed[row]}
        best = {text: {row: (0.9, int(self.kb.names_of(row)[0]))} for text, row in rows.items()}
        return lambda queries: [rank_scored(self.kb, best.get(query.text, {}), top_k) for query in queries]


def test_a_linker_that_looks_terms_up_is_short(words: KnowledgeBase) -> None:
    assert len(inspect.getsource(Terms).splitlines()) <= 15
    text = "A bloke with raised temperature (RT); the RT came of ADENOMAS"
    mentions = (Mention(2, 7, "bloke"), Mention(42, 44, "RT"), Mention(53, 61, "ADENOMAS"))
    pipeline = Pipeline(
        Terms(words, {"bloke": "mesh:D008571", "raised temperature": "mesh:D005334", "adenomas": "mesh:D005334"})
    )
    found = pipeline.link(Document("1", text, mentions))
    assert [link.concept_id for link in found.links] == ["mesh:D008571", "mesh:D005334", "mesh:D009377"]
    assert [link.candidates[0].score for link in found.links] == [0.9] * 3
    diseases = pipeline.with_types(["disease"]).link(Document("1", text, mentions))
    assert [link.concept_id for link in diseases.links] == [None, "mesh:D005334", "mesh:D009377"]
    (fever,) = words.resolve("mesh:D005334")
    only_fever = pipeline.with_filter(concepts=[words.concept_ids[fever]], restrict=True).link(Document("1", text, mentions))
    assert [link.concept_id for link in only_fever.links] == [None, "mesh:D005334", "mesh:D005334"]
