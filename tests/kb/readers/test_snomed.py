"""Tests of reading SNOMED CT in Release Format 2."""

from __future__ import annotations

import pytest

from onym.errors import InputError
from onym.kb.readers.snomed import FSN, PREFERRED, SYNONYM
from onym.types import SuccessorKind
from tests.kb.readers.conftest import facts_of, names_of, rows_of

SAME_AS, REPLACED_BY, ALTERNATIVE = "900000000000527005", "900000000000526001", "900000000000530003"
POSSIBLY, MOVED_TO = "900000000000523009", "900000000000524003"
ACCEPTABLE = "900000000000549004"
MODULE = "900000000000207008"

CONCEPT = "sct2_Concept_Snapshot_INT_20260101.txt"
DESCRIPTION = "sct2_Description_Snapshot-en_INT_20260101.txt"
DEFINITION = "sct2_TextDefinition_Snapshot-en_INT_20260101.txt"
LANGUAGE = "der2_cRefset_LanguageSnapshot-en_INT_20260101.txt"
ASSOCIATION = "der2_cRefset_AssociationSnapshot_INT_20260101.txt"


def table(*rows: str) -> str:
    return "".join(row + "\r\n" for row in rows)


def concepts(*rows: tuple[str, str]) -> str:
    header = "id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId"
    return table(header, *(f"{identifier}\t20260101\t{active}\t{MODULE}\t900000000000074008" for identifier, active in rows))


def descriptions(*rows: tuple[str, str, str, str, str]) -> str:
    header = "id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\ttypeId\tterm\tcaseSignificanceId"
    return table(
        header, *(f"{i}\t20260101\t{a}\t{MODULE}\t{c}\ten\t{t}\t{term}\t900000000000448009" for i, a, c, t, term in rows)
    )


def members(last: str, *rows: tuple[str, str, str, str]) -> str:
    header = f"id\teffectiveTime\tactive\tmoduleId\trefsetId\treferencedComponentId\t{last}"
    return table(header, *(f"uuid\t20260101\t{a}\t{MODULE}\t{refset}\t{about}\t{value}" for a, refset, about, value in rows))


def test_names_and_tags() -> None:
    files = {
        CONCEPT: concepts(("100", "1"), ("200", "0")),
        DESCRIPTION: descriptions(
            ("1", "1", "100", FSN, "Fever (finding) of mice (disorder)"),
            ("2", "1", "100", SYNONYM, "Fever"),
            ("3", "1", "100", SYNONYM, "Pyrexia (old word)"),
            ("4", "0", "100", SYNONYM, "Withdrawn"),
            ("5", "1", "200", SYNONYM, "Of an inactive concept"),
            ("6", "1", "300", SYNONYM, "Of no concept"),
            ("7", "1", "100", FSN, "Without a tag"),
        ),
        LANGUAGE: members(
            "acceptabilityId",
            ("1", "900000000000509007", "2", PREFERRED),
            ("1", "900000000000508004", "2", PREFERRED),
            ("1", "900000000000509007", "3", ACCEPTABLE),
            ("1", "900000000000509007", "1", PREFERRED),
            ("0", "900000000000508004", "3", PREFERRED),
        ),
    }
    rows = rows_of(files, "snomed")
    assert names_of(rows) == [
        ("snomedct:100", "Fever (finding) of mice", "exact"),
        ("snomedct:100", "Fever", "preferred"),
        ("snomedct:100", "Pyrexia (old word)", "exact"),
        ("snomedct:100", "Without a tag", "exact"),
    ]
    assert facts_of(rows, "semantic_types") == [("snomedct:100", ["disorder"])]
    assert {row["language"] for row in rows if "name" in row} == {"en"}
    assert [row for row in rows if row.get("kind") == "retired"] == [{"concept_id": "snomedct:200", "kind": "retired"}]


def test_quotes_are_literal_characters() -> None:
    terms = ['"Quoted" fever', 'Needle, 5" long', '"', "Crohn's", 'unbalanced "']
    rows = [(str(n), "1", "100", SYNONYM, term) for n, term in enumerate(terms)]
    files = {CONCEPT: concepts(("100", "1")), DESCRIPTION: descriptions(*rows)}
    assert [name for _, name, _ in names_of(rows_of(files, "snomed"))] == terms


