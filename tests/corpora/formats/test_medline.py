"""Tests of reading citations in PubMed's own format."""

from __future__ import annotations

from onym.corpora.corpus import read_sources
from onym.corpora.formats import detect, medline
from onym.store.files.source import InputFile, Source
from onym.store.limits import Limits
from onym.types import Document, Passage, Problem
from tests.support.documents import source_of

FIRST = (
    "PMID- 31234567\nOWN - NLM\nIS  - 1474-547X (Electronic)\nTI  - Metformin in patients with type 2 diabetes\n"
    "      mellitus.\nAB  - BACKGROUND: Fever. METHODS: We treated\n      120 patients.\nAD  - AD Hospital, London.\n"
    "OT  - asthma\n"
)
SECOND = "PMID- 7\nTI  - [Asthma].\nTT  - Asthma bei Kindern.\nOAB - Publisher: Wheezing.\n"
THIRD = "PMID- 8\nBTI - A book on fever\n"
TEXT = "Metformin in patients with type 2 diabetes mellitus. BACKGROUND: Fever. METHODS: We treated 120 patients."
DOCUMENTS = [
    Document("31234567", TEXT, passages=(Passage(0, 52, "title"), Passage(53, len(TEXT), "abstract"))),
    Document("7", "[Asthma]. Publisher: Wheezing.", passages=(Passage(0, 9, "title"), Passage(10, 30, "abstract"))),
    Document("8", "A book on fever", passages=(Passage(0, 15, "title"),)),
]


def test_reads_title_and_abstract_of_each_citation() -> None:
    source = source_of(pubmed__txt=f"\n{FIRST}\n\n{SECOND}\n\n{THIRD}")
    assert detect(source) == "medline"
    assert list(medline.read(source)) == DOCUMENTS


def test_reads_windows_line_ends_a_byte_order_mark_and_citations_without_blank_lines() -> None:
    data = b"\xef\xbb\xbf" + (FIRST + SECOND + THIRD).replace("\n", "\r\n").encode()
    source = Source.of_files("a", [InputFile.from_bytes("a.txt", data)])
    assert detect(source) == "medline"
    assert list(medline.read(source)) == DOCUMENTS


def test_a_citation_without_a_pmid_or_with_a_loose_line_is_a_problem() -> None:
    source = source_of(a__nbib=f"{SECOND}\nTI  - No number\n\nPMID- 9\nTI  - Fever\nloose\n\nPMID- x\n\n{THIRD}")
    before, no_pmid, loose, no_number, after = read_sources([source])
    assert (before.id, after.id) == ("7", "8")  # type: ignore[union-attr]
    problems = [item for item in (no_pmid, loose, no_number) if isinstance(item, Problem)]
    assert [(item.document_id, item.code, item.where) for item in problems] == [
        ("", "corpus-malformed", "a.nbib:6"), ("9", "corpus-malformed", "a.nbib:10"), ("", "corpus-malformed", "a.nbib:12"),
    ]  # fmt: skip


def test_a_citation_of_too_many_bytes_is_refused() -> None:
    file = InputFile.from_bytes("a.nbib", ("PMID- 1\n" + "AB  - fever\n" * 100).encode(), Limits(document_bytes=500))
    (problem,) = read_sources([Source.of_files("a", [file])])
    assert isinstance(problem, Problem)
    assert problem.code == "limit-record"


def test_prose_that_mentions_a_pmid_is_plain_text() -> None:
    assert detect(source_of(a__txt="PMID- 12 was about fever.\nIt is old.")) == "text"
