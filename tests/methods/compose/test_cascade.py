"""Tests of the cascade linker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, concepts_with_ids
from onym.methods import linker_config, open_linker
from onym.methods.base import Linker, Rank
from onym.methods.compose.cascade import CascadeLinker, CascadeLinkerConfig
from onym.methods.exact import ExactLinker
from onym.methods.generative.linker import GenerativeLinker
from onym.text.queries import Query, queries_of
from onym.types import Candidate, Document, Mention
from tests.support.linking import link_with
from tests.support.models import save_encoder, save_model
from tests.threads import one_thread

TEXT = "Heart attack, MI, chest pain and fever."


def document(*surfaces: str, text: str = TEXT, doc_id: str = "1") -> Document:
    rows = [(text.index(surface), surface) for surface in surfaces]
    return Document(doc_id, text, tuple(Mention(start, start + len(surface), surface) for start, surface in rows))


DOC = document("Heart attack", "MI", "chest pain")


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture
def kb(tmp_path: Path, tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))


class Said(Linker):
    """A linker that returns the same candidates for every mention, and records its queries."""

    reads_context = True

    def __init__(self, kb: KnowledgeBase, *candidates: Candidate, scores: dict[str, float] | None = None) -> None:
        self.kb = kb
        self.queries: list[str] = []
        self.named: list[list[str]] = []
        self._candidates, self._scores = candidates, scores or {}

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "said"}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        def rank(queries: Sequence[Query]) -> list[Ranked]:
            self.queries += [query.mention.surface for query in queries]
            return [Ranked(self._candidates[:top_k])] * len(queries)

        return rank

    def score_names(self, queries: Sequence[Query], names: Sequence[Sequence[int]]) -> list[list[float]]:
        self.queries += [query.mention.surface for query in queries]
        self.named += [[self.kb.names[name] for name in each] for each in names]
        return [[self._scores.get(self.kb.names[name], -9.0) for name in each] for each in names]


def with_model(model: Any, **parts: Any) -> CascadeLinker:
    """Return a cascade with a `Said` as its generative part."""
    return CascadeLinker(generative=model, **parts)


FEVER, MI, PRESSURE = (
    Candidate("mesh:D005334", "pyrexia", 0.9),
    Candidate("mesh:D009203", "mi", 0.8),
    Candidate("mesh:D006973", "mi", 0.8),
)


def collect_answers(
    linker: CascadeLinker, doc: Document = DOC, **options: Any
) -> list[tuple[str | None, list[tuple[str, float]]]]:
    (linked,) = link_with(linker, [doc], **options)
    assert [link.mention for link in linked.links] == list(doc.mentions)
    return [(link.stage, [(each.concept_id, each.score) for each in link.candidates]) for link in linked.links]


def test_unambiguous_exact_match_skips_other_components(kb: KnowledgeBase) -> None:
    dense = Said(kb, FEVER, MI)
    found = collect_answers(CascadeLinker(exact=ExactLinker(kb), dense=dense))
    near = ("dense", [("mesh:D005334", 0.9), ("mesh:D009203", 0.8)])
    assert found == [("exact", [("mesh:D009203", 1.0)]), near, near]
    assert dense.queries == ["MI", "chest pain"]  # two concepts have the name MI, so exact match does not decide


def test_ambiguous_name_is_passed_on_even_with_top_k_one(kb: KnowledgeBase) -> None:
    found = collect_answers(CascadeLinker(exact=ExactLinker(kb), dense=Said(kb, FEVER)), top_k=1)
    assert [stage for stage, _ in found] == ["exact", "dense", "dense"]


def test_a_filter_may_make_a_name_unambiguous(kb: KnowledgeBase) -> None:
    only = concepts_with_ids(kb, ["mesh:D006973"])
    cascade = CascadeLinker(exact=ExactLinker(kb), dense=Said(kb))
    assert [stage for stage, _ in collect_answers(cascade, only=only)] == [None, "exact", None]


def test_the_model_orders_the_candidates_by_their_best_names(kb: KnowledgeBase) -> None:
    model = Said(kb, scores={"mi": -2.0, "hypertension": -0.5, "heart attack": -1.0})
    dense = Said(kb, FEVER, MI, PRESSURE)
    cascade = with_model(model, exact=ExactLinker(kb), dense=dense, config=CascadeLinkerConfig(names=3))
    ordered = [("mesh:D006973", -0.5), ("mesh:D009203", -1.0), ("mesh:D005334", -9.0)]
    assert collect_answers(cascade)[1:] == [("generative", ordered)] * 2
    assert model.queries == ["MI", "chest pain"]
    assert model.named[0][:2] == ["pyrexia", "fever"]
    assert len(model.named[0]) == len(set(model.named[0]))
    assert collect_answers(cascade, top_k=1)[1] == ("generative", ordered[:1])


def test_links_only_retrieved_candidates(kb: KnowledgeBase) -> None:
    """The name `mi` belongs to two concepts, only one of which was retrieved."""
    model = Said(kb, scores={"mi": -0.1})
    cascade = with_model(model, dense=Said(kb, MI), config=CascadeLinkerConfig(names=1))
    assert collect_answers(cascade)[0] == ("generative", [("mesh:D009203", -0.1)])


def test_without_candidates_there_is_no_answer(kb: KnowledgeBase) -> None:
    cascade = with_model(Said(kb), dense=Said(kb))
    assert collect_answers(cascade) == [(None, [])] * 3


def test_generative_model_searches_without_dense_component(kb: KnowledgeBase) -> None:
    cascade = with_model(Said(kb, FEVER), exact=ExactLinker(kb))
    assert [stage for stage, _ in collect_answers(cascade)] == ["exact", "generative", "generative"]
    assert [part["linker"] for part in cascade.config["parts"]] == ["exact", "said"]


def test_keeps_document_order_and_all_mentions(kb: KnowledgeBase) -> None:
    docs = [document("MI", doc_id="1"), Document("2", "nothing"), DOC, document("fever", doc_id="4")]
    linked = list(link_with(CascadeLinker(exact=ExactLinker(kb), dense=Said(kb, FEVER)), docs))
    assert [each.document for each in linked] == docs
    assert [[link.stage for link in each.links] for each in linked] == [
        ["dense"],
        [],
        ["exact", "dense", "dense"],
        ["exact"],
    ]


@pytest.mark.parametrize("names", [(), ("exact",), ("dense",)])
def test_rejects_wrong_number_of_components(kb: KnowledgeBase, names: tuple[str, ...]) -> None:
    parts: dict[str, Any] = {"exact": ExactLinker(kb), "dense": Said(kb)}
    with pytest.raises(ConfigError, match="cascade-parts"):
        CascadeLinker(**{name: parts[name] for name in names})


def test_rejects_different_knowledge_bases(kb: KnowledgeBase, tmp_path: Path) -> None:
    from tests.methods.dictionary.made_kb import make_kb

    with pytest.raises(ConfigError, match="cascade-parts"):
        CascadeLinker(exact=ExactLinker(kb), dense=Said(make_kb(tmp_path)))


def test_scored_candidates_have_the_scores_that_a_search_finds(kb: KnowledgeBase, tmp_path: Path) -> None:
    model = save_model(tmp_path / "tiny-bart")
    linker = GenerativeLinker.from_pretrained(model, kb, dtype="fp32")
    doc = document("MI", "fever")
    (linked,) = link_with(linker, [doc])
    names = [[kb.find(candidate.name) for candidate in link.candidates] for link in linked.links]
    found = linker.score_names(queries_of(doc), names)
    for link, scores in zip(linked.links, found, strict=True):
        assert scores == pytest.approx([candidate.score for candidate in link.candidates], abs=1e-4)


def test_all_three_parts_from_folders(kb: KnowledgeBase, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    model, encoder = save_model(tmp_path / "bart"), save_encoder(tmp_path / "bert")
    cascade = open_linker(linker_config("cascade", model=model, encoder=encoder), kb)
    assert [part["linker"] for part in cascade.config["parts"]] == ["exact", "dense", "generative"]
    (linked,) = link_with(cascade, [DOC])
    assert [link.stage for link in linked.links] == ["exact", "generative", "generative"]
    assert len(linked.links[2].candidates) == 3


class Failing(Said):
    """A linker that fails for one document."""

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        def rank(queries: Sequence[Query]) -> list[Ranked]:
            if any(query.document.id == "bad" for query in queries):
                raise InputError("limit-record", "a document is too long")
            return [Ranked(self._candidates[:top_k])] * len(queries)

        return rank


def test_component_failure_affects_only_its_document(kb: KnowledgeBase) -> None:
    docs = [document("MI", doc_id="1"), document("MI", doc_id="bad"), DOC]
    linked = list(link_with(CascadeLinker(exact=ExactLinker(kb), dense=Failing(kb, FEVER)), docs))
    assert [each.document for each in linked] == docs
    assert [[link.stage for link in each.links] for each in linked] == [["dense"], [], ["exact", "dense", "dense"]]
    (problem,) = linked[1].problems
    assert problem.document_id == "bad"
    assert "limit-record" in f"{problem.code} {problem.what}"


def test_the_options_go_to_the_parts(tmp_path: Path) -> None:
    config = linker_config("cascade", model="m", encoder="e", index="sq8", width=3, candidates=7, names=2)
    assert isinstance(config, CascadeLinkerConfig)
    assert config.dense is not None
    assert config.generative is not None
    assert (config.dense.model and config.dense.model.path, config.dense.index) == ("e", "sq8")
    assert (config.generative.model and config.generative.model.path, config.generative.width) == ("m", 3)
    assert (config.candidates, config.names) == (7, 2)
    assert CascadeLinkerConfig.model_validate_json(config.model_dump_json()) == config
    for name in ("candidates", "names"):
        with pytest.raises(ConfigError, match="config-invalid"):
            linker_config("cascade", encoder="e", **{name: 0})


def test_component_bug_is_reported_as_a_bug(kb: KnowledgeBase) -> None:
    class Broken(ExactLinker):
        def _rank(self, text: str, top_k: int, allowed: ConceptMask | None) -> Ranked:
            raise KeyError(text)

    doc = Document("1", "fever", (Mention(0, 5, "fever"),))
    (linked,) = link_with(CascadeLinker(exact=ExactLinker(kb), dense=Broken(kb)), [doc])
    assert linked.is_complete  # the exact component has linked it, so the broken component is not called
    other = Document("2", "nothing known", (Mention(0, 13, "nothing known"),))
    (linked,) = link_with(CascadeLinker(exact=ExactLinker(kb), dense=Broken(kb)), [other])
    assert [problem.code for problem in linked.problems] == ["internal-error"]
    assert "nothing" not in linked.problems[0].what


def test_reranker_links_what_exact_match_leaves(kb: KnowledgeBase) -> None:
    last = Said(kb, FEVER)
    linker = CascadeLinker(exact=ExactLinker(kb), rerank=last)
    (linked,) = link_with(linker, [DOC])
    assert [link.stage for link in linked.links] == ["exact", "rerank", "rerank"]
    assert last.queries == ["MI", "chest pain"]
    with pytest.raises(ConfigError, match="cascade-parts"):
        CascadeLinker(dense=Said(kb, FEVER), rerank=last)


def test_encoder_option_goes_to_the_reranker() -> None:
    config = linker_config("cascade", reranker="trees", encoder="minilm")
    assert isinstance(config, CascadeLinkerConfig)
    assert config.dense is None
    assert config.rerank is not None
    assert config.rerank.model is not None
    assert config.rerank.model.path == "trees"
    assert config.rerank.dense is not None
