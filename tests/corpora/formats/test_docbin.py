"""Tests of spaCy's DocBin: files written by Onym and by spaCy, and malicious files."""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from onym.corpora.formats import detect, docbin, format_of
from onym.corpora.formats import docbin as _docbin
from onym.errors import InputError, LimitError, OnymError
from onym.store.files.source import InputFile, Source
from onym.store.limits import Limits
from onym.types import Document, Mention, Problem
from tests.support.documents import documents, source_of, write_to_memory

NLP = spacy.blank("en")
FEVER = Document(
    "PMID7",
    "Antifebrile, fever",
    (
        Mention(4, 9, "febri", ("mesh:D005334", "hp:0001945"), "Disease", "T1", notes=(("k", "v"),)),
        Mention(0, 11, "Antifebrile", ("mesh:D1",)),
        Mention(13, 18, "fever", ("mesh:D005334",), "Disease"),
    ),
)


def read(data: bytes, limits: Limits | None = None) -> list[Any]:
    return list(docbin.read(Source.of_files("a", [InputFile.from_bytes("a.spacy", data, limits or Limits())])))


def spacys(data: bytes) -> list[Doc]:
    """Return the documents as read by spaCy, with a vocabulary that knows no string but those of the file."""
    return list(DocBin().from_bytes(data).get_docs(Vocab()))


@settings(max_examples=40)
@given(document=documents())
def test_spacy_reads_the_same_text_and_all_mentions(document: Document) -> None:
    data = write_to_memory(docbin, [document])[""]
    (doc,) = spacys(data)
    assert doc.text == document.text
    assert len(doc.spans["onym"]) == len(document.mentions)
    for span, mention in zip(doc.spans["onym"], document.mentions, strict=True):
        assert span.label_ == (mention.type or "ENTITY")
        assert span.start_char < mention.end
    assert read(data) == [document]


def test_a_file_is_recognised_by_extension_and_by_first_bytes() -> None:
    data = write_to_memory(docbin, [FEVER])[""]
    assert detect(source_of(a__bin=data)) == "docbin"
    assert format_of(InputFile.from_bytes("a.spacy", b"torn")) == "docbin"
    assert not docbin.matches(source_of(a__bin=zlib.compress(b"fever, version")))
    (doc,) = spacys(data)
    assert [(ent.text, ent.label_, ent.kb_id_) for ent in doc.ents] == [
        ("Antifebrile", "Disease", "MESH:D005334|HP:0001945"), ("fever", "Disease", "MESH:D005334"),
    ]  # fmt: skip


@pytest.mark.parametrize("attrs", [["ENT_IOB", "ENT_TYPE", "ENT_KB_ID"], ["ENT_TYPE", "ENT_IOB"], ["TAG"], None])
def test_reads_files_written_by_spacy(attrs: list[str] | None) -> None:
    doc = NLP("PERSON had a heart  attack .")
    doc.ents = [Span(doc, 3, 6, label="Disease", kb_id="MESH:D009203"), Span(doc, 0, 1, label="PERSON")]
    doc.user_data["scores"] = np.zeros(3)
    doc.user_data["._.", "x", 0, None] = 1  # type: ignore[index]
    made = DocBin(attrs, store_user_data=True) if attrs else DocBin(store_user_data=True)
    made.add(doc)
    made.add(Doc(NLP.vocab, words=["No", "spaces"]))
    first, second = read(made.to_bytes())
    assert (first.id, first.text, second.id, second.text) == ("1", doc.text, "2", "No spaces ")
    found = [(each.surface, each.type, each.concept_ids) for each in first.mentions]
    ids = ("mesh:D009203",) if attrs is None or "ENT_KB_ID" in attrs else ()
    expected = [("PERSON", "PERSON", ()), ("heart  attack", "Disease", ids)]
    assert found == ([] if attrs == ["TAG"] else expected)


