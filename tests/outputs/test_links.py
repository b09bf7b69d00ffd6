"""Tests of writing links to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.corpora.base import Item, documents_of
from onym.corpora.corpus import read_corpus
from onym.corpora.formats import get
from onym.errors import ConfigError, LimitError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.base import Rank
from onym.methods.exact import ExactLinker
from onym.outputs.links import format_of, write_links
from onym.outputs.predictions import read_predictions
from onym.outputs.table import read_flat
from onym.pipeline import Pipeline
from onym.store.files.source import Source
from onym.text.queries import Query
from onym.types import Document, Link, Mention, Problem

DOC = Document("1", "fever, MI, xyz", (Mention(0, 5, "fever", ("mesh:D9",)), Mention(7, 9, "MI"), Mention(11, 14, "xyz")))
ITEMS: list[Item] = [DOC, Problem("2", "corpus-offsets", "a surface is not at its offsets")]


@pytest.fixture
def pipeline(tiny_kb: Path) -> Pipeline:
    return Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))


def test_predictions(pipeline: Pipeline, tmp_path: Path) -> None:
    counts = write_links(ITEMS, pipeline, tmp_path / "p.jsonl")
    assert counts.as_dict() == {"documents": 1, "mentions": 3, "linked": 2, "tied": 1, "left_out": 1, "problems": 0}
    found = read_predictions(tmp_path / "p.jsonl")
    assert found.answers["1", 0, 5] == ((("mesh:D005334",), 1.0, 0),)
    assert found.answers["1", 11, 14] == ()


def test_a_corpus_format_has_the_best_concept(pipeline: Pipeline, tmp_path: Path) -> None:
    write_links(ITEMS, pipeline, tmp_path / "p.pubtator", "pubtator")
    (doc,) = documents_of(read_corpus(tmp_path / "p.pubtator"))
    assert [mention.concept_ids for mention in doc.mentions] == [("mesh:D005334",), ("mesh:D006973",), ()]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("links.parquet", "table"),
        ("links.xlsx", "table"),
        ("links.jsonl", "predictions"),
        ("links", "predictions"),
        ("-", "table"),
        ("links.html", "html"),
        ("links.biocxml", "bioc_xml"),
        ("links.spacy", "docbin"),
    ],
)
def test_the_extension_decides_the_format(name: str, form: str) -> None:
    assert format_of(Path(name)) == form


@pytest.mark.parametrize("name", ["links.json", "links.txt", "links.jsonl.gz", "links.ndjson", "links.concept"])
def test_rejects_unknown_extensions(pipeline: Pipeline, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"no format writes [\s\S]*\.parquet, [\s\S]*\.pubtator"):
        write_links(ITEMS, pipeline, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_links_in_parquet_are_a_table(pipeline: Pipeline, tmp_path: Path) -> None:
    write_links(ITEMS, pipeline, tmp_path / "links.parquet")
    assert read_flat(tmp_path / "links.parquet")["concept_id"].to_list() == ["MESH:D005334", "MESH:D006973", None]


@pytest.mark.parametrize("form", ["predictions", "jsonl", "parquet"])
def test_assertion_marks_are_written_unless_switched_off(pipeline: Pipeline, tmp_path: Path, form: str) -> None:
    doc = Document("1", "No fever", (Mention(3, 8, "fever"),))
    found = []
    for assertion in (False, True):
        path = tmp_path / f"{assertion}.{form}"
        write_links([doc], pipeline.with_assertion(assertion), path, form)
        read = read_predictions if form == "predictions" else read_linked
        found.append([each.assertion for each in read(path)])
    assert found == [[None], [("negated",)]]


def read_linked(path: Path) -> list[Link]:
    form: Any = get(path.suffix[1:])
    return [link for linked in form.read_linked(Source.open(path)) for link in linked.links]


def test_predictions_header_records_that_assertion_is_off(pipeline: Pipeline, tmp_path: Path) -> None:
    for assertion in (False, True):
        write_links(ITEMS, pipeline.with_assertion(assertion), tmp_path / str(assertion))
    sources = [read_predictions(tmp_path / name).source for name in ("False", "True")]
    assert sources[0] == sources[1] | {"assertion": False}
    assert "assertion" not in sources[1]


@pytest.mark.parametrize("form", ["pubtator", "brat", "bioc"])
def test_counts_the_documents_whose_assertion_marks_a_format_cannot_store(
    pipeline: Pipeline, tmp_path: Path, form: str
) -> None:
    fever = Mention(5, 10, "fever")
    docs = [Document("1", "Deny fever", (fever,)), Document("2", "High fever", (fever,)), Document("3", "Once fever", (fever,))]
    assert write_links(docs, pipeline, tmp_path / "marked", form).lost == {"assertion marks": 1}
    assert not write_links(docs, pipeline.with_assertion(False), tmp_path / "bare", form).lost


def test_header_records_the_concept_filter(pipeline: Pipeline, tmp_path: Path) -> None:
    filtered = Pipeline(pipeline.linker, only=np.array([True, False, False]))
    write_links(ITEMS, filtered, tmp_path / "p.jsonl")
    assert read_predictions(tmp_path / "p.jsonl").source["concepts_allowed"] == 1


class Failing(ExactLinker):
    """A linker that crashes on some texts and rejects others as too long."""

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        own = super().ranking(top_k, allowed)

        def rank(queries: Sequence[Query]) -> list[Ranked]:
            texts = {query.text for query in queries}
            if "bug" in texts:
                raise ValueError("bug")
            if "long" in texts:
                raise LimitError("limit-record", "a document is too long")
            return [replace(ranked, stage="exact") for ranked in own(queries)]

        return rank


LOST = [Document("2", "bug", (Mention(0, 3, "bug"),)), Document("3", "long", (Mention(0, 4, "long"),))]


@pytest.fixture
def failing(tiny_kb: Path) -> Pipeline:
    return Pipeline(Failing(KnowledgeBase.open(tiny_kb)))


def test_documents_that_cannot_be_linked_are_counted_and_written_with_their_problems(failing: Pipeline, tmp_path: Path) -> None:
    counts = write_links([DOC, *LOST], failing, tmp_path / "p.jsonl")
    assert (counts.documents, counts.mentions, counts.problems, counts.bugs) == (3, 3, 2, 1)
    assert counts.as_dict()["problems"] == 2
    assert counts.as_dict()["by_exact"] == 3
    found = read_predictions(tmp_path / "p.jsonl")
    assert [(problem.document_id, problem.code) for problem in found.problems] == [
        ("2", "internal-error"),
        ("3", "limit-record"),
    ]
    assert {key[0] for key in found.mentions} == {"1"}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_link_formats_store_all_evidence(failing: Pipeline, tmp_path: Path, form: str) -> None:
    write_links([DOC, *LOST], failing, tmp_path / f"p.{form}", form)
    first, *lost = get(form).read_linked(Source.open(tmp_path / f"p.{form}"))  # type: ignore[attr-defined]
    linked = failing.link(DOC)
    assert [(link.candidates, link.stage) for link in first.links] == [(link.candidates, link.stage) for link in linked.links]
    assert [[problem.code for problem in each.problems] for each in lost] == [["internal-error"], ["limit-record"]]
    assert [doc.id for doc in documents_of(read_corpus(tmp_path / f"p.{form}"))] == ["1", "2", "3"]


def test_corpus_formats_write_failed_documents_without_mentions(failing: Pipeline, tmp_path: Path) -> None:
    counts = write_links([DOC, *LOST], failing, tmp_path / "p.pubtator", "pubtator")
    assert (counts.documents, counts.problems) == (3, 2)
    assert [len(doc.mentions) for doc in documents_of(read_corpus(tmp_path / "p.pubtator"))] == [3, 0, 0]


def test_skips_documents_with_unwritable_ids(tmp_path: Path, pipeline: Pipeline) -> None:
    mention = Mention(0, 5, "fever")
    items = [Document("\udcff", "fever", (mention,)), Document("1", "fever", (mention,))]
    counts = write_links(items, pipeline, tmp_path / "out.jsonl")
    assert counts.left_out == 1
    assert len((tmp_path / "out.jsonl").read_text("utf-8").splitlines()) == 2
