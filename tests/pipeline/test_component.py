"""Tests of components: steps of users before and after linking."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest

from onym.corpora.corpus import read_corpus
from onym.corpora.formats import get
from onym.corrections import Corrections, Rule
from onym.corrections.corrections import Found
from onym.errors import ConfigError, InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.outputs.links import write_links
from onym.outputs.predictions import read_predictions, schema
from onym.packs.locate import load, read_pipeline
from onym.parts import ModelReference
from onym.pipeline import Pipeline, PipelineOptions, build_pipeline
from onym.pipeline.component import (
    MAX_EXTRA,
    Component,
    ComponentConfig,
    after_link,
    before_link,
    component_config,
)
from onym.pipeline.folder import describe
from onym.pipeline.prepare import Prepared
from onym.registry import COMPONENTS, Part
from onym.store.files.source import Source
from onym.types import Document, LinkedDocument, Mention, Relation
from tests.cli.command import onym
from tests.plug_in.src.onym_plug_in.components import CountWords, WordsConfig, drop_in_brackets

FEVER, INFARCT = "mesh:D005334", "mesh:D009203"
TEXT = "Heart attack (fever) and fever"
Links = list[LinkedDocument]


@pytest.fixture(autouse=True)
def _plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the components of the sample plug-in, as if it were installed."""
    named: dict[str, Any] = {"outside-brackets": drop_in_brackets, "words": CountWords}
    parts = tuple(Part("component", name, "onym-plug-in", "1.2.3", partial(named.get, name)) for name in named)
    monkeypatch.setitem(vars(COMPONENTS), "_plug_ins", parts)


@pytest.fixture
def pipeline(tiny_kb: Path) -> Pipeline:
    kb = KnowledgeBase.open(tiny_kb)
    return Pipeline(ExactLinker(kb), DictionaryDetector(kb))


def component(run: Callable[..., Any], name: str = "mine") -> Component:
    """Return a component of a function that is decorated with its place."""
    place = run.place  # type: ignore[attr-defined]
    return Component(name, place, run, {"kind": name})


def found(linked: LinkedDocument) -> list[tuple[int, str | None]]:
    return [(link.mention.start, link.concept_id) for link in linked.links]


def adding(extra: object, name: str = "mine") -> Component:
    """Return a component that adds something to the links of documents that contain "attack"."""

    @after_link
    def add(batch: Sequence[LinkedDocument]) -> Links:
        return [
            replace(linked, links=tuple(replace(link, extra={name: extra}) for link in linked.links))
            if "attack" in linked.document.text
            else linked
            for linked in batch
        ]

    return component(add)


# Before linking.


def test_a_component_drops_mentions(pipeline: Pipeline) -> None:
    plain, less = pipeline.link(TEXT), pipeline.with_components("outside-brackets").link(TEXT)
    assert found(plain) == [(0, INFARCT), (14, FEVER), (25, FEVER)]
    assert found(less) == [(0, INFARCT), (25, FEVER)]
    assert [link.detection_score for link in less.links] == [plain.links[0].detection_score, plain.links[2].detection_score]
    assert [each.surface for each in less.document.mentions] == ["Heart attack", "fever"]
    relations = (Relation("causes", (("Arg1", FEVER), ("Arg2", INFARCT))),)
    annotated = Document("1", TEXT, (Mention(14, 19, "fever"),), relations=relations)
    dropped = pipeline.with_components("outside-brackets").link(annotated)
    assert (found(dropped), dropped.document.relations) == ([], ())  # a relation could refer to the mention
    assert pipeline.with_components("words").link(annotated).document.relations == relations


