"""Tests of lookups in an opened knowledge base."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from onym.errors import IntegrityError, UnknownConceptError
from onym.kb import KnowledgeBase
from onym.kb.export import concept_frame
from onym.kb.search import search
from onym.store.artefact import Artefact
from tests.kb.conftest import Builder
from tests.store.artefact.rotten import rot


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.mark.parametrize(
    "spelling", ["mesh:D009203", "MESH:D009203", "D009203", "d009203", " mesh:D009203 ", "omim:608446", "608446"]
)
def test_ids_are_found_in_any_spelling(kb: KnowledgeBase, spelling: str) -> None:
    assert kb[spelling].id == "mesh:D009203"
    assert spelling in kb


def test_an_unknown_id_raises_concept_unknown(kb: KnowledgeBase) -> None:
    with pytest.raises(UnknownConceptError, match="concept-unknown") as caught:
        kb["mesh:D000000"]
    assert isinstance(caught.value, KeyError)
    assert 5 not in kb


def test_an_ambiguous_alternative_id_raises_and_lists_its_concepts(build: Builder) -> None:
    kb = build("id\tname\txrefs\na:1\tone\tomim:5\na:2\ttwo\tomim:5\n")
    assert kb.resolve("omim:5") == (0, 1)
    with pytest.raises(UnknownConceptError, match="concept-ambiguous.*a:1, a:2"):
        kb["omim:5"]


def test_names_and_concepts_refer_to_each_other(kb: KnowledgeBase) -> None:
    for row in range(len(kb)):
        for name in kb.names_of(row):
            assert row in kb.name_concepts[int(name)]
            assert row in kb.concepts_named(kb.names[int(name)])
    assert [kb.concept_ids[c] for c in kb.concepts_named("mi")] == ["mesh:D006973", "mesh:D009203"]
    assert kb.concepts_named("no such name") == []
    assert kb.find("HEART-attack!") == kb.find("heart attack") >= 0


def test_iterates_concepts_sorted_by_id(kb: KnowledgeBase) -> None:
    assert [concept.id for concept in kb] == ["mesh:D005334", "mesh:D006973", "mesh:D009203"]


def test_repr_shows_the_size(kb: KnowledgeBase) -> None:
    assert "3 concepts, 9 names" in repr(kb)


def test_columns_cannot_be_written_to(kb: KnowledgeBase) -> None:
    with pytest.raises(ValueError, match="read-only"):
        kb.term_names[0] = 1


def test_opening_a_missing_kb_raises_a_coded_error(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="artefact-missing"):
        KnowledgeBase.open(tmp_path)


def test_rejects_inconsistent_columns(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    kb.term_names = np.full(len(kb.term_names), 10**6, dtype=np.uint32)
    with pytest.raises(IntegrityError, match="beyond"):
        kb.require_sound()
    kb = KnowledgeBase.open(tiny_kb)
    kb.alias_concepts = kb.alias_concepts[:0]
    with pytest.raises(IntegrityError, match="inconsistent lengths"):
        kb.require_sound()


def test_a_copy_is_verified_when_first_opened(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_kb, copy)
    seen = []
    monkeypatch.setattr(KnowledgeBase, "require_sound", lambda self: seen.append(self.digest))
    KnowledgeBase.open(copy)
    KnowledgeBase.open(copy)
    assert len(seen) == 1
    assert not Artefact.open(copy, "onym-kb", 1).is_new_here


def test_two_processes_read_the_same_artefact(tiny_kb: Path) -> None:
    code = "import sys; from onym import KnowledgeBase; print(KnowledgeBase.open(sys.argv[1])['mesh:D005334'].preferred_name)"
    runs = [subprocess.Popen([sys.executable, "-c", code, str(tiny_kb)], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [run.communicate()[0] for run in runs] == ["Fever\n", "Fever\n"]


@pytest.fixture
def own(tiny_kb: Path, tmp_path: Path) -> Path:
    """Return a verified copy that a test may corrupt."""
    shutil.copytree(tiny_kb, tmp_path / "own")
    KnowledgeBase.open(tmp_path / "own")
    return tmp_path / "own"


def use(kb: KnowledgeBase) -> None:
    for concept in kb:
        kb.concepts_with_id(concept.id)
        search(kb, concept.preferred_name)
    for row in range(len(kb)):
        kb.preferred_form(row)
    for name in range(len(kb.names)):
        kb.concepts_named(kb.names[name])
    kb.resolve("omim:608446")


@pytest.mark.parametrize(
    ("column", "data"),
    [
        ("names.offsets", b"\xff"), ("names.data", b"\xff"), ("concepts.offsets", b"\x7f"), ("name.concepts.values", b"\xff"),
        ("name.concepts.offsets", b"\xff"), ("concept.terms", b"\xff"), ("term.name", b"\xff"), ("term.kind", b"\xff"),
        ("term.language", b"\xff"), ("term.sources.values", b"\xff"), ("alias.concept", b"\x7f"),
        ("concept.types.values", b"\xff"),
    ],
)  # fmt: skip
def test_corruption_after_verification_raises_a_coded_error(own: Path, column: str, data: bytes) -> None:
    before = KnowledgeBase.open(own)
    rot(own, f"{column}.npy", -1, data)
    for kb in (before, KnowledgeBase.open(own)):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            use(kb)
    with pytest.raises(IntegrityError, match="was changed"):
        KnowledgeBase.open(own, verify="full")


def test_a_concept_without_names_is_reported_as_corrupt(own: Path) -> None:
    rot(own, "concept.terms.npy", -8, (0).to_bytes(4, "little"))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        KnowledgeBase.open(own).preferred_form(2)


def test_nothing_is_derived_from_a_corrupt_kb(own: Path) -> None:
    rot(own, "names.data.npy", -1, b"x")
    kb = KnowledgeBase.open(own)
    for derive in (lambda: concept_frame(kb), kb.require_intact):
        with pytest.raises(IntegrityError, match="was changed"):
            derive()


def test_resolve_many_agrees_with_resolve(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    ids = [*kb.concept_ids, *kb.aliases, *(i.lower() for i in kb.concept_ids), "D009203", "mesh:none", "", "\ud800"]
    alone = [found[0] if len(found := kb.resolve(i)) == 1 else -1 for i in ids]
    assert kb.resolve_many(ids).tolist() == alone
    assert -1 in alone
