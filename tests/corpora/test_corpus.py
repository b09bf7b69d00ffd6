"""Tests of reading and writing corpora: atomic writes, and reports of what is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus, read_sources, write_corpus, write_linked_corpus
from onym.corpora.formats import READ_ONLY, detect, get
from onym.corpora.plain import with_answers
from onym.errors import ConfigError, InputError
from onym.registry import FORMATS
from onym.store.files.source import Source
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, Passage, Problem
from tests.support.documents import after_round_trip

DOC = Document(
    "1", "High fever. It rose.", (Mention(5, 10, "fever", ("mesh:D005334",), "Disease"),),
    (Passage(0, 11, "title"), Passage(12, 20, "abstract")),
)  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FORMATS.built_in if name not in READ_ONLY])
def test_each_format_is_written_recognised_and_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / ("out" if get(name).IS_FOLDER else f"out.{'txt' if name == 'askapatient' else name}")
    written = write_corpus([DOC], path, name)
    assert (written.documents, written.mentions, written.problems) == (1, 1, [])
    if name == "askapatient":  # AskAPatient is detected by its numeric ids
        path.write_bytes(path.read_bytes().replace(b"D005334", b"386661006"))
    assert detect(Source.open(path)) == name
    items = list(read_corpus(path))
    assert [type(item) for item in items] == [Document]
    assert list(read_corpus(path, name)) == items
    with pytest.raises(ConfigError) as caught:
        write_corpus([DOC], path, name)
    assert caught.value.code == "output-exists"
    write_corpus([DOC], path, name, force=True)
    assert sorted(tmp_path.iterdir()) == [path]


def test_lost_facets_are_counted(tmp_path: Path) -> None:
    lost = write_corpus([DOC, DOC], tmp_path / "a.pubtator", "pubtator").lost
    assert not lost
    assert write_corpus([DOC], tmp_path / "text", "text").lost == {
        "mentions": 1, "types": 1, "concept ids": 1, "passages": 1,
    }  # fmt: skip


def test_problems_are_collected_including_lone_surrogates(tmp_path: Path) -> None:
    bad = Document("2", "x\ud800", notes=(("a", "b"),))
    worse = Document("3", "x", (Mention(0, 1, "x", notes=(("\udfff", ""),)),))
    written = write_corpus([Problem("0", "corpus-duplicate", "w"), bad, DOC, worse], tmp_path / "a.jsonl", "jsonl")
    assert [problem.code for problem in written.problems] == ["corpus-duplicate", "corpus-encoding", "corpus-encoding"]
    assert [problem.code for problem in written.skipping_problems] == ["corpus-encoding", "corpus-encoding"]
    assert list(read_corpus(tmp_path / "a.jsonl")) == [DOC]


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    def failing() -> object:
        yield DOC
        raise RuntimeError

    for name, target in (("jsonl", "a"), ("brat", "b")):
        with pytest.raises(RuntimeError):
            write_corpus(failing(), tmp_path / target, name)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_rejects_unknown_and_read_only_formats(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00\x01")
    with pytest.raises(ConfigError) as caught:
        read_corpus(tmp_path / "a.bin")
    assert caught.value.code == "format-unknown"
    with pytest.raises(ConfigError) as caught:
        write_corpus([DOC], tmp_path / "a", "nothing")
    assert caught.value.code == "part-unknown"
    with pytest.raises(ConfigError) as caught:
        write_corpus([DOC], tmp_path / "a", "pubmed")
    assert caught.value.code == "format-read-only"
    with pytest.raises(InputError):
        read_corpus(tmp_path / "absent")


@pytest.mark.parametrize("form", ["text", "brat", "biosyn"])
def test_documents_with_the_same_id_get_separate_files_and_keep_it(tmp_path: Path, form: str) -> None:
    pairs = (("1", "a"), ("1", "b"), ("1#2", "c"), ("1%~2", "d"))
    docs = [Document(name, text, (Mention(0, 1, text),)) for name, text in pairs]
    assert write_corpus(docs, tmp_path / "a", form).documents == 4
    back = {(doc.id, doc.text) for doc in documents_of(read_corpus(tmp_path / "a", form))}
    assert back == set(pairs)


@pytest.mark.parametrize("form", ["jsonl", "pubtator", "bioc_xml", "bioc_json", "parquet"])
def test_ids_that_look_numbered_are_unchanged(tmp_path: Path, form: str) -> None:
    docs = [Document(name, text) for name, text in (("1", "a"), ("1", "b"), ("1#2", "c"))]
    write_corpus(docs, tmp_path / "a", form)
    back = [(doc.id, doc.text, doc.source, doc.ordinal) for doc in documents_of(read_corpus(tmp_path / "a", form))]
    assert back == [("1", "a", "a", 1), ("1", "b", "a", 2), ("1#2", "c", "a", 3)]


def test_several_sources_are_read_as_one_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("fever")
    (tmp_path / "b.pubtator").write_text("a|t|High fever\na|a|\n\na|t|Cough\n\n")
    sources = [Source.open(tmp_path / name) for name in ("a.txt", "b.pubtator")]
    docs = list(documents_of(read_sources(sources)))
    assert [(doc.id, doc.source, doc.ordinal) for doc in docs] == [
        ("a", "a.txt", 1),
        ("a", "b.pubtator", 1),
        ("a", "b.pubtator", 2),
    ]
    assert [doc.text for doc in documents_of(read_sources(sources[:1], "text"))] == ["fever"]


FULL = Link(
    DOC.mentions[0],
    (Candidate("mesh:D005334", "fever", 0.5),),
    detection_score=0.9,
    stage="dense",
    confidence=0.25,
    nil_reason="below-threshold",
    tied=2,
)
LOST = Document("2", "No fever.", (Mention(3, 8, "fever"),))
LINKED = [LinkedDocument(DOC, (FULL,)), LinkedDocument(LOST, problems=(Problem("2", "limit-record", "too long"),))]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_formats_with_links_keep_evidence_and_problems(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{form}"
    written = write_linked_corpus(LINKED, path, form)
    assert (written.documents, written.mentions, written.problems) == (2, 1, [])
    assert list(get(form).read_linked(Source.open(path))) == [after_round_trip(each) for each in LINKED]  # type: ignore[attr-defined]
    assert list(read_corpus(path)) == list(map(with_answers, LINKED))
    with pytest.raises(ConfigError, match="output-exists"):
        write_linked_corpus(LINKED, path, form)
    write_linked_corpus(LINKED[:1], path, form, force=True)
    assert len(list(read_corpus(path))) == 1


@pytest.mark.parametrize("form", ["pubtator", "bioc_json", "brat"])
def test_other_formats_store_only_the_best_concept(form: str, tmp_path: Path) -> None:
    linked = [LinkedDocument(DOC, (replace(FULL, nil_reason=None),)), *LINKED[1:]]
    written = write_linked_corpus(linked, tmp_path / "a", form)
    assert (written.documents, written.mentions) == (2, 1)
    first, second = documents_of(read_corpus(tmp_path / "a", form))
    assert [mention.concept_ids for mention in first.mentions] == [("mesh:D005334",)]
    assert second.mentions == ()


def test_lone_surrogate_in_a_linked_document_is_a_problem(tmp_path: Path) -> None:
    bad = LinkedDocument(Document("3", "x\ud800"))
    written = write_linked_corpus([bad, *LINKED], tmp_path / "a.jsonl", "jsonl")
    assert [(problem.document_id, problem.code) for problem in written.skipping_problems] == [("3", "corpus-encoding")]
    assert [doc.id for doc in documents_of(read_corpus(tmp_path / "a.jsonl"))] == ["1", "2"]
