"""Tests of linking in batches, where a failing document must not affect the others, and of concept filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.errors import ConfigError, InputError, IntegrityError, LimitError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.ranking import concepts_of_types, concepts_with_ids, describe_mask
from onym.kb.recipe import Recipe
from onym.linkers.base import Linker, SurfaceLinker, describe_filter, link_among, link_batches
from onym.linkers.exact import ExactLinker
from onym.linkers.tfidf import TfidfLinker
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, Problem

SECRET = "patient Smith"
FEVER = Mention(0, 5, "fever")
LINK = Link(FEVER, (Candidate("mesh:D005334", "fever", 1.0),))


def documents(count: int) -> list[Document]:
    return [Document(str(number), "fever", (FEVER,)) for number in range(count)]


def linking(errors: dict[str, Exception], sizes: list[int]) -> object:
    """Return a function that links a batch, records its size, and raises the errors given by document id."""

    def link(batch: Sequence[Document]) -> Iterator[list[Link]]:
        sizes.append(len(batch))
        for doc in batch:
            if doc.id in errors:
                raise errors[doc.id]
            yield [LINK] * len(doc.mentions)

    return link


def test_links_in_batches() -> None:
    sizes: list[int] = []
    docs = documents(5)
    linked = link_batches(iter(docs), linking({}, sizes), batch=2)  # type: ignore[arg-type]
    assert next(linked).document is docs[0]
    assert sizes == [2]
    assert [(each.document, each.links) for each in linked] == [(doc, (LINK,)) for doc in docs[1:]]
    assert sizes == [2, 2, 1]


@pytest.mark.parametrize("error", [InputError, LimitError])
def test_document_error_becomes_a_problem(error: type[InputError | LimitError]) -> None:
    sizes: list[int] = []
    raised = error("limit-record", "a document is too long", where="token 9")
    docs = documents(5)
    linked = list(link_batches(docs, linking({"1": raised}, sizes), batch=3))  # type: ignore[arg-type]
    assert [each.document for each in linked] == docs
    assert [each.is_complete for each in linked] == [True, False, True, True, True]
    assert linked[1].links == ()
    assert linked[1].problems == (Problem("1", "limit-record", "a document is too long", "token 9"),)
    assert all(each.links == (LINK,) and not each.problems for each in linked if each.document.id != "1")
    assert sizes == [3, 1, 1, 1, 2]  # after a failure, the documents of the batch are linked one at a time


def test_bug_becomes_a_problem_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    linked = list(link_batches(documents(3), linking({"2": ValueError(SECRET)}, []), batch=3))  # type: ignore[arg-type]
    assert [each.is_complete for each in linked] == [True, True, False]
    (problem,) = linked[2].problems
    assert (problem.document_id, problem.code) == ("2", "internal-error")
    assert problem.what.startswith("ValueError in linkers/base.py:")
    assert SECRET not in repr(problem)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("error", [ConfigError, IntegrityError])
def test_global_error_stops_the_run(error: type[ConfigError | IntegrityError]) -> None:
    linked = link_batches(documents(4), linking({"3": error("some-code", "for all")}, []), batch=2)  # type: ignore[arg-type]
    assert [next(linked).document.id, next(linked).document.id] == ["0", "1"]
    with pytest.raises(error, match="some-code"):
        next(linked)


def test_rejects_wrong_number_of_links() -> None:
    (linked,) = link_batches(documents(1), lambda _: [], batch=2)
    assert [problem.code for problem in linked.problems] == ["internal-error"]


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


def collect_answers(linked: LinkedDocument) -> dict[str, tuple[str | None, str | None]]:
    return {link.mention.surface: (link.concept_id, link.nil_reason) for link in linked.links}


@pytest.mark.parametrize("make", [ExactLinker, TfidfLinker])
def test_mention_of_another_type_is_left_unlinked(words: KnowledgeBase, make: Callable[[KnowledgeBase], Linker]) -> None:
    only = concepts_of_types(words, ["disease"])
    (linked,) = link_among(make(words), [WHOLE], only=only)
    assert linked.document is WHOLE
    assert [link.mention for link in linked.links] == list(WHOLE.mentions)
    found = collect_answers(linked)
    assert found["men"] == found["heat"] == (None, "filtered-out")
    assert (found["fever"][0], found["adenomas"][0], found["nothing"][0]) == ("mesh:D005334", "mesh:D009377", None)
    assert found["nothing"][1] == "no-candidate"
    kept = {link.mention.surface: [each.concept_id for each in link.candidates] for link in linked.links}
    assert (kept["men"][0], kept["heat"][0]) == ("mesh:D009377", "mesh:D005334")
    assert all(only[words.concept_ids.find(concept_id)] for ids in kept.values() for concept_id in ids)


def test_filtered_answer_is_the_best_unfiltered_one(words: KnowledgeBase) -> None:
    (freely,) = ExactLinker(words).link([WHOLE])
    (linked,) = link_among(ExactLinker(words), [WHOLE], only=concepts_of_types(words, ["disease"]))
    for link, free in zip(linked.links, freely.links, strict=True):
        assert link.concept_id in (None, free.concept_id)


def test_restricted_to_some_concepts_the_others_are_ignored(words: KnowledgeBase) -> None:
    only = concepts_of_types(words, ["disease"])
    (linked,) = link_among(ExactLinker(words), [WHOLE], only=only, restrict=True)
    assert [linked] == list(ExactLinker(words).link([WHOLE], only=only))
    assert collect_answers(linked)["men"] == ("mesh:D009377", None)
    assert list(link_among(ExactLinker(words), [WHOLE])) == list(ExactLinker(words).link([WHOLE]))


def test_counts_ties_among_wanted_concepts(words: KnowledgeBase) -> None:
    only = concepts_with_ids(words, ["mesh:D008571", "mesh:D009377"])
    (linked,) = link_among(ExactLinker(words), [WHOLE], only=only, top_k=1)
    assert (linked.links[0].concept_id, linked.links[0].tied, len(linked.links[0].candidates)) == ("mesh:D008571", 1, 1)
    (linked,) = link_among(ExactLinker(words), [WHOLE], only=concepts_with_ids(words, ["mesh:D008571"]))
    assert (linked.links[0].concept_id, linked.links[0].tied) == ("mesh:D008571", 0)


def counted(make: type[SurfaceLinker], calls: list[tuple[bool, int]], **declared: bool) -> type[Any]:
    """Return a linker class that records each call per document: whether a filter was given, and the number of mentions."""

    class Counting(make):  # type: ignore[misc, valid-type]
        def link(self, documents: Iterable[Document], **options: Any) -> Iterator[LinkedDocument]:
            for linked in super().link(documents, **options):
                calls.append((options.get("only") is not None, len(linked.links)))
                yield linked

    for name, value in declared.items():
        setattr(Counting, name, value)
    return Counting


@pytest.mark.parametrize("types", [["disease"], ["person"], ["disease", "person"]])
@pytest.mark.parametrize("top_k", [1, 10])
def test_exact_match_does_not_link_again(words: KnowledgeBase, types: list[str], top_k: int) -> None:
    calls: list[tuple[bool, int]] = []
    once, twice = counted(ExactLinker, calls), counted(ExactLinker, [], filters_after_ranking=False)
    only = concepts_of_types(words, types)
    (linked,) = link_among(once(words), [WHOLE], only=only, top_k=top_k)
    assert calls == [(False, len(WHOLE.mentions))]
    assert [linked] == list(link_among(twice(words), [WHOLE], only=only, top_k=top_k))


def test_exact_match_links_again_if_candidates_were_cut(tmp_path: Path) -> None:
    rows = "".join(f"x:{number}\tgout\t{'disease' if number == 5 else 'other'}\n" for number in range(1, 6))
    (tmp_path / "gout.tsv").write_text("id\tname\tsemantic_types\n" + rows)
    build_kb(Recipe.of({"sources": [{"path": "gout.tsv"}]}), tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    calls: list[tuple[bool, int]] = []
    doc = Document("1", "gout", (Mention(0, 4, "gout"),))
    (linked,) = link_among(counted(ExactLinker, calls)(kb), [doc], only=concepts_of_types(kb, ["disease"]), top_k=1)
    assert calls == [(False, 1), (True, 1)]
    assert [each.concept_id for each in linked.links[0].candidates] == ["x:5"]
    assert linked.links[0].nil_reason == "filtered-out"


def test_links_only_filtered_out_mentions_again(words: KnowledgeBase) -> None:
    calls: list[tuple[bool, int]] = []
    linker = counted(TfidfLinker, calls)(words)
    only = concepts_of_types(words, ["disease"])
    (linked,) = link_among(linker, [WHOLE], only=only)
    left_out = sum(link.nil_reason == "filtered-out" for link in linked.links)
    assert calls == [(False, len(WHOLE.mentions)), (True, left_out)]
    calls.clear()
    fever = [mention for mention in WHOLE.mentions if mention.surface == "fever"]
    docs = [replace(WHOLE, id=str(number), mentions=tuple(fever)) for number in range(3)]
    assert [link.concept_id for each in link_among(linker, docs, only=only) for link in each.links] == ["mesh:D005334"] * 3
    assert calls == [(False, 1)] * 3


def test_keeps_document_order_and_problems(words: KnowledgeBase) -> None:
    class Fails(ExactLinker):
        """Fails on one document in the first pass, and on another document in the second pass."""

        filters_after_ranking = False

        def link(self, documents: Iterable[Document], **options: Any) -> Iterator[LinkedDocument]:
            bad = "3" if options.get("only") is None else "5"
            problem = Problem(bad, "limit-record", "too long")
            for linked in super().link(documents, **options):
                yield LinkedDocument(linked.document, problems=(problem,)) if linked.document.id == bad else linked

    docs = [replace(WHOLE, id=str(number)) for number in range(700)]
    found = link_among(Fails(words), iter(docs), only=concepts_of_types(words, ["disease"]))
    linked = list(found)
    assert [each.document.id for each in linked] == [doc.id for doc in docs]
    assert [each.document.id for each in linked if not each.is_complete] == ["3", "5"]
    assert all(len(each.links) == len(WHOLE.mentions) for each in linked if each.is_complete)


def test_describe_filter(words: KnowledgeBase) -> None:
    only = concepts_of_types(words, ["disease"])
    assert describe_filter(None) == {}
    assert describe_filter(only) == {**describe_mask(only), "others_compete": True}
    assert describe_filter(only, restrict=True) == {**describe_mask(only), "others_compete": False}


def test_description_distinguishes_filters_of_equal_size() -> None:
    one, other = np.array([True, False, False]), np.array([False, True, False])
    assert describe_filter(one)["concepts_allowed"] == describe_filter(other)["concepts_allowed"]
    assert describe_filter(one) != describe_filter(other)