def test_a_component_may_add_and_move_mentions_of_typographic_text(pipeline: Pipeline) -> None:
    @before_link
    def widen(batch: Sequence[Prepared]) -> list[Prepared]:
        text = "heart attack"
        starts = [prepared.document.text.index(text) for prepared in batch]  # the hyphen is a plain one
        return [
            prepared.with_found([Found(Mention(start, start + len(text), text), 0.5)])
            for prepared, start in zip(batch, starts, strict=True)
        ]

    linked = pipeline.with_components(component(widen)).link("Old heart\u2009attack")
    assert found(linked) == [(4, INFARCT)]
    assert (linked.links[0].detection_score, linked.links[0].mention.surface) == (0.5, "heart\u2009attack")


def test_explanations_are_of_the_mentions_that_are_left(pipeline: Pipeline) -> None:
    explained = pipeline.with_components("outside-brackets", "words").explain(TEXT)
    assert [each.link.mention.start for each in explained] == [0, 25]
    assert explained.lines()[0] == "1:0-12  Heart attack"


# After linking.


def test_what_a_component_says_is_in_the_link(pipeline: Pipeline) -> None:
    linked = pipeline.with_components("words").link(TEXT)
    assert [link.extra for link in linked.links] == [{"words": 2}, {"words": 1}, {"words": 1}]
    assert [link["extra"] for link in linked.to_dict()["links"]] == [link.extra for link in linked.links]
    assert "extra" not in pipeline.link(TEXT).to_dict()["links"][0]
    assert "extra" not in linked.rows()[0]


def test_a_component_gets_confidences_and_corrections_before_thresholds(pipeline: Pipeline) -> None:
    seen: list[tuple[str | None, str | None]] = []

    @after_link
    def lower(batch: Sequence[LinkedDocument]) -> Links:
        seen.extend((link.stage, link.nil_reason) for linked in batch for link in linked.links)
        halved = [tuple(_halve(link) for link in linked.links) for linked in batch]
        return [replace(linked, links=links) for linked, links in zip(batch, halved, strict=True)]

    corrected = pipeline.with_corrections(Corrections([Rule("heart attack", FEVER)], pipeline.kb))
    strict = corrected.with_threshold(0.6).with_components(component(lower))
    linked = strict.link("Heart attack, fever")
    assert seen == [("correction", None), (None, None)]
    assert [(link.concept_id, link.nil_reason) for link in linked.links] == [(FEVER, None), (None, "below-threshold")]


def _halve(link: Any) -> Any:
    return replace(link, candidates=tuple(replace(each, score=each.score / 2) for each in link.candidates))


def test_components_run_in_the_order_given(pipeline: Pipeline) -> None:
    @after_link
    def note(batch: Sequence[LinkedDocument]) -> Links:
        return [
            replace(
                linked, links=tuple(replace(link, extra={**link.extra, "mine": sorted(link.extra)}) for link in linked.links)
            )
            for linked in batch
        ]

    for given, seen in ((("words", component(note)), ["words"]), ((component(note), "words"), [])):
        both = pipeline.with_components(*given)
        assert [link.extra["mine"] for link in both.link("Fever").links] == [seen]
        assert [each["kind"] for each in both.config["components"]] == (["words", "mine"] if seen else ["mine", "words"])


