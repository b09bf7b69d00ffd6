"""Tests of writing links as rows of note_nlp; the rows are validated against pyomop's table."""

from __future__ import annotations

import csv
import datetime
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from onym.outputs.omop import NOTE_NLP_COLUMNS as COLUMNS
from onym.outputs.omop import (
    OMITTED,
    NoteIds,
    NoteNlp,
    OmopConcept,
    OmopConcepts,
    StandardConcept,
    note_nlp_rows,
    write_note_nlp,
)
from onym.types import AssertionMark, Candidate, Document, Link, LinkedDocument, Mention, Problem
from tests.outputs.test_fhir import TEXT
from tests.robustness.outputs.rules import OmopDatabase

DAY = datetime.date(2026, 1, 31)
FEVER = Candidate("mesh:D005334", "fever", 0.9, "Fever")


def make_linked(text: str, start: int = 0, end: int | None = None, **more: Any) -> LinkedDocument:
    end = len(text) if end is None else end
    mention = Mention(start, end, text[start:end])
    return LinkedDocument(Document("7", text, (mention,)), (Link(mention, (FEVER,), **more),))


def row_of(doc: LinkedDocument, table: NoteNlp | None = None) -> dict[str, Any]:
    (row,) = note_nlp_rows([doc], table or NoteNlp(DAY), NoteIds())
    return dict(zip(COLUMNS, row, strict=True))


def test_the_columns_are_those_of_the_table() -> None:
    assert list(COLUMNS) == list(OmopDatabase().tables["note_nlp"].columns.keys())


def test_code_is_a_modifier_without_omop_ids() -> None:
    row = row_of(make_linked("High fever", 5, confidence=0.25))
    assert (row["note_id"], row["offset"], row["lexical_variant"], row["snippet"]) == (7, "5", "fever", "High fever")
    assert (row["note_nlp_concept_id"], row["note_nlp_source_concept_id"]) == (0, 0)
    assert row["term_modifiers"] == "code=MESH:D005334;end=10;confidence=0.25;score=0.9"
    assert (row["term_exists"], row["term_temporal"], row["nlp_datetime"]) == (None, None, None)
    assert (row["nlp_date"], row["nlp_system"]) == ("2026-01-31", "onym")


@pytest.mark.parametrize(
    ("marks", "exists", "temporal", "modifiers"),
    [
        ((), "Y", "present", ""),
        (("negated",), "N", "present", ";negation=true"),
        (("possible",), "Y", "present", ";uncertainty=true"),
        (("historical",), "Y", "past", ";history=true"),
        (("hypothetical",), "N", "present", ";conditional=true"),
        (("negated", "historical", "other-experiencer"), "N", "past", ";negation=true;history=true;subject=other"),
    ],
)
def test_assertion_marks(marks: tuple[AssertionMark, ...], exists: str, temporal: str, modifiers: str) -> None:
    row = row_of(make_linked("fever", assertion=marks))
    assert (row["term_exists"], row["term_temporal"]) == (exists, temporal)
    assert row["term_modifiers"] == f"code=MESH:D005334;end=5;score=0.9{modifiers}"


def test_ids_of_the_source_and_of_each_standard_concept() -> None:
    standard = (StandardConcept(1, "SNOMED"), StandardConcept(2, "SNOMED"))
    found = []
    for concept in (OmopConcept(9, standard), OmopConcept(9)):
        table = NoteNlp(DAY, concepts=OmopConcepts({("MeSH", "D005334"): concept}))
        rows = list(note_nlp_rows([make_linked("fever")], table, NoteIds()))
        found.append([(row[0], row[7], row[6]) for row in rows])
    assert found == [[(1, 9, 1), (2, 9, 2)], [(1, 9, 0)]]


def test_an_unlinked_mention_has_a_row_and_a_failed_document_none() -> None:
    mention = Mention(0, 3, "zzz")
    unlinked = LinkedDocument(Document("1", "zzz", (mention,)), (Link(mention),))
    failed = LinkedDocument(Document("not a note", "x"), problems=(Problem("2", "limit-record", "too long"),))
    rows = list(note_nlp_rows([failed, unlinked], NoteNlp(DAY), NoteIds()))
    assert [(row[1], row[6], row[-1]) for row in rows] == [(1, 0, "end=3;nil=no-candidate")]


@pytest.mark.parametrize(
    ("length", "start", "end"), [(10, 0, 4), (1000, 500, 520), (1000, 0, 400), (1000, 980, 1000), (240, 100, 110)]
)
def test_long_texts_are_cut_around_the_mention(length: int, start: int, end: int) -> None:
    text = "".join("\n" if number % 27 == 26 else chr(ord("a") + number % 27) for number in range(length))
    row = row_of(make_linked(text, start, end))
    assert row["lexical_variant"] == text[start:end][:250]
    assert row["lexical_variant"].replace("\n", " ") in row["snippet"]
    assert len(row["snippet"]) <= 250
    assert row["snippet"] in text.replace("\n", " ")


def test_without_text_neither_mention_nor_snippet_is_written() -> None:
    file = io.BytesIO()
    write_note_nlp([make_linked("SECRET")], NoteNlp(DAY, text=False), file)
    assert b"SECRET" not in file.getvalue()
    (row,) = csv.DictReader(io.StringIO(file.getvalue().decode()))
    assert (row["snippet"], row["lexical_variant"]) == ("", OMITTED)


@given(TEXT)
def test_any_text_is_stored_unchanged(text: str) -> None:
    row = row_of(make_linked(text, assertion=("negated",)))
    assert row["lexical_variant"] == text.replace("\x00", "\ufffd")


def test_table_can_be_loaded_into_a_database(tmp_path: Path) -> None:
    path = tmp_path / "note_nlp.csv"
    texts = ("=1+1", 'a "b", c', "a\r\nb", "\x00\x01", "x" * 400, " ", "NULL", "\\N")
    docs = [make_linked(text) for text in texts]
    numbered = [LinkedDocument(Document(str(number), each.document.text), each.links) for number, each in enumerate(docs)]
    with path.open("wb") as file:
        write_note_nlp(numbered, NoteNlp(DAY), file)
    database = OmopDatabase()
    assert database.invalid_rows(path, "note_nlp") == len(texts), "there is no concept 0 yet"
    (tmp_path / "CONCEPT.csv").write_text(
        "concept_id\tconcept_name\tdomain_id\tvocabulary_id\tconcept_class_id\tstandard_concept\tconcept_code\tvalid_start_date\t"
        "valid_end_date\tinvalid_reason\n0\tnone\tMetadata\tNone\tUndefined\t\t0\t19700101\t20991231\t\n"
    )
    database.add_concepts(tmp_path / "CONCEPT.csv")
    assert database.invalid_rows(path, "note_nlp") == 0
    assert database.count("note_nlp") == len(texts)
