"""Tests of reading RxNorm in Rich Release Format."""

from __future__ import annotations

from onym.kb import readers
from onym.kb.readers.rxnorm import RXNCONSO, RXNREL, RXNSTY
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

(RELEASE,) = SAMPLES["rxnorm"]


def test_is_recognised() -> None:
    assert readers.detect(source_of(RELEASE)) == "rxnorm"


def test_columns_match_the_documentation() -> None:
    assert [len(columns) for columns in (RXNCONSO, RXNSTY, RXNREL)] == [18, 6, 16]


def test_reads_names() -> None:
    assert names_of(rows_of(RELEASE, "rxnorm")) == [
        ("rxnorm:900001", "glucoquine", "preferred"),
        ("rxnorm:900002", "Brandoquin", "preferred"),
        ("rxnorm:900003", "glucoquine 5 MG Oral Tablet", "preferred"),
        ("rxnorm:900003", "glucoquine 5 mg tablet", "exact"),
        ("rxnorm:900003", 'GLUCOQUINE "5"', "exact"),
        ("rxnorm:900003", "GQ 5MG TAB", "suppressed"),
        ("rxnorm:900004", "glucoquine Oral Tablet", "preferred"),
        ("rxnorm:900001", "Brandoquin", "tradename"),
    ]


def test_reads_types_and_parents() -> None:
    rows = rows_of(RELEASE, "rxnorm")
    types = facts_of(rows, "semantic_types")
    assert types == [
        ("rxnorm:900001", ["IN"]),
        ("rxnorm:900002", ["BN"]),
        ("rxnorm:900003", ["SCD"]),
        ("rxnorm:900004", ["SCDF"]),
        ("rxnorm:900001", ["T121"]),
    ]
    assert facts_of(rows, "parents") == [("rxnorm:900003", ["rxnorm:900004"])]


def test_names_without_the_other_files() -> None:
    alone = {name: data for name, data in RELEASE.items() if "CONSO" in name}
    rows = rows_of(alone, "rxnorm")
    assert "tradename" not in {kind for _, _, kind in names_of(rows)}
    assert facts_of(rows, "parents") == []
