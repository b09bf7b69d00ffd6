"""Tests of reading and writing BioSyn's query files."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.corpora.base import documents_of
from onym.corpora.formats import biosyn, detect
from onym.store.files.source import Source
from onym.types import Document, Mention, Problem
from tests.support.documents import source_of, write_to_memory

TEXT = """7||40|61||Modifier||ataxia telangiectasia||D001260
7||72|97||CompositeMention||breast cancer|ovarian cancer||D001943|D010051
7||99|120||SpecificDisease||c5 deficiency||609536
7||130|140||DiseaseClass||unknown||-1
"""


def test_queries_survive_reading_and_writing() -> None:
    source = source_of(**{"7__concept": TEXT, "test_dictionary__txt": "D1||x\n"})
    assert detect(source) == "biosyn"
    (doc,) = documents_of(biosyn.read(source))
    assert (doc.id, doc.text.split("\n")[1]) == ("7", "breast cancer|ovarian cancer")
    assert [mention.concept_ids for mention in doc.mentions] == [
        ("mesh:D001260",), ("mesh:D001943", "mesh:D010051"), ("omim:609536",), (),
    ]  # fmt: skip
    assert doc.mentions[0].notes == (("offsets", "40|61"),)
    assert biosyn.preserved_facets(doc) == biosyn.HOLDS
    assert write_to_memory(biosyn, [doc]) == {"7.concept": TEXT.encode()}


def test_writes_the_offsets_of_documents_from_other_formats() -> None:
    doc = Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",), "Disease"),))
    assert write_to_memory(biosyn, [doc]) == {"1.concept": b"1||5|10||Disease||fever||D005334\n"}
    assert "mentions" not in biosyn.preserved_facets(doc)


@pytest.mark.parametrize("line", ["7||1|2||x", "7|1|2|x|y|z", "||1|2||x||y||z"])
def test_malformed_lines_become_problems(line: str) -> None:
    problem, doc = biosyn.read(source_of(a__concept=f"{line}\n{TEXT}"))
    assert isinstance(problem, Problem)
    assert isinstance(doc, Document)
    assert (problem.code, len(doc.mentions)) == ("corpus-malformed", 4)


@pytest.mark.real_data
def test_reads_real_queries(real_data: Path) -> None:
    source = Source.open(real_data / "biosyn_format" / "ncbi-disease.tar.gz")
    test = Source.of_files("test", [file for file in source.files if "processed_test/" in file.name])
    docs = list(documents_of(biosyn.read(test)))
    assert sum(len(doc.mentions) for doc in docs) == 960
    files = {file.name.rpartition("/")[2]: file for file in test.files}
    for name, data in write_to_memory(biosyn, docs).items():
        with files[name].open() as stream:
            assert data == stream.read()
