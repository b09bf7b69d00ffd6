"""Tests that public functions raise an error with a code if they get documents or texts of a wrong type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.corpora import check_corpus, corpus_stats, documents_of, write_corpus
from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.outputs import write_links
from onym.pipeline import Pipeline
from onym.text import find_abbreviations, normal_name
from onym.types import Document


@pytest.fixture
def pipeline(tiny_kb: Path) -> Pipeline:
    kb = KnowledgeBase.open(tiny_kb)
    return Pipeline(ExactLinker(kb), DictionaryDetector(kb))


@pytest.mark.parametrize("texts", [["fever"], ("fever",), iter([Document("1", "fever")])])
def test_link_many_accepts_texts_and_documents(pipeline: Pipeline, texts: Any) -> None:
    assert [(linked.document.id, len(linked.links)) for linked in pipeline.link_many(texts)] == [("1", 1)]


@pytest.mark.parametrize("texts", [b"fever", None, 5, {"1": "fever"}])
def test_link_many_rejects_other_types(pipeline: Pipeline, texts: Any) -> None:
    with pytest.raises(InputError, match="type-document") as caught:
        list(pipeline.link_many(texts))
    assert "fever" not in str(caught.value)


@pytest.mark.parametrize("documents", ["fever", None, 5, ["fever"], [None], [("1", "fever")], Document("1", "fever")])
def test_functions_of_documents_reject_other_types(pipeline: Pipeline, tmp_path: Path, documents: Any) -> None:
    assert pipeline.detector is not None
    for act in (
        lambda: list(pipeline.detector.detect(documents)),
        lambda: write_links(documents, pipeline, tmp_path / "out.jsonl"),
        lambda: write_corpus(documents, tmp_path / "out.jsonl", "jsonl"),
        lambda: list(check_corpus(documents)),
        lambda: corpus_stats(documents),
        lambda: list(documents_of(documents)),
    ):
        with pytest.raises(InputError, match="type-document") as caught:
            act()
        assert "fever" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [None, b"fever", 5, ["fever"]])
def test_functions_of_text_reject_other_types(text: Any) -> None:
    for act in (normal_name, find_abbreviations, lambda text: Document("1", text), lambda text: Document(text, "fever")):
        with pytest.raises(InputError, match="type-text"):
            act(text)
