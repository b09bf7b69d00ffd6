"""Tests of the core data types, and of their validation."""

from __future__ import annotations

import pytest

from onym.errors import InputError
from onym.types import Candidate, Concept, Document, Link, LinkedDocument, Mention, Name, NameKind, Passage, Problem


def test_concept_id_must_be_a_curie() -> None:
    with pytest.raises(InputError, match="type-concept-id"):
        Concept("D003924", ())


def test_preferred_name_is_the_first_name() -> None:
    names = (Name("mi", "MI", NameKind.ABBREVIATION, "en", ()), Name("heart attack", "Heart attack", NameKind.EXACT, "en", ()))
    assert Concept("a:1", names).preferred_name == "MI"
    assert Concept("a:1", names).names == ("mi", "heart attack")
    assert Concept("a:1", ()).preferred_name == "a:1"


@pytest.mark.parametrize(("start", "end", "surface"), [(5, 5, ""), (5, 3, "xx"), (-1, 2, "xxx"), (0, 3, "fever")])
def test_mention_span_must_match_its_surface(start: int, end: int, surface: str) -> None:
    with pytest.raises(InputError, match="type-offsets"):
        Mention(start, end, surface)


def test_fragments_must_be_inside_their_mention() -> None:
    Mention(0, 9, "breast ca", parts=((0, 6), (7, 9)))
    with pytest.raises(InputError, match="type-offsets"):
        Mention(0, 9, "breast ca", parts=((0, 6), (7, 12)))


def test_document_validates_mentions_and_passages() -> None:
    with pytest.raises(InputError, match="type-offsets"):
        Document("1", "fever and cough", (Mention(0, 5, "cough"),))
    with pytest.raises(InputError, match="type-offsets"):
        Document("1", "fever", passages=(Passage(0, 9),))


def test_repr_contains_no_text() -> None:
    doc = Document("1", "secret fever", (Mention(7, 12, "fever"),))
    assert "fever" not in repr(doc)
    assert "fever" not in repr(doc.mentions)


def test_link_answer_is_the_best_candidate() -> None:
    mention = Mention(0, 5, "fever")
    assert Link(mention, (Candidate("a:1", "fever", 1.0),), confidence=0.5).concept_id == "a:1"
    assert Link(mention, ()).concept_id is None
    with pytest.raises(InputError, match="type-confidence"):
        Link(mention, (), confidence=1.5)


def test_ids_have_a_stored_and_a_display_form() -> None:
    best = Candidate("mondo:0005148", "type 2 diabetes mellitus", 1.0)
    link, nil = Link(Mention(0, 4, "T2DM"), (best,)), Link(Mention(0, 4, "T2DM"))
    assert (link.concept_id, link.obo_id) == ("mondo:0005148", "MONDO:0005148")
    assert (best.concept_id, best.obo_id) == (link.concept_id, link.obo_id)
    assert (nil.concept_id, nil.obo_id) == (None, None)
    assert Concept("hp:0001945", ()).obo_id == "HP:0001945"


def test_nil_link_has_a_reason_and_keeps_its_candidates() -> None:
    mention, candidates = Mention(0, 5, "fever"), (Candidate("a:1", "fever", 0.1),)
    below = Link(mention, candidates, nil_reason="below-threshold")
    assert (below.concept_id, below.candidates) == (None, candidates)
    assert Link(mention).nil_reason == "no-candidate"
    assert Link(mention, candidates).nil_reason is None
    assert Link(mention, nil_reason="below-threshold").nil_reason == "below-threshold"


def test_a_document_with_problems_is_not_complete() -> None:
    doc = Document("1", "fever")
    assert LinkedDocument(doc).is_complete
    assert not LinkedDocument(doc, problems=(Problem("1", "limit-record", "too long"),)).is_complete


def test_text_instead_of_an_id_is_not_shown() -> None:
    assert "patient" not in repr(Document("the patient", "fever"))
    assert "patient" not in repr(Problem("the patient", "limit-record", "too long"))
    with pytest.raises(InputError) as caught:
        Document("the patient", "fever", (Mention(0, 5, "cough"),))
    assert "patient" not in str(caught.value)
