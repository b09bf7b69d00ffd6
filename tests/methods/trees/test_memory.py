"""Tests of the reranker's memory of annotated surfaces."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.trees.memory import KbMemory, Memory, count_mentions, open_memory, write_memory
from onym.types import Document, Mention

HEART, FEVER = "mesh:D009203", "mesh:D005334"
CORPORA = [{"name": "mine", "digest": "ab", "licence": "CC0", "documents": 2, "left_out": {}}]


def document(document_id: str, text: str, *mentions: tuple[str, tuple[str, ...]]) -> Document:
    found = [
        Mention(text.rindex(surface), text.rindex(surface) + len(surface), surface, ids, "Disease") for surface, ids in mentions
    ]
    return Document(document_id, text, tuple(found))


@pytest.fixture
def documents() -> list[Document]:
    return [
        document("1", "Myocardial infarction (MI). An MI.", ("MI", (HEART,))),
        document("2", "MI and high temperature", ("MI", ("MESH:D009203",)), ("high temperature", (FEVER,))),
        document("3", "MI of fever", ("MI", (HEART, FEVER))),
    ]


def test_counts_short_and_long_form_but_no_composites(documents: list[Document]) -> None:
    counts = count_mentions(documents)
    assert counts["mi", HEART, "Disease"] == 1
    assert counts["myocardial infarction", HEART, "Disease"] == 1
    assert counts["high temperature", FEVER, "Disease"] == 1
    assert sum(counts.values()) == 4


def test_write_and_open_round_trip(tmp_path: Path, tiny_kb: Path, documents: list[Document]) -> None:
    counts = count_mentions(documents)
    manifest = write_memory(counts, CORPORA, tmp_path / "memory")
    assert manifest.config == {"corpora": ["mine"]}
    memory = open_memory(tmp_path / "memory")
    assert {(s, *entry) for s in ("mi", "high temperature", "myocardial infarction") for entry in memory.entries(s)} == {
        (*key, count) for key, count in counts.items()
    }
    assert memory.entries("gout") == []


def test_ids_are_those_of_the_knowledge_base(tiny_kb: Path, documents: list[Document]) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    memory = KbMemory(Memory.of(count_mentions(documents) + Counter({("gout", "mesh:D999999", ""): 3})), kb)
    (heart,) = kb.resolve(HEART)
    assert memory.recall("mi") == {heart: 2}
    assert memory.recall("gout") == {}
    assert memory.totals[heart] == 3
    assert memory.by_type()["Disease"].sum() == 4


def test_leaves_out_counts_of_the_document_itself(tiny_kb: Path, documents: list[Document]) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    memory = KbMemory(Memory.of(count_mentions(documents)), kb)
    (heart,) = kb.resolve(HEART)
    assert memory.recall("mi", memory.own(count_mentions(documents[:1]))) == {heart: 1}
    assert memory.recall("myocardial infarction", memory.own(count_mentions(documents[:1]))) == {}
    assert memory.recall("mi", memory.own(count_mentions(documents))) == {}


def test_empty_memory(tiny_kb: Path, tmp_path: Path) -> None:
    write_memory(Counter(), [], tmp_path / "memory")
    memory = KbMemory(open_memory(tmp_path / "memory"), KnowledgeBase.open(tiny_kb))
    assert (memory.recall("fever"), int(memory.totals.sum()), memory.by_type()) == ({}, 0, {})


@pytest.mark.parametrize("column", ["concepts", "types"])
def test_rejects_out_of_range_columns(documents: list[Document], column: str) -> None:
    memory = Memory.of(count_mentions(documents))
    getattr(memory, f"entry_{column}").values[0] = 99
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        memory.require_sound()


def test_rejects_columns_of_different_lengths(documents: list[Document]) -> None:
    memory = Memory.of(count_mentions(documents))
    columns = {"offsets": memory.offsets[:-1], "counts": memory.counts[: int(memory.offsets[-2])]}
    columns |= {name: getattr(memory, f"entry_{name}").values[: int(memory.offsets[-2])] for name in ("concepts", "types")}
    with pytest.raises(IntegrityError, match="different lengths"):
        Memory(memory.surfaces, memory.concepts, memory.types, columns).require_sound()
    assert np.diff(memory.offsets).tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("annotated", "decides"),
    [
        ({HEART: 3}, True),
        ({HEART: 2}, False),
        ({HEART: 8, FEVER: 2}, True),
        ({HEART: 7, FEVER: 2}, False),
        ({HEART: 3, "mesh:D999999": 2}, False),
        ({"mesh:D999999": 9}, False),
        ({}, False),
    ],
)
def test_clear_annotations_decide(tiny_kb: Path, annotated: dict[str, int], decides: bool) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    memory = KbMemory(Memory.of(Counter({("mi", concept, ""): count for concept, count in annotated.items()})), kb)
    assert memory.meaning("mi") == (kb.resolve(HEART)[0] if decides else -1)
