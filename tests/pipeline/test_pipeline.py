"""Tests of linking texts and documents with a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onym.corpora.plain import with_answers
from onym.errors import ConfigError, InputError, LimitError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, concepts_of_types
from onym.methods.base import Rank
from onym.methods.compose.cascade import CascadeLinker
from onym.methods.detector import Detected, Span, detect_batches
from onym.methods.dictionary import detector as dictionary
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.methods.tfidf import TfidfLinker
from onym.pipeline import Pipeline, PipelineOptions
from onym.text.abbreviations import Abbreviations
from onym.text.queries import Query
from onym.types import Document, Mention, Problem, Relation
from tests.pipeline.calibrated import fit_calibration
from tests.support.linking import link_with


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def pipeline(kb: KnowledgeBase) -> Pipeline:
    return Pipeline(ExactLinker(kb), DictionaryDetector(kb))


def test_links_a_text(pipeline: Pipeline) -> None:
    linked = pipeline.link("High fever, then a heart attack.")
    assert [(link.mention.start, link.concept_id) for link in linked.links] == [(5, "mesh:D005334"), (19, "mesh:D009203")]
    assert linked.document.text == "High fever, then a heart attack."
    assert pipeline.link("").links == ()


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records each text that is searched for abbreviations, once per search."""
    texts: list[str] = []
    own = Abbreviations.from_text

    def from_text(text: str) -> Abbreviations:
        texts.append(text)
        return own(text)

    monkeypatch.setattr(Abbreviations, "from_text", from_text)
    return texts


@pytest.mark.parametrize("linker", ["exact", "cascade"])
def test_finds_abbreviations_once_per_document(kb: KnowledgeBase, passes: list[str], linker: str) -> None:
    alone = ExactLinker(kb)
    pipeline = Pipeline(
        alone if linker == "exact" else CascadeLinker(exact=alone, dense=ExactLinker(kb)), DictionaryDetector(kb)
    )
    texts = [f"Heart attack (HA) and fever {number}. The HA, pain." for number in range(150)]
    linked = list(pipeline.link_many(Document(text, text) for text in texts))
    assert passes == texts
    assert all(type(each.document) is Document for each in linked)
    assert all([link.concept_id for link in each.links].count("mesh:D009203") == 3 for each in linked)


def test_skips_abbreviations_if_not_needed(kb: KnowledgeBase, passes: list[str]) -> None:
    detector = DictionaryDetector(kb, dictionary.DictionaryDetectorConfig(abbreviations=False))
    assert Pipeline(ExactLinker(kb), detector, PipelineOptions(expand_abbreviations=False)).link("Fever (F).").links
    assert not Pipeline(ExactLinker(kb)).link("Fever (F).").links
    assert passes == []


def test_cascade_finds_abbreviations_once(kb: KnowledgeBase, passes: list[str]) -> None:
    doc = Document("1", "Bad things (BT). BT.", (Mention(17, 19, "BT"),))
    (linked,) = link_with(CascadeLinker(exact=ExactLinker(kb), dense=ExactLinker(kb)), [doc])
    assert passes == [doc.text]
    assert linked.document == doc


def test_uses_annotated_mentions(pipeline: Pipeline) -> None:
    doc = Document("1", "High fever, then a heart attack.", (Mention(0, 4, "High", type="Sign"),))
    linked = pipeline.link(doc)
    assert linked.document == doc
    assert [link.concept_id for link in linked.links] == [None]


def test_keeps_relations_and_notes(pipeline: Pipeline) -> None:
    relation = Relation("causes", (("Arg1", "mesh:D005334"), ("Arg2", "mesh:D009203")))
    doc = Document("1", "fever", relations=(relation,), notes=(("journal", "x"),))
    linked = pipeline.link(doc)
    assert (linked.document.relations, linked.document.notes) == (doc.relations, doc.notes)


def test_link_many_is_lazy_and_ordered(pipeline: Pipeline) -> None:
    read: list[int] = []

    def documents() -> Iterator[Document]:
        for number in range(500):
            read.append(number)
            mentions = (Mention(3, 8, "fever"),) if number % 3 == 0 else ()
            yield Document(str(number), "no fever, no heart attack", mentions)

    linked = pipeline.link_many(documents())
    first = next(linked)
    assert len(read) < 300
    ids = [first.document.id, *(each.document.id for each in linked)]
    assert ids == [str(number) for number in range(500)]


def test_one_link_per_mention(pipeline: Pipeline) -> None:
    docs = [Document("1", "fever"), Document("2", "x"), Document("3", "fever fever", (Mention(0, 5, "fever"),))]
    assert [len(each.links) for each in pipeline.link_many(docs)] == [1, 0, 1]


