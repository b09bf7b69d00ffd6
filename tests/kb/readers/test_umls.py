"""Tests of reading UMLS in Rich Release Format."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.kb import readers
from onym.kb.readers._shared import LANGUAGES
from onym.kb.readers.umls import MRCONSO, MRCUI, MRDEF, MRREL, MRSTY
from onym.store.files.source import Source
from onym.types import ParentKind, SuccessorKind
from tests.kb.readers.conftest import facts_of, names_of, rows_of


def row(fields: list[str], **values: str) -> str:
    return "|".join(values.get(field, "") for field in fields) + "|\n"


def atom(cui: str, text: str, **values: str) -> str:
    plain = {"LAT": "ENG", "TS": "S", "STT": "VO", "ISPREF": "N", "SAB": "MSH", "TTY": "ET", "SUPPRESS": "N"}
    return row(MRCONSO, **{**plain, "CUI": cui, "STR": text, **values})


def relation(first: str, rela: str, second: str, suppress: str = "N") -> str:
    return row(MRREL, CUI1=first, RELA=rela, CUI2=second, SUPPRESS=suppress)


def test_columns_match_the_umls_documentation() -> None:
    """MRFILES, a file of every release, lists these numbers of columns."""
    assert [len(columns) for columns in (MRCONSO, MRSTY, MRDEF, MRREL, MRCUI)] == [18, 6, 8, 16, 7]


def test_kinds_of_names() -> None:
    text = (
        atom("C0000001", "Preferred", TS="P", STT="PF", ISPREF="Y")
        + atom("C0000001", "Of a preferred form, not the preferred atom", TS="P", STT="PF", ISPREF="N")
        + atom("C0000001", "Synonym")
        + atom("C0000001", "SYN", TTY="ACR")
        + atom("C0000001", "Obsolete", SUPPRESS="O", TS="P", STT="PF", ISPREF="Y")
        + atom("C0000001", "Of a suppressed type", SUPPRESS="Y")
        + atom("C0000001", "By an editor", SUPPRESS="E", TTY="AB")
    )
    assert [(name, kind) for _, name, kind in names_of(rows_of({"MRCONSO.RRF": text}, "umls"))] == [
        ("Preferred", "preferred"),
        ("Of a preferred form, not the preferred atom", "exact"),
        ("Synonym", "exact"),
        ("SYN", "abbreviation"),
        ("Obsolete", "suppressed"),
        ("Of a suppressed type", "suppressed"),
        ("By an editor", "suppressed"),
    ]


def test_quotes_are_literal_characters() -> None:
    names = ['"Unbalanced', 'in the "middle', '""', "Down's", '"both"', "back\\slash", "tab\there", "comma, semi; colon:"]
    text = "".join(atom("C0000001", name) for name in names)
    assert [name for _, name, _ in names_of(rows_of({"MRCONSO.RRF": text}, "umls"))] == names


def test_languages_are_iso_639_1() -> None:
    text = "".join(atom("C0000001", lat, LAT=lat) for lat in (*LANGUAGES, "XXX"))
    found = {r["name"]: r["language"] for r in rows_of({"MRCONSO.RRF": text}, "umls")}
    assert found == {**LANGUAGES, "XXX": "xxx"}
    assert found["ENG"] == "en"
    assert found["GER"] == "de"


def test_the_source_is_the_vocabulary() -> None:
    (found,) = rows_of({"MRCONSO.RRF": atom("C0000001", "a", SAB="SNOMEDCT_US")}, "umls")
    assert found == {"concept_id": "umls:C0000001", "name": "a", "kind": "exact", "language": "en", "source": "SNOMEDCT_US"}


def test_types_and_definitions() -> None:
    files = {
        "MRSTY.RRF": row(MRSTY, CUI="C0000001", TUI="T047") + row(MRSTY, CUI="C0000001", TUI="T191"),
        "MRDEF.RRF": row(MRDEF, CUI="C0000001", SAB="NCI", DEF='A "text.', SUPPRESS="N")
        + row(MRDEF, CUI="C0000001", SAB="NCI", DEF="An old one.", SUPPRESS="O"),
    }
    rows = rows_of(files, "umls")
    assert facts_of(rows, "semantic_types") == [("umls:C0000001", ["T047"]), ("umls:C0000001", ["T191"])]
    assert facts_of(rows, "definition") == [("umls:C0000001", 'A "text.')]
    assert facts_of(rows, "source") == [("umls:C0000001", "NCI")]


def test_a_generic_gets_all_names_of_its_brands() -> None:
    """In MRREL, the relation goes from the second concept to the first: CUI2 has_tradename CUI1."""
    names = atom("C0000001", "generic") + atom("C0000002", "Brand") + atom("C0000002", "Brand, old", SUPPRESS="O")
    names += atom("C0000002", "Brand again") + atom("C0000003", "Other brand")
    relations = relation("C0000002", "has_tradename", "C0000001") + relation("C0000001", "tradename_of", "C0000002")
    relations += relation("C0000003", "has_tradename", "C0000001") * 2
    relations += relation("C0000003", "has_tradename", "C0000003") + relation("C0000001", "has_tradename", "C0000003", "O")
    rows = rows_of({"MRCONSO.RRF": names, "MRREL.RRF": relations}, "umls")
    assert [found for found in names_of(rows) if found[2] == "tradename"] == [
        ("umls:C0000001", "Brand", "tradename"),
        ("umls:C0000001", "Brand again", "tradename"),
        ("umls:C0000001", "Other brand", "tradename"),
    ]


def test_retired_cuis_have_their_successor() -> None:
    text = (
        row(MRCUI, CUI1="C0000008", VER="1993AA", REL="SY", CUI2="C0000001", MAPIN="Y")
        + row(MRCUI, CUI1="C0000009", VER="1993AA", REL="DEL", MAPIN="N")
        + row(MRCUI, CUI1="C0000007", VER="2000AC", REL="RB", CUI2="C0000001", MAPIN="Y")
        + row(MRCUI, CUI1="C0000006", VER="2000AC", REL="SY", MAPIN="N")
    )
    rows = rows_of({"MRCUI.RRF": text}, "umls")
    assert [(r["concept_id"], r["kind"], r.get("successors"), r.get("successor_kind"), r["release"]) for r in rows] == [
        ("umls:C0000008", "retired", ["umls:C0000001"], SuccessorKind.MERGED, "1993AA"),
        ("umls:C0000009", "retired", None, None, "1993AA"),
        ("umls:C0000007", "retired", ["umls:C0000001"], SuccessorKind.BROADER, "2000AC"),
        ("umls:C0000006", "retired", None, SuccessorKind.MERGED, "2000AC"),
    ]


def test_parents_are_read_in_both_directions() -> None:
    """CUI1 has the parent CUI2 (PAR), or the child CUI2 (CHD)."""

    def relate(one: str, kind: str, other: str, suppress: str = "N") -> str:
        return row(MRREL, CUI1=one, REL=kind, CUI2=other, SAB="MSH", SUPPRESS=suppress)

    relations = relate("C0000002", "PAR", "C0000001") + relate("C0000001", "CHD", "C0000002")
    relations += relate("C0000001", "CHD", "C0000003") + relate("C0000003", "PAR", "C0000003")
    relations += relate("C0000003", "PAR", "C0000002", "O") + relate("C0000003", "RO", "C0000002")
    rows = rows_of({"MRCONSO.RRF": atom("C0000001", "a"), "MRREL.RRF": relations}, "umls")
    assert [(r["concept_id"], r["parents"], r["source"], r["parent_kind"]) for r in rows if "parents" in r] == [
        ("umls:C0000002", ["umls:C0000001"], "MSH", ParentKind.BROADER),
        ("umls:C0000003", ["umls:C0000001"], "MSH", ParentKind.BROADER),
    ]


def test_files_may_have_a_common_prefix() -> None:
    rows = rows_of(
        {"scispacy_MRCONSO.RRF": atom("C0000001", "a"), "scispacy_MRSTY.RRF": row(MRSTY, CUI="C0000001", TUI="T1")}, "umls"
    )
    assert len(rows) == 2


@pytest.mark.parametrize(
    "change", [lambda line: line[:-2] + "\n", lambda line: "|" + line, lambda line: line.replace("|", "", 1)]
)
def test_rejects_a_row_with_the_wrong_number_of_fields(change: object) -> None:
    text = atom("C0000001", "a") + change(atom("C0000002", "b"))  # type: ignore[operator]
    with pytest.raises(InputError) as e:
        rows_of({"MRCONSO.RRF": text}, "umls")
    assert e.value.code == "table-fields"


@pytest.mark.real_data
def test_reads_real_rows(real_data: Path) -> None:
    source = Source.open(real_data / "umls_like")
    assert readers.detect(source) == "umls"
    rows = [row for batch in readers.read(source, "umls") for row in batch.to_pylist()]
    assert [(r["concept_id"], r["name"]) for r in rows if r["name"]] == [
        ("umls:C0000005", "(131)I-Macroaggregated Albumin"),
        ("umls:C0000005", "(131)I-MAA"),
        ("umls:C0000039", "1,2-Dipalmitoylphosphatidylcholine"),
    ]
    assert [r["semantic_types"] for r in rows if r["semantic_types"]] == [["T116"], ["T109"], ["T121"]]
    assert sum(r["definition"] is not None for r in rows) == 1
