"""Tests of reading and writing GenBioEL's training files."""

from __future__ import annotations

import pytest

from onym.corpora.formats import detect, genbioel
from onym.types import Document, Mention, Problem
from tests.support.documents import source_of, write_to_memory

SOURCE = '["a high START fever END , which rose"]\n["START mi END"]\n'
TARGET = '["fever is", "pyrexia"]\n["mi is", "mi"]\n'
LABEL = "D005334\nD009203|C0027051\n"


def test_lines_survive_reading_and_writing() -> None:
    source = source_of(train__source=SOURCE, train__target=TARGET, trainlabel__txt=LABEL)
    assert detect(source) == "genbioel"
    first, second = genbioel.read(source)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.id, first.text, first.notes) == ("train.1", "a high fever , which rose", (("split", "train"),))
    assert first.mentions == (Mention(7, 12, "fever", ("mesh:D005334",), notes=(("target", "pyrexia"),)),)
    assert second.mentions[0].concept_ids == ("mesh:D009203", "umls:C0027051")
    assert genbioel.preserved_facets(first) == genbioel.HOLDS
    assert write_to_memory(genbioel, [first, second]) == {
        "train.source": SOURCE.encode(), "train.target": TARGET.encode(), "trainlabel.txt": LABEL.encode(),
    }  # fmt: skip


def test_labels_of_angel_are_lists() -> None:
    (doc,) = genbioel.read(source_of(a__source='["START x END"]\n', a__target='["x is","y"]\n', alabel__txt='["D000001"]\n'))
    assert isinstance(doc, Document)
    assert doc.mentions[0].concept_ids == ("mesh:D000001",)


def test_writes_one_line_per_mention() -> None:
    doc = Document("1", "MI and Fever.", (Mention(0, 2, "MI", ("mesh:D009203",)), Mention(7, 12, "Fever")))
    files = write_to_memory(genbioel, [doc])
    assert files["test.source"] == b'["START mi END and fever."]\n["mi and START fever END ."]\n'
    assert files["testlabel.txt"] == b"D009203\n-1\n"
    assert genbioel.preserved_facets(doc) == frozenset()


def test_long_contexts_are_truncated_as_in_genbioel() -> None:
    text = " ".join(["w"] * 1000) + " fever " + " ".join(["v"] * 1000)
    doc = Document("1", text, (Mention(2000, 2005, "fever"),))
    words = write_to_memory(genbioel, [doc])["test.source"].decode().split()
    assert len(words) == 384 + 3


@pytest.mark.parametrize(
    ("context", "target", "label"),
    [
        ('["no marks"]', '["x is","y"]', "D1"),
        ('"x"', '["x is","y"]', "D1"),
        ("nonsense", '["x is","y"]', "D1"),
        ('["START x END"]', '["x is"]', "D1"),
        ('["START x END"]', '["x is", 1]', "D1"),
        ('["START x END"]', "", "D1"),
    ],
)
def test_malformed_lines_become_problems(context: str, target: str, label: str) -> None:
    good = ('["START x END"]', '["x is","y"]', "D000001")
    files = ["\n".join(pair) + "\n" for pair in zip((context, target, label), good, strict=True)]
    problem, doc = genbioel.read(source_of(a__source=files[0], a__target=files[1], alabel__txt=files[2]))
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("a.1", "corpus-malformed")
    assert isinstance(doc, Document)


def test_files_of_different_lengths_give_problems() -> None:
    items = list(genbioel.read(source_of(a__source='["START x END"]\n' * 2, a__target='["x is","y"]\n', alabel__txt="D1\n")))
    assert [type(item) for item in items] == [Document, Problem]
