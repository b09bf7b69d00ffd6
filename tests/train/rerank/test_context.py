"""What training opens."""

from __future__ import annotations

from pathlib import Path

from onym.train.rerank.context import RerankContext
from tests.train.rerank.made import config


def test_mentions_of_other_types_are_left_out(corpus: Path, kb_folder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder, data={"types": ["Chemical"]}))
    assert [len(doc.mentions) for doc in context.corpora[0].documents] == [0] * 6
    assert not context.counts


def test_without_an_encoder_no_feature_of_it_is_learnt(corpus: Path, kb_folder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder))
    assert list(context.parts.linkers) == ["tfidf"]
    assert not any(name.startswith("dense") for name in context.columns)


def test_with_an_encoder(corpus: Path, kb_folder: Path, encoder: Path) -> None:
    context = RerankContext(config(corpus, kb_folder, pool={"encoder": str(encoder), "index": "flat"}))
    assert list(context.parts.linkers) == ["tfidf", "dense"]
    assert "dense_margin" in context.columns
    assert len(context.parts.encoder) == 16
