"""Tests of PubTator: the variants found in real corpora, and malformed documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.corpora.base import Item, documents_of
from onym.corpora.corpus import read_corpus
from onym.corpora.formats import pubtator
from onym.errors import LimitError
from onym.store.files.source import InputFile, Source
from onym.store.limits import Limits
from onym.types import Document, Mention, Passage, Problem
from tests.support.documents import source_of, write_to_memory

CDR = """1|t|Breast and ovarian cancer.
1|a|Cisplatin\thelps \U0001f9ec cancer.
1\t0\t25\tBreast and ovarian cancer\tDisease\tD001943|D010051\tBreast cancer|ovarian cancer
1\t27\t36\tCisplatin\tChemical\tD002945
1\t45\t51\tcancer\tDisease\t-1
1\t27\t42\tCisplatin\thelps\tChemical
1\tCID\tD002945\tD001943
1\tAssociation\tD002945\t-1\tNovel

"""


def items(text: str) -> list[Item]:
    return list(pubtator.read(source_of(a__txt=text)))


def documents(text: str) -> list[Document]:
    return list(documents_of(items(text)))


def test_reads_a_document_with_all_features() -> None:
    (doc,) = documents(CDR)
    assert doc.text == "Breast and ovarian cancer. Cisplatin\thelps \U0001f9ec cancer."
    assert doc.passages == (Passage(0, 26, "title"), Passage(27, 52, "abstract"))
    composite, drug, bare, tabbed = doc.mentions
    assert composite.concept_ids == ("mesh:D001943", "mesh:D010051")
    assert composite.notes == (("parts", "Breast cancer|ovarian cancer"),)
    assert (drug.concept_ids, drug.notes) == (("mesh:D002945",), ())
    assert (bare.concept_ids, bare.notes) == ((), (("ids", "-1"),))
    assert (tabbed.surface, tabbed.type, tabbed.concept_ids) == ("Cisplatin\thelps", "Chemical", ())
    assert doc.relations[0].type == "CID"
    assert doc.relations[0].arguments == (("Arg1", "mesh:D002945"), ("Arg2", "mesh:D001943"))
    assert doc.relations[1].notes == (("columns", "Novel"),)


def test_a_document_survives_reading_and_writing_unchanged() -> None:
    assert write_to_memory(pubtator, documents(CDR))[""].decode() == CDR


@pytest.mark.parametrize("cell", ["-1", "-", "", " D001943", "D001943,D010051", "MESH:D001943", "CUI-less"])
def test_ids_are_written_as_in_the_source(cell: str) -> None:
    text = f"1|t|Cancer\n1|a|\n1\t0\t6\tCancer\tDisease\t{cell}\n\n"
    (doc,) = documents(text)
    assert "notes" in pubtator.preserved_facets(doc)
    assert write_to_memory(pubtator, [doc])[""].decode() == text


def test_id_styles() -> None:
    text = write_to_memory(pubtator, documents(CDR), "obo")[""].decode()
    assert "\tMESH:D001943|MESH:D010051\tBreast" in text
    assert "1\tCID\tMESH:D002945\tMESH:D001943\n" in text
    assert "\tmesh:D002945\n" in write_to_memory(pubtator, documents(CDR), "curie")[""].decode()


def test_new_ids_are_written_instead_of_the_old_ones() -> None:
    (doc,) = documents("1|t|Fever\n1|a|\n1\t0\t5\tFever\tDisease\tMESH:D005334\n")
    linked = Document("1", doc.text, (Mention(0, 5, "Fever", ("mesh:D000001",), "Disease", notes=doc.mentions[0].notes),))
    assert b"\tD000001\n" in write_to_memory(pubtator, [linked])[""]


@pytest.mark.parametrize(
    ("text", "expected", "passages"),
    [
        ("1|t|Fever\n1|a|\n", "Fever", (Passage(0, 5, "title"),)),
        ("1|t|Fever\n", "Fever", (Passage(0, 5, "title"),)),
        ("1|t|\n1|a|Fever\n", " Fever", (Passage(0, 0, "title"), Passage(1, 6, "abstract"))),
        ("\ufeff1|t|A|t|b\r\n1|a|c\r\n\r\n", "A|t|b c", (Passage(0, 5, "title"), Passage(6, 7, "abstract"))),
    ],
)
def test_title_and_abstract_are_passages(text: str, expected: str, passages: tuple[Passage, ...]) -> None:
    (doc,) = documents(text)
    assert (doc.text, doc.passages) == (expected, passages)


def test_empty_lines_between_documents_are_optional() -> None:
    assert [doc.id for doc in documents("1|t|a\n1|a|b\n2|t|c\n2|a|d\n\n\n3|t|e\n")] == ["1", "2", "3"]


def test_documents_with_the_same_id_keep_it() -> None:
    text = "1|t|a\n1|a|\n\n1|t|b\n1|a|\n\n2|t|c\n2|a|\n\n1|t|d\n1|a|\n\n"
    found = items(text)
    assert [doc.id for doc in documents_of(found)] == ["1", "1", "2", "1"]
    assert not [item for item in found if isinstance(item, Problem)]
    assert write_to_memory(pubtator, documents_of(found))[""].decode() == text


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("1\t0\t5\tfever\tDisease\tD1", "corpus-offsets"),
        ("1\t0\t99\tFever\tDisease\tD1", "corpus-offsets"),
        ("1\t5\t5\t\tDisease\tD1", "corpus-offsets"),
        ("1\t0", "corpus-malformed"),
        ("2\t0\t5\tFever\tDisease\tD1", "corpus-malformed"),
        ("nothing", "corpus-malformed"),
        ("2|a|other", "corpus-malformed"),
    ],
)
def test_invalid_mentions_are_reported_and_the_rest_is_read(line: str, code: str) -> None:
    found = items(f"1|t|Fever\n{line}\n\n2|t|Next\n2|a|one\n")
    assert [(item.document_id, item.code) for item in found if isinstance(item, Problem)] == [("1", code)]
    assert [doc.id for doc in documents_of(found)] == (["1", "2"] if code == "corpus-offsets" else ["2"])


def test_a_block_without_a_title_is_malformed() -> None:
    found = items("1\t0\t5\tFever\tDisease\tD1\n\n2|t|Next\n")
    assert [item.code for item in found if isinstance(item, Problem)] == ["corpus-malformed"]
    assert [doc.id for doc in documents_of(found)] == ["2"]


def test_line_breaks_become_spaces_without_moving_offsets() -> None:
    doc = Document("a|b", "One\nfe\rver", (Mention(4, 10, "fe\rver", type="a\tb"),))
    assert pubtator.preserved_facets(doc) == {"mentions", "concept ids", "composites", "relations", "notes"}
    (back,) = documents(write_to_memory(pubtator, [doc])[""].decode())
    assert back.text == "One fe ver"
    assert (back.id, back.mentions[0].surface, back.mentions[0].type) == ("a b", "fe ver", "a b")


@pytest.mark.real_data
@pytest.mark.parametrize(
    "name",
    [
        *("ncbi_disease/NCBItestset_corpus.txt", "bc5cdr/CDR_TestSet.PubTator.txt.gz", "pubtator/BioRED_Test.PubTator.gz"),
        *("pubtator/NLMgene_Test.PubTator.gz", "pubtator/tmVar3_Test.PubTator.gz", "pubtator/Linnaeus_Test.PubTator.gz"),
        "umls_like/scispacy_med_mentions.txt",
    ],
)
def test_real_corpora_survive_reading_and_writing(real_data: Path, name: str) -> None:
    from onym.corpora.formats._files import iter_lines
    from onym.store.files.source import Source

    (file,) = Source.open(real_data / name).files
    wanted = [line.text for line in iter_lines(file) if line.text.strip()]
    found = [
        line for line in write_to_memory(pubtator, documents_of(read_corpus(real_data / name)))[""].decode().split("\n") if line
    ]
    assert found == wanted


def test_rejects_a_document_with_too_many_lines() -> None:
    lines = b"1|t|high fever\n1|a|\n" + b"1\t5\t10\tfever\tDisease\tD005334\n" * 10
    file = InputFile.from_bytes("a.txt", lines, Limits(document_lines=11))
    with pytest.raises(LimitError) as caught:
        list(pubtator.read(Source.of_files("a", [file])))
    assert (caught.value.code, caught.value.where) == ("limit-record", "a.txt:12")


def test_ids_in_relations_are_resolved_as_in_mentions() -> None:
    line = "1\t5\t10\tfever\tDisease\tD{0}\n1\tCID\tD{0}\tD{0}\n"
    text = "1|t|high fever\n1|a|\n" + "".join(line.format(number) for number in range(3_000))
    [doc] = pubtator.read(Source.of_files("a", [InputFile.from_bytes("a.txt", text.encode())]))
    assert isinstance(doc, Document)
    assert [relation.arguments[0][1] for relation in doc.relations[:2]] == ["mesh:D0", "mesh:D1"]
    assert len(doc.relations) == 3_000