def test_no_links_without_detector_or_annotations(kb: KnowledgeBase) -> None:
    assert Pipeline(ExactLinker(kb)).link("High fever").links == ()


def test_links_below_threshold_are_nil(kb: KnowledgeBase) -> None:
    doc = Document("1", "hart attack, fever", (Mention(0, 11, "hart attack"), Mention(13, 18, "fever")))
    linked = Pipeline(TfidfLinker(kb), options=PipelineOptions(threshold=0.99)).link(doc)
    assert [link.concept_id for link in linked.links] == [None, "mesh:D005334"]
    assert [mention.concept_ids for mention in with_answers(linked).mentions] == [(), ("mesh:D005334",)]


def test_mention_below_threshold_keeps_candidates(kb: KnowledgeBase) -> None:
    doc = Document(
        "1", "hart attack, fever, (?)", (Mention(0, 11, "hart attack"), Mention(13, 18, "fever"), Mention(20, 23, "(?)"))
    )
    below, above, none = Pipeline(TfidfLinker(kb), options=PipelineOptions(threshold=0.99)).link(doc).links
    assert (below.nil_reason, below.candidates[0].concept_id) == ("below-threshold", "mesh:D009203")
    assert below.candidates == Pipeline(TfidfLinker(kb)).link(doc).links[0].candidates
    assert (above.nil_reason, above.concept_id) == (None, "mesh:D005334")
    assert (none.nil_reason, none.candidates) == ("no-candidate", ())
    for threshold, at, concept in ((above.candidates[0].score, 1, "mesh:D005334"), (0.0, 0, "mesh:D009203")):
        pipeline = Pipeline(TfidfLinker(kb), options=PipelineOptions(threshold=threshold))
        assert pipeline.link(doc).links[at].concept_id == concept


def test_concept_filter(kb: KnowledgeBase) -> None:
    only = concepts_of_types(kb, ["C14"])
    pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb, only=only), only=only)
    assert [link.concept_id for link in pipeline.link("fever, heart attack").links] == ["mesh:D009203"]
    assert pipeline.config["concepts_allowed"] == 2


def test_assertions_are_optional_and_change_nothing_else(pipeline: Pipeline) -> None:
    texts: list[str | Document] = [
        "High fever, no heart attack.",
        "",
        Document("d", "History of pyrexia", (Mention(11, 18, "pyrexia"),)),
    ]
    plain, marked = (list(each.link_many(texts)) for each in (pipeline.with_assertion(False), pipeline))
    assert {link.assertion for linked in plain for link in linked.links} == {None}
    assert [[link.assertion for link in linked.links] for linked in marked] == [[(), ("negated",)], [], [("historical",)]]
    without = [replace(each, links=tuple(replace(link, assertion=None) for link in each.links)) for each in marked]
    assert without == plain
    assert type(marked[0].document) is Document


def test_config_contains_assertion_only_if_it_is_off(pipeline: Pipeline) -> None:
    assert "assertion" not in pipeline.config
    bare = pipeline.with_assertion(False)
    assert bare.with_threshold(0.5).source()["assertion"] is False
    assert bare.with_assertion().config == bare.with_assertion(None).with_assertion(True).config == pipeline.config
    assert bare.with_assertion(None).options.assertion is False


def test_terms_have_no_assertion_marks(pipeline: Pipeline) -> None:
    term = Document("1", "No fever", (Mention(3, 8, "fever"),))
    assert [link.assertion for link in pipeline.link(term).links] == [("negated",)]
    assert [link.assertion for link in pipeline.for_terms().link(term).links] == [None]


def test_explanations_say_that_a_mention_is_negated(pipeline: Pipeline) -> None:
    explained = pipeline.explain("High fever, no heart attack.")
    assert [each.as_dict()["assertion"] for each in explained] == [None, "negated"]
    assert ["marks: negated" in each.lines() for each in explained] == [False, True]
    assert ">heart attack</mark><small" in explained._repr_html_()


def test_config_names_each_component(pipeline: Pipeline) -> None:
    assert pipeline.config["detector"]["detector"] == "dictionary"
    assert pipeline.config["linker"]["linker"] == "exact"
    source = pipeline.source()
    assert source["kb"]["digest"] == pipeline.kb.digest
    assert source["detector"] == pipeline.config["detector"]
    assert source["linker"] == pipeline.config["linker"]


