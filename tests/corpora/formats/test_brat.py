"""Tests of BRAT: every kind of line, fragments, and malformed lines."""

from __future__ import annotations

import pytest

from onym.corpora.formats import brat, detect
from onym.types import Document, Mention, Problem, Relation
from tests.support.documents import source_of, write_to_memory

TEXT = "Breast and\novarian cancer, \U0001f9ec HIV.\r\n"
ANN = """T1\tDisease 0 6;19 25\tBreast cancer
T2\tDisease 7 25\tand ovarian cancer
T3\tVirus 29 32\tHIV
N1\tReference T1 MESH:D001943\tBreast Neoplasms
N2\tReference T1 UMLS:C0006142\tBreast cancer
R1\tCauses Arg1:T3 Arg2:T1
E1\tHas:T2 Theme:T1
A1\tNegation T1
M1\tSpeculation E1
*\tEquiv T1 T2
#1\tAnnotatorNotes T1\tsee page 3
"""


def read(ann: str, text: str = TEXT) -> list[object]:
    return list(brat.read(source_of(a__txt=text, a__ann=ann)))


def test_reads_a_document_with_all_features() -> None:
    (doc,) = read(ANN)
    assert isinstance(doc, Document)
    assert (doc.id, doc.text) == ("a", TEXT)
    split, over_lines, virus = doc.mentions
    assert (split.parts, split.start, split.end) == (((0, 6), (19, 25)), 0, 25)
    assert split.concept_ids == ("mesh:D001943", "umls:C0006142")
    assert split.notes == (("name mesh:D001943", "Breast Neoplasms"),)
    assert over_lines.surface == "and\novarian cancer"
    assert (virus.surface, virus.type, virus.id) == ("HIV", "Virus", "T3")
    assert doc.relations == (Relation("Causes", (("Arg1", "T3"), ("Arg2", "T1")), "R1"),)
    assert [key for key, _ in doc.notes] == ["E1", "A1", "M1", "*", "#1"]
    assert brat.preserved_facets(doc) == brat.HOLDS


def test_a_document_survives_writing() -> None:
    (doc,) = read(ANN)
    assert isinstance(doc, Document)
    files = write_to_memory(brat, [doc])
    assert files["a.txt"].decode() == TEXT
    assert sorted(files["a.ann"].decode().splitlines()) == sorted(ANN.splitlines())


@pytest.mark.parametrize(
    "line",
    [
        *("T1 Disease 0 6 Breast", "T1\tDisease 0\tBreast", "T1\tDisease a b\tBreast", "T1\t0 6\tBreast", "X1\tx"),
        *("R1\tCauses T1", "N1\tReference T1", "R1\tCauses"),
    ],
)
def test_malformed_annotations_become_problems(line: str) -> None:
    (problem,) = read(f"{line}\n")
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("a", "corpus-malformed")


@pytest.mark.parametrize("line", ["T1\tDisease 0 6\tbreast", "T1\tDisease 0 600\tBreast", "T1\tDisease 0 6;19 25\tBreast HIV"])
def test_wrong_offsets_become_problems(line: str) -> None:
    problem, doc = read(f"{line}\n")
    assert isinstance(problem, Problem)
    assert isinstance(doc, Document)
    assert (problem.code, doc.mentions) == ("corpus-offsets", ())


def test_a_text_without_annotations_keeps_its_line_ends() -> None:
    source = source_of(a__txt="x\r\n", b__txt="y", b__ann="")
    assert detect(source) == "brat"
    assert list(brat.read(source)) == [Document("a", "x\r\n"), Document("b", "y")]


def test_mentions_without_ids_are_numbered_and_relations_updated() -> None:
    doc = Document(
        "1", "ab", (Mention(0, 1, "a", type="x y", id="m1"), Mention(1, 2, "b", id="m2")),
        relations=(Relation("r", (("s", "m2"), ("t", "m1"))), Relation("r", (("s", "mesh:D1"),))),
    )  # fmt: skip
    lines = write_to_memory(brat, [doc])["1.ann"].decode().splitlines()
    assert lines == ["T1\tx_y 0 1\ta", "T2\tEntity 1 2\tb", "R1\tr s:T2 t:T1"]
    assert not brat.preserved_facets(doc) & {"types", "mention ids", "relations"}


def test_ids_with_path_separators_stay_in_the_folder() -> None:
    docs = [Document(name, "x") for name in ("../../etc/passwd", "a/b", ".hidden", "", "n" * 300, "\u03b1\x00")]
    names = write_to_memory(brat, docs)
    assert all("/" not in name and "\x00" not in name and not name.startswith(".") and len(name) < 250 for name in names)
    assert len(names) == 12
