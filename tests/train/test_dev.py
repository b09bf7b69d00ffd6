"""The sample that models are evaluated on during training: mentions evenly spaced, and names drawn once and for all."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onym.datasets import PreparedDataset
from onym.train.dev import dev_documents, dev_names, evenly_spaced
from onym.types import Document, Mention
from tests.index.made import kb_of, words


def test_items_evenly_spaced() -> None:
    items = list(range(10))
    assert evenly_spaced(items, 4) == [0, 2, 5, 7]
    assert evenly_spaced(items, 0) == evenly_spaced(items, 10) == evenly_spaced(items, 99) == items


def test_mentions_with_an_id_evenly_spaced(corpus: Path) -> None:
    documents = list(PreparedDataset.open(corpus).documents("train"))
    bare = Document("x", "fever", (Mention(0, 5, "fever"),))
    all_documents = dev_documents([*documents, bare], 0)
    assert [doc.id for doc in all_documents] == [doc.id for doc in documents]
    assert sum(len(doc.mentions) for doc in all_documents) == 12
    some = dev_documents(documents, 4)
    mentions = [(doc.id, mention) for doc in documents for mention in doc.mentions]
    assert [(doc.id, mention) for doc in some for mention in doc.mentions] == mentions[::3]
    assert all(doc.text == next(each.text for each in documents if each.id == doc.id) for doc in some)


def test_names_to_search_among(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, words(200))
    doc = Document("1", "x", (Mention(0, 1, "x", ("demo:7",)), Mention(0, 1, "x", ("demo:199", "demo:x"))))
    found = dev_names([doc], kb, 50)
    assert found is not None
    assert len(found) == len(set(found.tolist())) == 52
    assert {kb.find("name 00007"), kb.find("name 00199")} <= set(found.tolist())
    again = dev_names([doc], kb, 50)
    assert again is not None
    assert (found == again).all()
    more = dev_names([doc], kb, 100)
    assert more is not None
    assert set(found.tolist()) < set(more.tolist())
    assert dev_names([doc], kb, 0) is None
    assert dev_names([doc], kb, 198) is None
    some = dev_names([], kb, 5)
    assert some is not None
    assert np.diff(some).min() > 0