@pytest.mark.parametrize(("text", "wanted"), [("fever " * 20, [64, 64, 64, 64, 44]), ("fever", [256, 44])])
def test_detector_gets_documents_in_batches_and_terms_in_larger_ones(kb: KnowledgeBase, text: str, wanted: list[int]) -> None:
    sizes = []

    class Counting:
        @property
        def config(self) -> dict[str, Any]:
            return {"detector": "counting"}

        def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
            batch = list(documents)
            sizes.append(len(batch))
            return (Detected(doc, ()) for doc in batch)

    list(Pipeline(ExactLinker(kb), Counting()).link_many(Document(str(number), text) for number in range(300)))
    assert sizes == wanted


class Spotting:
    """A detector that finds `fever`, with a score that depends on its offset, and fails on texts that contain `long`."""

    @property
    def config(self) -> dict[str, Any]:
        return {"detector": "spotting"}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        def find(batch: Sequence[Document]) -> Iterator[list[Span]]:
            for doc in batch:
                if "long" in doc.text:
                    raise LimitError("limit-record", "a document is too long")
                starts = [start for start in range(len(doc.text)) if doc.text.startswith("fever", start)]
                yield [Span(start, start + 5, 1 / (start + 1)) for start in starts]

        return detect_batches(documents, find)


class Refusing(ExactLinker):
    """A linker that fails on documents that contain `bad`."""

    reads_context = True

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        own = super().ranking(top_k, allowed)

        def rank(queries: Sequence[Query]) -> list[Ranked]:
            for query in queries:
                if "bad" in query.document.text:
                    raise ValueError(query.document.text)
            return own(queries)

        return rank


def test_links_have_detection_scores(kb: KnowledgeBase) -> None:
    pipeline = Pipeline(ExactLinker(kb), Spotting())
    annotated = Document("a", "fever, fever", (Mention(7, 12, "fever"),))
    docs: list[str | Document] = ["fever or fever", annotated, Document("b", "nothing"), "x fever"]
    linked = list(pipeline.link_many(docs))
    assert [[link.detection_score for link in each.links] for each in linked] == [[1.0, 1 / 10], [None], [], [1 / 3]]
    assert all(link.concept_id == "mesh:D005334" for each in linked for link in each.links)
    assert all(each.is_complete for each in linked)


def test_no_detection_scores_without_detector(kb: KnowledgeBase) -> None:
    doc = Document("1", "fever", (Mention(0, 5, "fever"),))
    assert [link.detection_score for link in Pipeline(ExactLinker(kb)).link(doc).links] == [None]


def test_problems_of_detector_and_linker_are_in_order(kb: KnowledgeBase) -> None:
    texts = ["fever", "long fever", "bad fever", "fever", "long and bad", "x fever"]
    linked = list(Pipeline(Refusing(kb), Spotting()).link_many(texts))
    assert [each.document.text for each in linked] == texts
    codes = [[problem.code for problem in each.problems] for each in linked]
    assert codes == [[], ["limit-record"], ["internal-error"], [], ["limit-record"], []]
    assert [[link.detection_score for link in each.links] for each in linked] == [[1.0], [], [], [1.0], [], [1 / 3]]
    assert linked[1].problems == (Problem("2", "limit-record", "a document is too long"),)
    assert [problem.document_id for problem in linked[4].problems] == ["5"]
    assert "fever" not in repr(linked[2].problems)


def test_texts_are_numbered_and_documents_keep_their_ids(pipeline: Pipeline) -> None:
    linked = list(pipeline.link_many(["fever", Document("x", "fever"), "fever"]))
    assert [each.document.id for each in linked] == ["1", "x", "3"]
    assert pipeline.link("fever").document.id == "1"
    assert list(pipeline.link_many([])) == []


@pytest.mark.parametrize("text", [b"fever", None, 5, ["fever"]])
def test_rejects_text_of_wrong_type(pipeline: Pipeline, text: Any) -> None:
    with pytest.raises(InputError, match="type-text") as caught:
        pipeline.link(text)
    assert "fever" not in str(caught.value)
    with pytest.raises(InputError, match="text 2"):
        list(pipeline.link_many(["fever", text]))


def test_context_manager(kb: KnowledgeBase) -> None:
    with Pipeline(ExactLinker(kb), DictionaryDetector(kb)) as pipeline:
        assert pipeline.link("fever").links[0].concept_id == "mesh:D005334"


