"""Tests of training excerpts in which mentions have other names of the knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.train.samples.swapped import SwappedNames
from onym.types import Document, Mention

TABLE = (
    "id\tname\tsynonyms\tsemantic_types\n"
    "mesh:D1\tScurvy\tscorbutus|C1q/x (2)\tC18\nmesh:D2\tAspirin\t\tD02\nmesh:D3\tone two three four five\t\tC18\n"
)
TEXT = "He had a flu. Then a Flu came, with severe flu. It went."


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder: Path = tmp_path_factory.mktemp("swapped")
    (folder / "mesh.tsv").write_text(TABLE)
    build_kb(Recipe.of({"sources": [{"path": "mesh.tsv"}], "groups": True}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


def document(*mentions: tuple[int, int], kind: str = "Disease") -> Document:
    return Document("1", TEXT, tuple(Mention(start, end, TEXT[start:end], type=kind) for start, end in mentions))


DOCUMENT = document((9, 12), (21, 24), (36, 46), (43, 46))


def test_mentions_have_plain_names_of_their_type(kb: KnowledgeBase) -> None:
    excerpts = list(SwappedNames(kb).excerpts([DOCUMENT], 200))
    mentions = [mention for each in excerpts for mention in each.mentions]
    assert {mention.surface for mention in mentions if mention.surface != mention.surface.lower()} == {"Flu", "Scurvy"}
    assert {mention.surface.lower() for mention in mentions} == {"flu", "severe flu", "scurvy", "scorbutus"}
    assert {mention.type for mention in mentions} == {"Disease"}
    for each in excerpts:
        assert all(each.text[mention.start : mention.end] == mention.surface for mention in each.mentions)
    assert len({each.id for each in excerpts}) == 200


def test_what_is_not_swapped_is_the_text_of_the_document(kb: KnowledgeBase) -> None:
    for each in SwappedNames(kb).excerpts([document((9, 12), kind="Fish")], 50):
        assert each.text in TEXT or each.text in TEXT.lower()
        assert [mention.surface for mention in each.mentions] == ["flu"]


def test_groups_that_are_annotated_as_another_type_lend_their_names(kb: KnowledgeBase) -> None:
    found = SwappedNames(kb, {"Chemical": "Disease"}).excerpts([DOCUMENT], 200)
    assert "aspirin" in {mention.surface.lower() for each in found for mention in each.mentions}


def test_the_seed_decides(kb: KnowledgeBase) -> None:
    one, same, other = (list(SwappedNames(kb, seed=seed).excerpts([DOCUMENT], 20)) for seed in (1, 1, 2))
    assert one == same != other


def test_documents_without_mentions_have_no_excerpts(kb: KnowledgeBase) -> None:
    assert list(SwappedNames(kb).excerpts([document()], 3)) == []
