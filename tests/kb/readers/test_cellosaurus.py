"""Tests of reading Cellosaurus, as text and as OBO."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onym.errors import InputError, LimitError
from onym.kb import readers
from onym.store.limits import DEFAULT_LIMITS
from onym.types import ParentKind, SuccessorKind
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

(RELEASE,) = SAMPLES["cellosaurus"]
LINE = "cellosaurus:CVCL_9001"
SPECIES = ["ncbitaxon:9606", "ncbitaxon:10090"]


def test_reads_names() -> None:
    rows = [row for row in rows_of(RELEASE, "cellosaurus") if row.get("kind") != "retired"]
    assert names_of(rows) == [
        (LINE, "MadeUp-9", "preferred"),
        (LINE, "MADEUP9", "exact"),
        (LINE, "Made Up 9", "exact"),
        ("cellosaurus:CVCL_9002", "MadeUp", "preferred"),
    ]


def test_reads_species_categories_and_cross_references() -> None:
    rows = rows_of(RELEASE, "cellosaurus")
    assert facts_of(rows, "semantic_types") == [
        (LINE, [*SPECIES, "Hybrid cell line"]),
        ("cellosaurus:CVCL_9002", ["ncbitaxon:9606", "Cancer cell line"]),
    ]
    assert facts_of(rows, "xrefs") == [(LINE, ["bto:0009001", "clo:0009001", "atcc:MUL-9"])]


def test_the_cell_line_of_origin_is_a_parent() -> None:
    rows = rows_of(RELEASE, "cellosaurus")
    assert facts_of(rows, "parents") == [(LINE, ["cellosaurus:CVCL_9002"])]
    assert facts_of(rows, "parent_kind") == [(LINE, ParentKind.BROADER)]


def test_secondary_and_deleted_accessions_are_retired() -> None:
    rows = [row for row in rows_of(RELEASE, "cellosaurus") if row.get("kind") == "retired"]
    merged = {"kind": "retired", "successors": [LINE], "successor_kind": SuccessorKind.MERGED}
    assert rows == [
        {"concept_id": "cellosaurus:CVCL_9008", **merged},
        {"concept_id": "cellosaurus:CVCL_9009", **merged},
        {"concept_id": "cellosaurus:CVCL_9006", "kind": "retired"},
        {"concept_id": "cellosaurus:CVCL_9007", "kind": "retired", "release": "20"},
    ]


def test_the_obo_file_gives_species_and_origin_too() -> None:
    rows = rows_of(SAMPLES["obo"][1], "obo")
    assert facts_of(rows, "semantic_types") == [(LINE, ["ncbitaxon:9606"])]
    assert facts_of(rows, "parents") == [(LINE, ["cellosaurus:CVCL_9002"])]
    assert facts_of(rows, "xrefs") == [(LINE, ["atcc:MUL-9"])]


def test_other_files_of_the_release_have_no_entries() -> None:
    refs = {"cellosaurus_refs.txt": b"RX   CLPUB00001;\nRA   Doubt M.;\n//\n", **RELEASE}
    assert rows_of(refs, "cellosaurus") == rows_of(RELEASE, "cellosaurus")
    assert readers.detect(source_of({"my_cellosaurus_part.txt": b"ID   MadeUp\nAC   CVCL_9002\n//\n"})) == "cellosaurus"


@pytest.mark.parametrize("accession", [b"", b"AC   9001\n"])
def test_an_entry_without_an_accession_is_rejected(accession: bytes) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"cellosaurus.txt": b"heading\nID   MadeUp\n" + accession + b"//\n"}, "cellosaurus")
    assert (e.value.code, e.value.where) == ("cellosaurus-malformed", "cellosaurus.txt:2")


def test_a_file_that_ends_inside_an_entry_is_rejected() -> None:
    with pytest.raises(InputError, match="truncated"):
        rows_of({"cellosaurus.txt": b"heading\nID   MadeUp\nAC   CVCL_9002\n"}, "cellosaurus")


def test_an_endless_entry_is_rejected() -> None:
    limits = replace(DEFAULT_LIMITS, block_bytes=1000)
    with pytest.raises(LimitError) as e:
        rows_of({"cellosaurus.txt": b"ID   MadeUp\n" + b"SY   Made Up\n" * 1000}, "cellosaurus", limits)
    assert e.value.code == "limit-record"