@pytest.mark.parametrize("linker", [ExactLinker, TfidfLinker])
def test_is_thread_safe(kb: KnowledgeBase, linker: type[ExactLinker | TfidfLinker]) -> None:
    pipeline = Pipeline(linker(kb), DictionaryDetector(kb), PipelineOptions(threshold=0.5))
    texts = [f"{'x ' * (number % 7)}High fever, MI (myocardial infarction), then a heart attack." for number in range(60)]
    alone = list(pipeline.link_many(texts))
    assert all(each.links for each in alone)
    with ThreadPoolExecutor(8) as pool:
        shared = list(pool.map(lambda _: list(pipeline.link_many(texts)), range(16)))
        single = list(pool.map(pipeline.link, texts))
    assert all(found == alone for found in shared)
    assert [each.links for each in single] == [each.links for each in alone]


def test_with_types_narrows_existing_filter(kb: KnowledgeBase) -> None:
    of_heart = Pipeline(ExactLinker(kb), DictionaryDetector(kb), only=concepts_of_types(kb, ["C14"]))
    text = "High fever, then a heart attack."
    assert [link.concept_id for link in of_heart.with_types(["C14"]).link(text).links] == [None, "mesh:D009203"]
    assert [link.concept_id for link in of_heart.with_types([]).link(text).links] == [None, "mesh:D009203"]
    with pytest.raises(ConfigError, match="filter-empty"):
        of_heart.with_types(["C23"])


def test_concepts_outside_a_branch_compete_unless_restricted(branch_kb: Path) -> None:
    kb = KnowledgeBase.open(branch_kb)
    text = "Fever and headache with breast cancer and made sarcoma."
    pipeline = Pipeline(TfidfLinker(kb), DictionaryDetector(kb))
    links = pipeline.with_filter(under=["D009369"]).link(text).links
    assert [link.concept_id for link in links] == [None, None, "mesh:D001943", None]
    of_tumours = pipeline.with_filter(under=["D009369"], not_under=["D009422"], mapped=True).link(text).links
    assert [link.concept_id for link in of_tumours] == [None, None, "mesh:D001943", "mesh:C000001"]
    brain = Document("1", "brain fever", (Mention(0, 11, "brain fever"),))
    among = Pipeline(TfidfLinker(kb), options=PipelineOptions(under=("D009369",)))
    assert among.link(brain).links[0].nil_reason == "filtered-out"
    restricted = Pipeline(TfidfLinker(kb), options=PipelineOptions(under=("D009369",), restrict=True))
    later = Pipeline(TfidfLinker(kb)).with_filter(under=["D009369"], restrict=True)
    assert [each.link(brain).links[0].concept_id for each in (restricted, later)] == ["mesh:D009423"] * 2
    assert among.config["concepts_allowed"] == 3


def test_options_change_only_what_was_given(kb: KnowledgeBase) -> None:
    own = PipelineOptions(threshold=0.5, top_k=3, expand_abbreviations=False)
    pipeline = Pipeline(TfidfLinker(kb), options=own).with_filter(types=["C14"])
    assert pipeline.with_options(PipelineOptions()) is pipeline
    changed = pipeline.with_options(PipelineOptions(top_k=10, threshold=None))
    assert changed.options == PipelineOptions(threshold=None, top_k=10, expand_abbreviations=False)
    assert changed.config["concepts_allowed"] == pipeline.config["concepts_allowed"] == 2
    narrowed = pipeline.with_options(PipelineOptions(concepts=("mesh:D009203",), restrict=True))
    assert (narrowed.config["concepts_allowed"], narrowed.config["others_compete"]) == (1, False)
    with pytest.raises(ConfigError, match="filter-empty"):
        pipeline.with_options(PipelineOptions(types=("C23",)))


def test_for_terms_uses_term_calibration(tiny_kb: Path) -> None:
    linker, annotated = ExactLinker(KnowledgeBase.open(tiny_kb)), fit_calibration()
    found, terms = (annotated.model_copy(update={"mentions": kind}) for kind in ("found", "terms"))
    assert Pipeline(linker, calibration=found, term_calibration=terms).for_terms().calibration is terms
    assert Pipeline(linker, calibration=annotated).for_terms().calibration is annotated
    # A calibration for detected mentions does not apply to terms.
    assert Pipeline(linker, calibration=found).for_terms().calibration is None
    with pytest.raises(ConfigError, match="pipeline-uncalibrated"):
        Pipeline(linker, calibration=found).with_precision(0.9).for_terms()


def test_link_and_link_many_name_each_other(tiny_kb: Path) -> None:
    pipeline = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))
    for several in (["fever"], ("fever", "cough")):
        with pytest.raises(InputError, match="link_many"):
            pipeline.link(several)  # type: ignore[arg-type]
    for single in ("fever", Document("1", "fever")):
        with pytest.raises(InputError, match="with link"):
            pipeline.link_many(single)  # type: ignore[arg-type]
