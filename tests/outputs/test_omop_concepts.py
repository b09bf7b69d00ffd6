"""Tests of reading OMOP concept ids from Athena files."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.outputs.omop import CONCEPTS, RELATIONSHIPS, OmopConcepts, StandardConcept

HEAD = "concept_id\tconcept_name\tdomain_id\tvocabulary_id\tconcept_class_id\tstandard_concept\tconcept_code\tvalid_start_date"
PAIR = "concept_id_1\tconcept_id_2\trelationship_id\tvalid_start_date\tvalid_end_date\tinvalid_reason"


def athena(
    folder: Path, concepts: list[tuple[int | str, str, str, str]], pairs: list[tuple[int, int, str, str]] | None
) -> Path:
    """Write Athena files with rows of concepts (id, vocabulary, standard, code) and of relationships."""
    rows = [
        f'{number}\ta "name\tCondition\t{vocabulary}\tDisorder\t{mark}\t{code}\t19700101'
        for number, vocabulary, mark, code in concepts
    ]
    (folder / CONCEPTS).write_text("\n".join([HEAD, *rows, ""]))
    if pairs is not None:
        lines = [f"{first}\t{second}\t{relation}\t19700101\t20991231\t{reason}" for first, second, relation, reason in pairs]
        (folder / RELATIONSHIPS).write_text("\n".join([PAIR, *lines, ""]))
    return folder


ROWS: list[tuple[int | str, str, str, str]] = [
    (437663, "SNOMED", "S", "386661006"),
    (45612560, "MeSH", "", "D005334"),
    (9, "MeSH", "", "D9"),
    (4, "Other", "S", "D005334"),
    (5, "SNOMED", "", "old"),
    (6, "SNOMED", "S", "second"),
]


def test_finds_source_and_standard_concepts(tmp_path: Path) -> None:
    pairs = [
        (45612560, 437663, "Maps to", ""),
        (45612560, 6, "Maps to", ""),
        (45612560, 6, "Maps to", ""),
        (45612560, 5, "Maps to", ""),
        (45612560, 4, "Maps to", "D"),
        (45612560, 4, "Is a", ""),
        (437663, 437663, "Maps to", ""),
        (4, 6, "Maps to", ""),
    ]
    concepts = OmopConcepts.read(athena(tmp_path, ROWS, pairs), {"MeSH", "SNOMED"})
    assert len(concepts) == 5
    fever, pyrexia = concepts.find("SNOMED", "386661006"), concepts.find("MeSH", "D005334")
    assert fever is not None
    assert pyrexia is not None
    assert fever.standard == (StandardConcept(437663, "SNOMED"),)
    assert (pyrexia.id, pyrexia.standard) == (45612560, (StandardConcept(6, "SNOMED"), StandardConcept(437663, "SNOMED")))
    unmapped = concepts.find("MeSH", "D9")
    assert unmapped is not None
    assert unmapped.standard == ()
    assert concepts.find("Other", "D005334") is None
    assert concepts.find("MeSH", "D0") is None


def test_without_relationships_only_standard_concepts_are_standard(tmp_path: Path) -> None:
    concepts = OmopConcepts.read(athena(tmp_path, ROWS, None), {"MeSH", "SNOMED"})
    found = [concepts.find("SNOMED", "386661006"), concepts.find("MeSH", "D005334")]
    assert [len(each.standard) for each in found if each] == [1, 0]


@pytest.mark.parametrize("number", ["x", "", "-1", "2147483648", "\uff11"])
def test_rejects_invalid_concept_ids(tmp_path: Path, number: str) -> None:
    athena(tmp_path, [(number, "MeSH", "S", "D1")], None)
    with pytest.raises(InputError, match="omop-vocabulary"):
        OmopConcepts.read(tmp_path, {"MeSH"})


def test_rejects_a_folder_without_concepts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="input-missing"):
        OmopConcepts.read(tmp_path, {"MeSH"})
    (tmp_path / CONCEPTS).write_text("id,name\n1,fever\n")
    with pytest.raises(InputError, match="table-columns"):
        OmopConcepts.read(tmp_path, {"MeSH"})
