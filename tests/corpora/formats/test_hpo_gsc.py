"""Tests of reading and writing HPO's gold standard corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.corpora.base import documents_of
from onym.corpora.formats import detect, hpo_gsc
from onym.store.files.source import Source
from onym.types import Document, Problem
from tests.support.documents import source_of, write_to_memory

TEXT = "7\r\nskin tags and fever\r\n0\t9\tskin tags\tHP:0010609\r\n14\t19\tfever\tHP:0001945\r\n\r\n8\r\nnothing\r\n"


def test_documents_survive_reading_and_writing() -> None:
    source = source_of(a__tsv=TEXT)
    assert detect(source) == "hpo_gsc"
    docs = list(documents_of(hpo_gsc.read(source)))
    assert [(doc.id, doc.text) for doc in docs] == [("7", "skin tags and fever"), ("8", "nothing")]
    assert docs[0].mentions[1].concept_ids == ("hp:0001945",)
    assert write_to_memory(hpo_gsc, docs)[""].decode() == TEXT.replace("\r", "") + "\n"


@pytest.mark.parametrize("line", ["0\t4", "a\tb\tskin\tHP:1", "0\t4\tskin"])
def test_malformed_lines_become_problems(line: str) -> None:
    problem, doc = hpo_gsc.read(source_of(a__tsv=f"7\nskin\n{line}\n\n8\nx\n"))
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("7", "corpus-malformed")
    assert doc == Document("8", "x")


def test_wrong_offsets_become_problems() -> None:
    problem, _ = hpo_gsc.read(source_of(a__tsv="7\nskin\n0\t4\tnose\tHP:1\n"))
    assert isinstance(problem, Problem)
    assert problem.code == "corpus-offsets"


@pytest.mark.real_data
def test_reads_the_real_corpus(real_data: Path) -> None:
    source = Source.open(real_data / "hpo_gsc" / "corpus.zip")
    gold = Source.of_files("gold", [file for file in source.files if "GSC/" in file.name])
    docs = list(documents_of(hpo_gsc.read(gold)))
    assert len(docs) == 228
    assert 2100 <= sum(len(doc.mentions) for doc in docs) <= 2122