def test_definitions() -> None:
    text = descriptions(("1", "1", "100", "900000000000550004", 'A "rise".'), ("2", "0", "100", "900000000000550004", "Old."))
    rows = rows_of({CONCEPT: concepts(("100", "1")), DEFINITION: text}, "snomed")
    assert rows == [{"concept_id": "snomedct:100", "definition": 'A "rise".'}]


@pytest.mark.parametrize(
    ("links", "successors"),
    [
        ([("1", SAME_AS, "200", "100")], [("100", SuccessorKind.SAME_AS)]),
        ([("1", REPLACED_BY, "200", "100")], [("100", SuccessorKind.REPLACED_BY)]),
        (
            [("1", ALTERNATIVE, "200", "100"), ("1", POSSIBLY, "200", "300"), ("1", POSSIBLY, "200", "400")],
            [
                ("100", SuccessorKind.ALTERNATIVE),
                ("300", SuccessorKind.POSSIBLY_EQUIVALENT),
                ("400", SuccessorKind.POSSIBLY_EQUIVALENT),
            ],
        ),
        ([("0", SAME_AS, "200", "100")], []),
        ([("1", MOVED_TO, "200", "370137002")], [("370137002", SuccessorKind.MOVED_TO)]),  # the target is a namespace
        ([("1", SAME_AS, "300", "100")], []),
        ([], []),
    ],
)
def test_successors(links: list[tuple[str, str, str, str]], successors: list[tuple[str, SuccessorKind]]) -> None:
    files = {CONCEPT: concepts(("100", "1"), ("200", "0")), ASSOCIATION: members("targetComponentId", *links)}
    rows = rows_of(files, "snomed")
    assert {(row["concept_id"], row["kind"]) for row in rows} == {("snomedct:200", "retired")}
    stated = [(row["successors"], row["successor_kind"], row["release"]) for row in rows if "successors" in row]
    assert stated == [([f"snomedct:{target}"], kind, "20260101") for target, kind in successors]


def test_parents() -> None:
    header = "id\teffectiveTime\tactive\tmoduleId\tsourceId\tdestinationId\trelationshipGroup\ttypeId"
    is_a, site = "116680003", "363698007"
    rows = [("1", "100", "300", is_a), ("0", "100", "400", is_a), ("1", "100", "500", site)]
    relations = table(header, *(f"1\t20260101\t{a}\t{MODULE}\t{low}\t{high}\t0\t{kind}" for a, low, high, kind in rows))
    files = {CONCEPT: concepts(("100", "1")), "sct2_Relationship_Snapshot_INT_20260101.txt": relations}
    assert facts_of(rows_of(files, "snomed"), "parents") == [("snomedct:100", ["snomedct:300"])]


def test_only_snapshots_are_read() -> None:
    files = {
        f"Snapshot/Terminology/{CONCEPT}": concepts(("100", "1")),
        f"Snapshot/Terminology/{DESCRIPTION}": descriptions(("1", "1", "100", SYNONYM, "Now")),
        "Full/Terminology/sct2_Description_Full-en_INT_20260101.txt": descriptions(("1", "1", "100", SYNONYM, "Once")),
        "Snapshot/Terminology/sct2_StatedRelationship_Snapshot_INT_20260101.txt": "not\tread\r\n",
    }
    assert [name for _, name, _ in names_of(rows_of(files, "snomed"))] == ["Now"]


def test_a_concept_in_two_modules_is_read_once() -> None:
    files = {
        CONCEPT: concepts(("100", "1")),
        CONCEPT.replace("INT", "US1000124"): concepts(("100", "1")),
        DESCRIPTION: descriptions(("1", "1", "100", SYNONYM, "Fever")),
    }
    assert len(rows_of(files, "snomed")) == 1


def test_rejects_a_file_with_missing_columns() -> None:
    with pytest.raises(InputError) as e:
        rows_of({CONCEPT: "id\teffectiveTime\r\n1\t2\r\n"}, "snomed")
    assert e.value.code == "table-columns"
