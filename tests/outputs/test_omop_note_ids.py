"""Tests of choosing the note_id of a document for OMOP."""

from __future__ import annotations

import io

import pytest

from onym.errors import InputError
from onym.outputs.omop import NoteIds
from onym.types import Document


def test_numeric_document_id_is_the_note_id() -> None:
    notes = NoteIds()
    assert [notes.of(Document(name, "")) for name in ("7", "0012", "2147483647")] == [7, 12, 2147483647]


@pytest.mark.parametrize("name", ["", "ward 7", "-1", "1.0", "2147483648", "٣", "²"])
def test_rejects_other_ids_without_printing_text(name: str) -> None:
    with pytest.raises(InputError, match="omop-note-id") as refused:
        NoteIds().of(Document(name, "secret"))
    assert "--note-keys" in refused.value.fix
    assert "secret" not in str(refused.value)
    assert "ward 7" not in str(refused.value)


def test_rejects_duplicate_note_ids() -> None:
    notes = NoteIds()
    notes.of(Document("7", ""))
    with pytest.raises(InputError, match="same note_id") as refused:
        notes.of(Document("007", "", source="b.txt", ordinal=3))
    assert refused.value.where == "document 007 (b.txt, 3)"


def test_keys_file_numbers_the_documents() -> None:
    keys = io.BytesIO()
    notes = NoteIds(keys)
    docs = [Document("ward,7", "", source="a.txt", ordinal=1), Document("7", ""), Document("7", "", source="=b", ordinal=1)]
    assert [notes.of(doc) for doc in docs] == [1, 2, 3]
    assert keys.getvalue() == b'note_id,document,source,ordinal\n1,"ward,7",a.txt,1\n2,7,,0\n3,7,=b,1\n'
