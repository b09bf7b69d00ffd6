"""Tests of the dense linker: results do not depend on how queries are batched."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types, concepts_with_ids
from onym.methods.dense.index import search as nearest
from onym.methods.dense.index.build import open_derived_index
from onym.methods.dense.linker import DenseLinker
from onym.models.settings import EncoderSettings
from onym.models.torch_encoder import Encoder
from onym.parts import OpenContext
from onym.types import Candidate, Document, Mention
from tests.methods.dense.index.made import Hashed, names_of
from tests.models.spoil import rewrite_weights
from tests.support.linking import link_with
from tests.support.models import save_encoder
from tests.threads import one_thread

pytest.importorskip("faiss")


def document(text: str, *surfaces: str, doc_id: str = "1") -> Document:
    """Return a document with the first occurrence of each surface as a mention."""
    rows = [(text.index(surface), surface) for surface in surfaces]
    return Document(doc_id, text, tuple(Mention(start, start + len(surface), surface) for start, surface in rows))


DOC = document("A Heart Attack, then fever and raised blood pressure.", "Heart Attack", "fever", "raised blood pressure")


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("model") / "tiny-bert")


@pytest.fixture
def kb(tmp_path: Path, tiny_kb: Path) -> KnowledgeBase:
    """Return a copy of the knowledge base, because an index will be stored with it."""
    return KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))


def make_hash_linker(kb: KnowledgeBase) -> DenseLinker:
    """Return a linker with hash-based embeddings: only equal texts are similar."""
    encoder: Any = Hashed()
    encoder.config = {}
    return DenseLinker(kb, encoder, open_derived_index(kb, encoder))


def answers(linker: DenseLinker, *documents: Document, **options: Any) -> list[tuple[Candidate, ...]]:
    linked = list(link_with(linker, documents, **options))
    assert [each.document for each in linked] == list(documents)
    assert [link.mention for each in linked for link in each.links] == [m for doc in documents for m in doc.mentions]
    return [link.candidates for each in linked for link in each.links]


def expect_concepts(kb: KnowledgeBase, encoder: Any, text: str) -> list[tuple[str, float]]:
    """Rank the concepts by their best name, by brute force over all names."""
    scores = (encoder.encode([text]) @ encoder.encode(names_of(kb)).T)[0]
    best = {c: max(float(scores[n]) for n in kb.names_of(c)) for c in range(len(kb))}
    return [(kb.concept_ids[c], score) for c, score in sorted(best.items(), key=lambda item: (-item[1], item[0]))]


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_concepts_are_ranked_by_their_best_name(model: Path, kb: KnowledgeBase, similarity: Any) -> None:
    own = EncoderSettings(pooling="mean", similarity=similarity)
    linker = DenseLinker.from_pretrained(model, kb, encoder=own, dtype="fp32")
    encoder = Encoder.open(model, own, "fp32")
    found = answers(linker, DOC)
    for candidates, text in zip(found, ("heart attack", "fever", "raised blood pressure"), strict=True):
        expected = expect_concepts(kb, encoder, text)
        assert [candidate.concept_id for candidate in candidates] == [concept for concept, _ in expected]
        np.testing.assert_allclose([c.score for c in candidates], [score for _, score in expected], rtol=1e-4)
        assert all(kb.is_name_of(candidate.concept_id, candidate.name) for candidate in candidates)
    if similarity == "cosine":
        assert [candidates[0].name for candidates in found[:2]] == ["Heart attack", "Fever"]


def test_a_name_is_nearest_to_itself(kb: KnowledgeBase) -> None:
    heart, fever, _ = answers(make_hash_linker(kb), DOC)
    assert (heart[0].concept_id, heart[0].name) == ("mesh:D009203", "Heart attack")
    assert fever[0].concept_id == "mesh:D005334"
    assert heart[0].score == pytest.approx(1.0)


def test_a_name_of_two_concepts_is_a_tie(kb: KnowledgeBase) -> None:
    (candidates,) = answers(make_hash_linker(kb), document("MI", "MI"))
    assert [candidate.concept_id for candidate in candidates[:2]] == ["mesh:D006973", "mesh:D009203"]
    assert candidates[0].score == candidates[1].score


@pytest.mark.parametrize("top_k", [1, 2, 3, 10])
def test_as_many_concepts_as_are_requested(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, top_k: int) -> None:
    plain = answers(make_hash_linker(kb), DOC, top_k=10)
    monkeypatch.setattr(nearest, "_NAMES_PER_CANDIDATE", 2)
    monkeypatch.setattr(nearest, "_MAX_FOUND", 6)
    found = answers(make_hash_linker(kb), DOC, top_k=top_k)
    assert [len(candidates) for candidates in found] == [min(top_k, 3)] * 3
    assert [[c.concept_id for c in each] for each in found] == [[c.concept_id for c in each[:top_k]] for each in plain]


def test_more_names_are_requested_until_there_are_enough_concepts(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    linker = make_hash_linker(kb)
    queries: list[tuple[int, int]] = []
    own = linker.index.search

    def search(vectors: Any, k: int, within: Any) -> Any:
        queries.append((len(vectors), k))
        return own(vectors, k, within)

    monkeypatch.setattr(linker.index, "search", search)
    monkeypatch.setattr(nearest, "_NAMES_PER_CANDIDATE", 2)
    answers(linker, DOC, top_k=3)
    assert queries[0] == (3, 6)
    assert len(queries) < 3  # the search stops as soon as three concepts are found
    assert all(later <= earlier for (earlier, _), (later, _) in pairwise(queries))
    assert {k for _, k in queries} <= {6, len(kb.names)}


def test_only_some_concepts(kb: KnowledgeBase) -> None:
    linker = make_hash_linker(kb)
    for candidates in answers(linker, DOC, only=concepts_of_types(kb, ["C23"])):
        assert [candidate.concept_id for candidate in candidates] == ["mesh:D005334"]
    (mi,) = answers(linker, document("MI", "MI"), only=concepts_with_ids(kb, ["D006973"]))
    assert [candidate.concept_id for candidate in mi] == ["mesh:D006973"]
    assert answers(linker, DOC, only=np.zeros(len(kb), dtype=bool)) == [(), (), ()]


def test_abbreviations_are_expanded(kb: KnowledgeBase) -> None:
    doc = document("He had a heart attack (HA). HA kills.", "HA)")
    doc = Document("1", doc.text, (Mention(28, 30, "HA"),))
    assert answers(make_hash_linker(kb), doc)[0][0].name == "Heart attack"
    assert answers(make_hash_linker(kb), doc, expand=False)[0][0].score < 0.9


def test_a_mention_without_a_letter_has_no_answer(kb: KnowledgeBase) -> None:
    assert answers(make_hash_linker(kb), document("(?)", "(?)"), document("fever", "fever"))[0] == ()


def test_documents_without_mentions(kb: KnowledgeBase) -> None:
    assert answers(make_hash_linker(kb), Document("1", "nothing", ()), Document("2", "", ())) == []
    assert list(link_with(make_hash_linker(kb), [])) == []


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_a_surface_is_encoded_once(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr("onym.pipeline.pipeline._batches", lambda documents: ([document] for document in documents))
    monkeypatch.setattr("onym.methods.base.KEPT_CANDIDATES", 10 * kept)  # of ten candidates
    linker = make_hash_linker(kb)
    encoder: Any = linker.encoder
    encoder.encoded.clear()
    documents = [document(text, text, doc_id=str(number)) for number, text in enumerate(["Fever", "fever", "chill", "FEVER"])]
    found = answers(linker, *documents)
    assert found[0] == found[1] == found[3] != found[2]
    times = {0: ["fever", "fever", "chill", "fever"], 1: ["fever", "chill", "fever"], 100: ["fever", "chill"]}
    assert encoder.encoded == times[kept]


def test_reads_documents_lazily(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.pipeline.pipeline._BATCH", 2)
    monkeypatch.setattr("onym.pipeline.pipeline._TERM", 0)
    taken: list[int] = []

    def stream() -> Iterator[Document]:
        for number in range(5):
            taken.append(number)
            yield document("fever", "fever", doc_id=str(number))

    assert next(link_with(make_hash_linker(kb), stream())).document.id == "0"
    assert taken == [0, 1]


@pytest.mark.parametrize("kind", ["flat", "flat16", "sq8", "hnsw", "ivfpq", "pq"])
def test_each_kind_of_index(model: Path, kb: KnowledgeBase, kind: str) -> None:
    linker = DenseLinker.from_pretrained(model, kb, index=kind)
    assert all(candidates for candidates in answers(linker, DOC))
    assert linker.config["index"] == kind


def test_describe(model: Path, kb: KnowledgeBase) -> None:
    config = DenseLinker.from_pretrained(model, kb, dtype="bf16").config
    assert (
        config
        | {
            "linker": "dense",
            "model": "tiny-bert",
            "precision": "bfloat16",
            "index": "flat",
            "index_precision": "bfloat16",
            "pooling": "cls",
            "similarity": "dot",
            "length": 25,
        }
        == config
    )
    other = DenseLinker.from_pretrained(model, kb, dtype="fp32").config
    assert (other["precision"], other["index_precision"]) == ("float32", "bfloat16")


def test_no_network_unless_it_is_requested(model: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(ConfigError, match="model-missing"):
        DenseLinker.from_pretrained("lab/encoder", kb)
    monkeypatch.setattr("onym.store.models.fetch_model", lambda *_: model)
    assert DenseLinker.from_pretrained("lab/encoder", kb, context=OpenContext(download=True)).config["model"] == "lab/encoder"


def test_an_unknown_kind(model: Path, kb: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="index-unknown"):
        DenseLinker.from_pretrained(model, kb, index="magic")
    with pytest.raises(ConfigError, match="config-invalid"):
        DenseLinker.from_pretrained(model, kb, kind="flat")


def test_lone_surrogate_becomes_a_problem(model: Path, kb: KnowledgeBase) -> None:
    """A file cannot contain a lone surrogate, but a caller can pass a string that does."""
    bad = document("Fever and \ud800.", "\ud800", doc_id="2")
    linked = list(link_with(DenseLinker.from_pretrained(model, kb), [DOC, bad, DOC]))
    assert [[problem.code for problem in each.problems] for each in linked] == [[], ["input-encoding"], []]
    assert all(each.is_complete for each in (linked[0], linked[2]))


def test_model_with_nan_leaves_no_index(tmp_path: Path, model: Path, kb: KnowledgeBase) -> None:
    spoilt = shutil.copytree(model, tmp_path / "model")
    rewrite_weights(spoilt, lambda found: found["embeddings.word_embeddings.weight"].fill_(torch.nan))
    before = sorted(path for path in (tmp_path / "kb").rglob("*"))
    with pytest.raises(InputError, match="model-not-finite"):
        DenseLinker.from_pretrained(spoilt, kb)
    assert sorted(path for path in (tmp_path / "kb").rglob("*")) == before