def test_edited_entities_replace_the_stored_mentions() -> None:
    (doc,) = spacys(write_to_memory(docbin, [FEVER])[""])
    doc.ents = [Span(doc, 2, 3, label="Chemical", kb_id="D000001")]
    (edited,) = read(DocBin(store_user_data=True, docs=[doc]).to_bytes())
    assert edited.id == "PMID7"
    assert [(each.surface, each.type, each.concept_ids) for each in edited.mentions] == [
        ("fever", "Chemical", ("mesh:D000001",))
    ]


def test_long_runs_without_a_space_take_linear_time() -> None:
    document = Document("1", "(" * 50_000 + " fever " + "a)" * 300, (Mention(50_001, 50_006, "fever"),))
    started = time.process_time()
    assert read(write_to_memory(docbin, [document])[""]) == [document]
    assert time.process_time() - started < 10


def test_refuses_to_write_more_than_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docbin, "DEFAULT_LIMITS", Limits(docbin_bytes=100))
    with pytest.raises(LimitError, match="limit-record"):
        write_to_memory(docbin, [FEVER])


def message(**changes: Any) -> bytes:
    """Return a DocBin file with some fields of its message replaced."""
    found = srsly.msgpack_loads(zlib.decompress(write_to_memory(docbin, [FEVER, Document("2", "cough")])[""]))
    return zlib.compress(srsly.msgpack_dumps({key: value for key, value in (found | changes).items() if value is not None}))


@pytest.mark.parametrize(
    "changes",
    [
        {"strings": None},
        {"strings": {}},
        {"attrs": None},
        {"attrs": []},
        {"attrs": [77]},
        {"attrs": [65, 65, 65, 65, 65]},
        {"attrs": ["ORTH"] * 5},
        {"attrs": [2**63, 1, 2, 3, 4]},
        {"tokens": b"abc"},
        {"tokens": b""},
        {"tokens": 7},
        {"spaces": b""},
        {"lengths": b"\xff" * 8},
        {"lengths": np.array([-5, 11], "int32").tobytes()},
        {"lengths": np.array([2**31 - 1, 2**31 - 1], "int32").tobytes()},
        {"lengths": bytes(4_000)},
        {"cats": [], "flags": []},
        {"cats": None, "flags": None, "span_groups": None, "user_data": None},
    ],
)
def test_rejects_invalid_sizes_and_indices(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="docbin-malformed"):
        read(message(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"strings": []},
        {"user_data": [b"\xc1", b"\x80"]},
        {"user_data": ["x", b"\x80"]},
        {"user_data": [b"\x91" * 500, b"\x80"]},
        {"user_data": [srsly.msgpack_dumps({"onym_document": {"id": [], "entities": []}}), b"\x80"]},
    ],
)
def test_a_bad_document_loses_only_itself(changes: dict[str, Any]) -> None:
    first, *rest = read(message(**changes))
    assert isinstance(first, Problem)
    assert first.code in ("corpus-malformed", "docbin-malformed", "limit-record")
    assert [type(each) for each in rest] == ([Problem] if changes == {"strings": []} else [Document])


def test_rejects_texts_that_expand_too_much() -> None:
    word = "x" * 100_000
    doc = Doc(NLP.vocab, words=[word] * 60)
    data = DocBin(docs=[doc] * 20).to_bytes()
    with pytest.raises(LimitError, match="limit-ratio"):
        read(data)
    (problem, *_) = read(data, Limits(ratio=10**6, document_bytes=1_000_000))
    assert problem.code == "limit-record"


@settings(max_examples=200)
@given(st.data())
def test_mutated_messages_do_not_crash_or_reveal_text(data: st.DataObject) -> None:
    plain = bytearray(zlib.decompress(write_to_memory(docbin, [FEVER, Document("2", "cough")])[""]))
    for _ in range(data.draw(st.integers(1, 3))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    said = []
    try:
        said += [item.what for item in read(zlib.compress(plain)) if isinstance(item, Problem)]
    except OnymError as e:
        said.append(str(e))
    assert not any("ebril" in each for each in said)


def test_the_number_of_values_is_limited() -> None:
    with pytest.raises(LimitError):
        list(_docbin.iter_packed(InputFile.from_bytes("a", write_to_memory(docbin, [FEVER])[""], Limits(docbin_values=20))))
