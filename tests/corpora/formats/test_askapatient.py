"""Tests of reading and writing the folds of AskAPatient."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.corpora.formats import askapatient, detect
from onym.types import Document, Problem
from tests.support.documents import source_of, write_to_memory

LINE = "108367008\tDislocation of joint\tdislocating\n"
DATA = LINE + "3384011000036100\tArthrotec\tArthrotec\n271681002\tStomach ache\tcaf\xe9 ache\n"


def test_lines_survive_reading_and_writing() -> None:
    source = source_of(**{"AskAPatient__fold-0__test__txt": DATA.encode("latin-1")})
    assert detect(source) == "askapatient"
    docs = list(documents_of(askapatient.read(source)))
    assert [doc.id for doc in docs] == ["fold-0.test.1", "fold-0.test.2", "fold-0.test.3"]
    assert docs[0].mentions[0].concept_ids == ("snomedct:108367008",)
    assert dict(docs[0].mentions[0].notes) == {"name": "Dislocation of joint"}
    assert docs[2].text == "caf\xe9 ache"
    assert write_to_memory(askapatient, docs)[""] == DATA.encode("latin-1")


@pytest.mark.parametrize("line", ["1\ta", "1\ta\tb\tc", "1\ta\t", ""])
def test_malformed_lines_become_problems(line: str) -> None:
    items = list(askapatient.read(source_of(a__txt=f"{LINE}{line}\n{LINE}")))
    assert [type(item) for item in items] == [Document, Problem, Document]


@pytest.mark.real_data
def test_reads_a_real_fold(real_data: Path) -> None:
    path = real_data / "askapatient" / "AskAPatient.fold-5.test.txt"
    docs = list(documents_of(read_corpus(path)))
    assert len(docs) in (866, 867)
    assert write_to_memory(askapatient, docs)[""].splitlines() == path.read_bytes().splitlines()