def test_extra_is_written_and_read_again(pipeline: Pipeline, tmp_path: Path) -> None:
    document = Document("1", TEXT)
    pipeline = pipeline.with_components("words")
    wanted = [{"words": 2}, {"words": 1}, {"words": 1}]
    counts = write_links([document], pipeline, tmp_path / "links.jsonl")
    assert not counts.lost
    assert [one.extra for one in read_predictions(tmp_path / "links.jsonl")] == wanted
    for line in (tmp_path / "links.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), schema("predictions-2"))
    write_links([document], pipeline, tmp_path / "corpus.jsonl", "jsonl")
    form: Any = get("jsonl")
    (linked,) = form.read_linked(Source.open(tmp_path / "corpus.jsonl"))
    assert [link.extra for link in linked.links] == wanted
    assert list(read_corpus(tmp_path / "corpus.jsonl"))
    for name in ("links.tsv", "links.parquet"):
        assert write_links([document], pipeline, tmp_path / name).lost == {"extra": 1}


@pytest.mark.parametrize("line", ['"extra":[1]', '"extra":"words"', '"extra":null'])
def test_rejects_extra_that_is_not_an_object(tmp_path: Path, line: str) -> None:
    head = '{"kind":"predictions","format":2,"source":{}}'
    (tmp_path / "p.jsonl").write_text(f'{head}\n{{"document":"1","start":0,"end":5,"answers":[],{line}}}\n')
    with pytest.raises(InputError, match="predictions-malformed"):
        read_predictions(tmp_path / "p.jsonl")


# Failures.


@pytest.mark.parametrize("extra", [object(), float("nan"), "x" * MAX_EXTRA, b"fever", "\ud800"])
def test_extra_that_cannot_be_written_is_a_problem_of_its_document(pipeline: Pipeline, extra: object) -> None:
    linked = list(pipeline.with_components(adding(extra)).link_many(["fever", "heart attack", "fever"]))
    assert [[problem.code for problem in each.problems] for each in linked] == [[], ["component-extra"], []]
    assert [found(each) for each in linked] == [[(0, FEVER)], [], [(0, FEVER)]]
    assert "'mine'" in linked[1].problems[0].what


def test_extra_under_another_name_is_checked_too(pipeline: Pipeline) -> None:
    [linked] = pipeline.with_components(adding(object(), name="somebody")).link_many(["heart attack"])
    assert [problem.code for problem in linked.problems] == ["component-extra"]


def test_the_longest_extra_is_kept(pipeline: Pipeline) -> None:
    extra = "x" * (MAX_EXTRA - 2)
    assert pipeline.with_components(adding(extra)).link("heart attack").links[0].extra == {"mine": extra}


@pytest.mark.parametrize("place", [before_link, after_link])
def test_a_component_that_raises_isolates_the_document(pipeline: Pipeline, place: Any) -> None:
    @place
    def refuse(batch: Sequence[Any]) -> list[Any]:
        for each in batch:
            text = each.document.text
            if "attack" in text:
                raise ValueError(text)
        return list(batch)

    linked = list(pipeline.with_components(component(refuse)).link_many(["fever", "heart attack", "fever"]))
    assert [[problem.code for problem in each.problems] for each in linked] == [[], ["internal-error"], []]
    assert [each.document.id for each in linked] == ["1", "2", "3"]
    assert [found(each) for each in linked] == [[(0, FEVER)], [], [(0, FEVER)]]
    assert "attack" not in repr(linked[1].problems)


@pytest.mark.parametrize("place", [before_link, after_link])
@pytest.mark.parametrize(
    "wrong", [lambda batch: batch[1:], lambda batch: [*batch, batch[0]], lambda batch: [None] * len(batch)]
)
def test_a_component_that_returns_something_else_stops_the_run(pipeline: Pipeline, place: Any, wrong: Any) -> None:
    @place
    def leave_out(batch: Sequence[Any]) -> Any:
        return wrong(batch)

    with pytest.raises(ConfigError, match="'mine' returned") as caught:
        list(pipeline.with_components(component(leave_out)).link_many(["fever", "heart attack"]))
    assert caught.value.code == "component-invalid"


@pytest.mark.parametrize("place", [before_link, after_link])
def test_a_component_that_returns_documents_in_another_order_stops_the_run(pipeline: Pipeline, place: Any) -> None:
    turn = component(place(lambda batch: list(batch)[::-1]))
    with pytest.raises(ConfigError, match="other documents") as caught:
        list(pipeline.with_components(turn).link_many(["fever", "fever"]))
    assert caught.value.code == "component-invalid"


def test_a_document_that_failed_before_is_left_out(pipeline: Pipeline) -> None:
    seen: list[str] = []

    @after_link
    def note(batch: Sequence[LinkedDocument]) -> Links:
        seen.extend(linked.id for linked in batch)
        return list(batch)

    linked = list(pipeline.with_components(adding(object()), component(note)).link_many(["fever", "heart attack"]))
    assert seen == ["1"]
    assert [len(each.problems) for each in linked] == [0, 1]


# Components by name and configuration.


def test_configurations(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    assert component_config("words", least=2, most=None) == WordsConfig(least=2)
    plain = component_config("outside-brackets")
    assert type(plain) is ComponentConfig
    opened = Component.open(plain, kb)
    assert (opened.place, opened.run, opened.config) == ("before_link", drop_in_brackets, {"kind": "outside-brackets"})
    for name, options in (("words", {"least": 0}), ("words", {"most": 2}), ("outside-brackets", {"least": 1})):
        with pytest.raises(ConfigError, match="config-invalid"):
            component_config(name, **options)
    with pytest.raises(ConfigError, match="part-unknown"):
        component_config("nowhere")


def test_components_of_a_folder(tmp_path: Path, tiny_kb: Path) -> None:
    components: list[ComponentConfig | str] = ["outside-brackets", component_config("words", least=2)]
    built = build_pipeline(tiny_kb, tmp_path / "p", components=components, options=PipelineOptions(assertion=False))
    loaded = load(tmp_path / "p")
    assert loaded.config == built.config
    for each in (built, loaded):
        linked = each.link(TEXT)
        assert found(linked) == [(0, INFARCT), (25, FEVER)]
        assert [link.extra for link in linked.links] == [{"words": 2}, {}]
    config = read_pipeline(tmp_path / "p")
    assert [(each.kind, each.name, each.package) for each in config.plug_ins] == [
        ("component", "outside-brackets", "onym-plug-in"),
        ("component", "words", "onym-plug-in"),
    ]
    assert [value for name, value in describe(config) if name == "component"] == ["outside-brackets", "words"]
    assert loaded.source()["components"] == [{"kind": "outside-brackets"}, {"kind": "words", "least": 2}]


class OfModel(ComponentConfig):
    """The configuration of a component that reads a model."""

    kind: Literal["of-model"] = "of-model"
    model: ModelReference


def test_a_model_of_a_component_is_pinned(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    @after_link
    class Reading:
        Config = OfModel

        def __init__(self, config: OfModel, _kb: KnowledgeBase) -> None:
            opened.append(config.model.path)

        def __call__(self, batch: Sequence[LinkedDocument]) -> Links:
            return list(batch)

    part = Part("component", "of-model", "elsewhere", "1", lambda: Reading)
    monkeypatch.setitem(vars(COMPONENTS), "_plug_ins", (part,))
    model = tmp_path / "p" / "model"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    build_pipeline(tiny_kb, tmp_path / "p", components=[OfModel(model=ModelReference(path=str(model)))])
    assert json.loads((tmp_path / "p" / "pipeline.json").read_text())["components"][0]["model"]["path"] == "model"
    assert opened == [str(model)]
    (model / "config.json").write_text("[]")
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")


def test_components_of_the_command_line(tmp_path: Path, tiny_kb: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    onym("pipeline", "build", "--kb", str(tiny_kb), "-o", "p", "--component", "outside-brackets", cwd=tmp_path)
    onym("link", "a.txt", "--pipeline", "p", "--component", "words", "-o", "links.jsonl", cwd=tmp_path)
    predictions = read_predictions(tmp_path / "links.jsonl")
    assert [(one.start, one.extra) for one in predictions] == [(0, {"words": 2}), (25, {"words": 1})]
    assert [each["kind"] for each in predictions.source["components"]] == ["outside-brackets", "words"]
    printed = onym("link", "a.txt", "--pipeline", "p", "--component", "words", "--json", cwd=tmp_path)
    assert [link["extra"] for link in json.loads(printed.stdout)["links"]] == [{"words": 2}, {"words": 1}]
    assert "components" not in printed.stderr  # nothing is lost
    failed = onym("link", "a.txt", "--pipeline", "p", "--component", "oracle", "-o", "x.jsonl", cwd=tmp_path, status=2)
    assert "[part-unknown]" in failed.stderr
    assert "outside-brackets" in failed.stderr
