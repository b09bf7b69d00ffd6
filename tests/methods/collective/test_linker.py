"""Tests of the collective linker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_with_ids
from onym.methods.collective import torch_documents
from onym.methods.collective.linker import CollectiveLinker, CollectiveLinkerConfig
from onym.methods.collective.model import Collective
from onym.text.queries import queries_of
from onym.types import Document, Mention
from tests.methods.dense.index.made import names_of
from tests.support.linking import link_with
from tests.support.models import save_collective
from tests.threads import one_thread

pytest.importorskip("faiss")

LONG = "Fever and a heart attack came after the cold. " * 5
DOCS = [
    Document("1", "A heart attack, then fever.", (Mention(2, 14, "heart attack"), Mention(21, 26, "fever"))),
    Document("2", "Nothing."),
    Document("3", LONG, tuple(Mention(at, at + 5, LONG[at : at + 5]) for at in range(0, len(LONG) - 5, 46))),
    Document("4", "\u200b \n", (Mention(1, 2, " "),)),
]


ALONE = CollectiveLinkerConfig(average_repeated_mentions=False, dtype="fp32")


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> CollectiveLinker:
    folder = tmp_path_factory.mktemp("collective")
    own = shutil.copytree(tiny_kb, folder / "kb", ignore=shutil.ignore_patterns("indexes", "vectors"))
    kb = KnowledgeBase.open(own)  # a copy, because the shared folder may have vectors of another precision
    model = Collective.open(save_collective(folder / "m"), "fp32")
    return CollectiveLinker.of(model, kb, ALONE)


def test_answers_are_those_of_the_nearest_names(linker: CollectiveLinker) -> None:
    linked = list(link_with(linker, DOCS))
    assert [each.document for each in linked] == DOCS
    vectors, rows = linker.model.mention_vectors(DOCS)
    assert linker.model.names is not None
    scores = vectors @ linker.model.names.encode(names_of(linker.kb)).T
    for (doc, mention), own in zip(rows, scores, strict=True):
        best = linked[doc].links[mention].candidates[0]
        assert best.score == pytest.approx(float(own.max()), rel=1e-4)
        assert linker.kb.find(best.name) == int(np.argmax(own))
    assert linked[3].links[0].candidates == ()


def test_a_document_does_not_depend_on_the_others(linker: CollectiveLinker, monkeypatch: pytest.MonkeyPatch) -> None:
    together = [[link.candidates for link in each.links] for each in link_with(linker, DOCS)]
    monkeypatch.setattr(torch_documents, "_BUDGET", 40)
    for doc, wanted in zip(DOCS, together, strict=True):
        (alone,) = link_with(linker, [doc])
        for link, candidates in zip(alone.links, wanted, strict=True):
            assert [each.concept_id for each in link.candidates] == [each.concept_id for each in candidates]
            np.testing.assert_allclose(
                [each.score for each in link.candidates], [each.score for each in candidates], atol=1e-5, rtol=1e-4
            )


def test_only_some_concepts(linker: CollectiveLinker) -> None:
    only = concepts_with_ids(linker.kb, ["mesh:D005334"])
    for linked in link_with(linker, DOCS, only=only):
        assert {each.concept_id for link in linked.links for each in link.candidates} <= {"mesh:D005334"}


def test_an_abbreviation_is_read_where_it_is_expanded(linker: CollectiveLinker) -> None:
    text = "Myocardial infarction (MI) is common. The MI came late."
    short = Document("1", text, (Mention(42, 44, "MI"), Mention(30, 36, "common")))
    long = Document("1", text, (Mention(0, 21, "Myocardial infarction"), Mention(30, 36, "common")))
    found, wanted = next(link_with(linker, [short])), next(link_with(linker, [long]))
    assert [link.candidates for link in found.links] == [link.candidates for link in wanted.links]
    assert found.document == short
    assert [link.mention for link in found.links] == list(short.mentions)
    plain = next(link_with(linker, [short], expand=False))
    assert plain.links[0].candidates != found.links[0].candidates


def test_only_the_mentions_that_are_asked_for_are_averaged(linker: CollectiveLinker) -> None:
    sharing = CollectiveLinker(linker.kb, linker.model, linker.index)
    queries = queries_of(DOCS[2])
    whole, some = sharing.rank(queries), sharing.rank(queries[::2])
    [alone] = link_with(sharing, [replace(DOCS[2], mentions=DOCS[2].mentions[::2])])
    assert [each.candidates for each in some] == [link.candidates for link in alone.links]
    assert [each.candidates for each in whole[::2]] != [each.candidates for each in some]


def test_repeated_mentions_share_an_embedding(linker: CollectiveLinker) -> None:
    sharing = CollectiveLinker(linker.kb, linker.model, linker.index, CollectiveLinkerConfig())
    linked = list(link_with(sharing, [DOCS[2], DOCS[0]]))
    answers = {link.mention.surface: {link.candidates for link in linked[0].links} for link in linked[0].links}
    assert all(len(each) == 1 for each in answers.values())
    plain = {link.candidates for link in next(link_with(linker, [DOCS[2]])).links}
    assert len(plain) > len(answers)
    assert [[c.concept_id for c in link.candidates] for link in linked[1].links] == [
        [c.concept_id for c in link.candidates] for link in next(link_with(linker, [DOCS[0]])).links
    ]
    assert sharing.config["average_repeated_mentions"]


def test_repeated_mentions_are_averaged_by_default(linker: CollectiveLinker) -> None:
    assert CollectiveLinker(linker.kb, linker.model, linker.index).config["average_repeated_mentions"]


def test_describe(linker: CollectiveLinker) -> None:
    described = linker.config
    assert (described["linker"], described["index"], described["represent"]) == ("collective", "flat", "mean")
    assert "threshold" not in described


def test_rejects_model_that_only_detects(tmp_path: Path, tiny_kb: Path) -> None:
    model = Collective.open(save_collective(tmp_path / "m", links=False))
    with pytest.raises(ConfigError, match="model-family"):
        CollectiveLinker.of(model, KnowledgeBase.open(tiny_kb))
    with pytest.raises(ConfigError, match="model-family"):
        CollectiveLinker.from_pretrained(tmp_path / "m", KnowledgeBase.open(tiny_kb))


def test_a_folder_and_its_options(linker: CollectiveLinker, tmp_path: Path) -> None:
    folder = save_collective(tmp_path / "m")
    options: dict[str, Any] = {"index": "flat", "average_repeated_mentions": False}
    opened = CollectiveLinker.from_pretrained(folder, linker.kb, dtype="fp32", **options)
    assert opened.config == linker.config | {"model": "m"}
    found, wanted = next(link_with(opened, DOCS[:1])), next(link_with(linker, DOCS[:1]))
    assert [link.candidates for link in found.links] == [link.candidates for link in wanted.links]
    with pytest.raises(ConfigError, match="config-invalid"):
        CollectiveLinker.from_pretrained(folder, linker.kb, share=True)
