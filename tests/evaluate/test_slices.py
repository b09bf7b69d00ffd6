"""Tests of slices: a case inside and a case outside each slice, missing inputs, and TF-IDF similarity."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.evaluate.cases import Case, ConceptResolver
from onym.evaluate.slices import (
    NEED_TRAINING,
    NO_SIMILARITY,
    NO_TRAINING,
    SIMILARITY_BINS,
    SLICES,
    Training,
    slices_of,
)
from onym.kb import KnowledgeBase
from onym.text.abbreviations import Abbreviations
from onym.types import Document, Mention

FEVER, INFARCTION, HYPERTENSION = "mesh:D005334", "mesh:D009203", "mesh:D006973"


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def case(*surfaces: str, gold: str = FEVER, text: str = "") -> Case:
    """Return a case whose parts have these surfaces, in a document that starts with `text`."""
    whole = text + " " + " ".join(surfaces)
    spans = [whole.rindex(surface) for surface in surfaces]
    mentions = tuple(Mention(start, start + len(s), s, tuple(gold.split())) for start, s in zip(spans, surfaces, strict=True))
    return Case("1", frozenset(gold.split()), ((),) * len(surfaces), mentions=mentions, document=Document("1", whole, mentions))


def training(*pairs: tuple[str, str]) -> Training:
    return Training.of(
        Document(str(number), surface, (Mention(0, len(surface), surface, tuple(ids.split())),))
        for number, (surface, ids) in enumerate(pairs)
    )


def test_single_word_and_multi_word_mentions(kb: KnowledgeBase) -> None:
    cases = [case("fever"), case("high fever"), case("high\nfever"), case("fever-like"), case("fever", "high fever")]
    found = slices_of(cases, kb).indices
    assert found["overall"] == [0, 1, 2, 3, 4]
    assert found["single-word"] == [0, 3]
    assert found["multi-word"] == [1, 2, 4]


def test_seen_and_unseen_mentions_and_concepts(kb: KnowledgeBase) -> None:
    seen = training(("High Fever", FEVER), ("rash", ""), ("MI", f"{INFARCTION} {HYPERTENSION}"))
    cases = [case("high-fever"), case("rash"), case("mi", gold=INFARCTION), case("fever", gold="mesh:D0"), case("mi", "rash")]
    found = slices_of(cases, kb, training=seen).indices
    assert found["seen-mentions"] == [0, 2]
    assert found["unseen-mentions"] == [1, 3, 4]
    assert found["seen-concepts"] == [0, 1, 2, 4]
    assert found["unseen-concepts"] == [3]
    assert slices_of([case("mi", gold=f"{FEVER} mesh:D0")], kb, training=seen).indices["unseen-concepts"] == [0]


def test_training_ids_are_canonicalised(kb: KnowledgeBase) -> None:
    doc = Document("1", "fever", (Mention(0, 5, "fever", ("MESH:D005334",)),))
    assert Training.of([doc], ConceptResolver(kb).canonical).concepts == {FEVER: 1}


def test_top_concepts_are_ordered_by_count_then_id(kb: KnowledgeBase) -> None:
    seen = training(*[("a", f"x:{number:03d}") for number in range(150)], ("b", "x:149"), ("b", "x:148"))
    top = seen.top(100)
    assert {"x:149", "x:148", "x:000", "x:097"} <= top
    assert "x:098" not in top
    cases = [case("a", gold="x:149"), case("a", gold="x:098"), case("a", gold="x:149 x:098")]
    assert slices_of(cases, kb, training=seen).indices["top-100-concepts"] == [0]


def test_direct_matches(kb: KnowledgeBase) -> None:
    cases = [
        case("Pyrexia"),
        case("hot"),
        case("Heart-Attack", gold=INFARCTION),
        case("MI", gold=HYPERTENSION),
        case("fever", gold=INFARCTION),
        case("fever", gold="mesh:D0"),
        case("fever", "hot"),
        case("fever", "MI", gold=f"{FEVER} {INFARCTION}"),
    ]
    assert slices_of(cases, kb).indices["not-direct-match"] == [1, 4, 5, 6]


def test_abbreviations_and_homonyms(kb: KnowledgeBase) -> None:
    defined = "Myocardial infarction (MI) and high blood pressure (HBP)."
    cases = [
        case("MI", gold=INFARCTION),
        case("MI", gold=INFARCTION, text=defined),
        case("HBP", gold=HYPERTENSION, text=defined),
        case("fever", text=defined),
        case("fever", "MI", text=defined),
    ]
    found = slices_of(cases, kb).indices
    assert found["abbreviations"] == [1, 2, 4]
    assert found["homonyms"] == [0, 1, 4]


def test_homonym_by_long_form(kb: KnowledgeBase) -> None:
    from onym.evaluate import slices

    class Long:
        def of(self, case: Case) -> list[str]:
            return ["mi"] if case.mentions[0].surface == "X" else []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "_LongForms", Long)
        assert slices_of([case("X"), case("Y")], kb).indices["homonyms"] == [0]


def test_no_long_form_without_document(kb: KnowledgeBase) -> None:
    bare = Case("1", frozenset({FEVER}), ((),), mentions=(Mention(0, 2, "MI"),))
    assert slices_of([bare], kb).indices["abbreviations"] == []


def test_each_document_is_parsed_once_for_abbreviations(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = Abbreviations.from_text

    def count_text(text: str) -> Abbreviations:
        read.append(text)
        return whole(text)

    monkeypatch.setattr(Abbreviations, "from_text", count_text)
    slices_of([case("MI"), case("MI"), case("fever")], kb)
    assert len(read) == 2


def test_composites(kb: KnowledgeBase) -> None:
    cases = [case("fever"), case("MI", gold=f"{FEVER} {INFARCTION}")]
    assert slices_of(cases, kb).indices["composites"] == [1]


def test_similarity_bins_use_gold_names_and_least_similar_part(kb: KnowledgeBase) -> None:
    queries: list[tuple[str, list[str]]] = []
    values = iter([0.0, 0.2, 0.59, 1.0, 0.8, 0.3])

    def similarity(surfaces: list[str], names: list[list[str]]) -> list[float]:
        queries.extend(zip(surfaces, names, strict=True))
        return [next(values) for _ in surfaces]

    cases = [
        case("Hot-One"),
        case("b"),
        case("c", gold=f"{FEVER} {INFARCTION}"),
        case("none", gold="mesh:D0"),
        case("d"),
        case("e", "f"),
    ]
    found = slices_of(cases, kb, similarity=similarity).indices
    assert {name: found[name] for name in SIMILARITY_BINS} == {
        "similarity-0.0": [0],
        "similarity-0.2": [1, 5],
        "similarity-0.4": [2],
        "similarity-0.6": [],
        "similarity-0.8": [4],
    }
    assert queries[0] == ("hot one", ["fever", "hyperthermia", "pyrexia"])
    assert queries[2][1] == [
        "fever",
        "heart attack",
        "hyperthermia",
        "infarct myocardial",
        "mi",
        "myocardial infarction",
        "pyrexia",
    ]
    assert [surface for surface, _ in queries] == ["hot one", "b", "c", "d", "e", "f"]


@given(st.floats(-0.01, 1.01))
def test_similarity_falls_into_matching_bin(value: float) -> None:
    bounds = [tuple(map(float, re.findall(r"\d\.\d", SLICES[name].title))) for name in SIMILARITY_BINS]
    assert bounds == [(0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0)]
    from onym.evaluate.slices import _bins

    class Kb:
        names = ("fever",)

        def resolve(self, concept_id: str) -> tuple[int, ...]:
            return (0,)

        def names_of(self, row: int) -> list[int]:
            return [0]

    found = _bins([case("fever")], Kb(), lambda surfaces, names: [value])  # type: ignore[arg-type]
    (row,) = [number for number, name in enumerate(SIMILARITY_BINS) if found[name]]
    low, high = bounds[row]
    assert row in (0, 4) or low - 1e-9 <= value <= high + 1e-9


def test_similarity_bins_with_tfidf(kb: KnowledgeBase) -> None:
    pytest.importorskip("sparse_dot_topn")
    from onym.text.similarity import NameSimilarity

    measure = NameSimilarity([kb.names[number] for number in range(len(kb.names))])

    def similarity(surfaces: list[str], names: list[list[str]]) -> list[float]:
        return [max(map(float, measure.pairwise([s] * len(n), n))) for s, n in zip(surfaces, names, strict=True)]

    found = slices_of([case("Pyrexia"), case("zzz"), case("fevers")], kb, similarity=similarity).indices
    assert found["similarity-0.8"][0] == 0
    assert found["similarity-0.0"] == [1]


def test_slices_without_their_inputs_are_left_out_with_reason(kb: KnowledgeBase) -> None:
    found = slices_of([case("fever")], kb)
    assert found.left_out == dict.fromkeys(NEED_TRAINING, NO_TRAINING) | dict.fromkeys(SIMILARITY_BINS, NO_SIMILARITY)
    assert set(found.indices) | set(found.left_out) == set(SLICES)
    assert not set(found.indices) & set(found.left_out)


def test_slices_keep_catalogue_order(kb: KnowledgeBase) -> None:
    found = slices_of([case("fever")], kb, training=training(), similarity=lambda surfaces, names: [0.5] * len(surfaces))
    assert list(found.indices) == list(SLICES)
    assert found.left_out == {}


def test_opposite_slices_partition_the_cases(kb: KnowledgeBase) -> None:
    cases = [case("fever"), case("high fever"), case("MI", gold=INFARCTION), case("x", gold="mesh:D0")]
    found = slices_of(cases, kb, training=training(("fever", FEVER))).indices
    pairs = [("single-word", "multi-word"), ("seen-mentions", "unseen-mentions"), ("seen-concepts", "unseen-concepts")]
    for one, other in pairs:
        assert sorted(found[one] + found[other]) == [0, 1, 2, 3]


def test_no_cases(kb: KnowledgeBase) -> None:
    assert not any(slices_of([], kb, training=training(), similarity=lambda surfaces, names: []).indices.values())


def test_each_slice_has_a_title_and_one_sentence() -> None:
    for name, part in SLICES.items():
        assert name == part.name
        assert part.title
        assert part.definition.endswith(".")
        assert len(re.findall(r"\.(?!\d)", part.definition)) == 1
