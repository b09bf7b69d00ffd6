"""Tests of reading references in RIS."""

from __future__ import annotations

from onym.corpora.corpus import read_sources
from onym.corpora.formats import detect, ris
from onym.types import Document, Passage, Problem
from tests.support.documents import source_of

DATA = (
    "TY  - JOUR\nAN  - 99\nID  - other\nT1  - Asthma in children\nN2  - Fever was\n\nseen.\nER  - \n\n"
    "TY  - BOOK\nTI  - Fever\nER  - \n"
)


def test_reads_title_abstract_and_id() -> None:
    for name in ("refs__ris", "refs__txt"):
        source = source_of(**{name: DATA})
        assert detect(source) == "ris"
        passages = (Passage(0, 18, "title"), Passage(19, 34, "abstract"))
        assert list(ris.read(source)) == [
            Document("99", "Asthma in children Fever was seen.", passages=passages),
            Document("refs.2", "Fever", passages=(Passage(0, 5, "title"),)),
        ]


def test_a_reference_without_a_type_is_a_problem() -> None:
    first, problem, last = read_sources([source_of(a__ris=DATA.replace("\nTY  - BOOK", "\nTI  - Lost\nER  - \nTY  - BOOK"))])
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("a.2", "corpus-malformed")
    assert [item.id for item in (first, last) if isinstance(item, Document)] == ["99", "a.3"]
