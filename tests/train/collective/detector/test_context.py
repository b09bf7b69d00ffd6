"""What the training of a detector opens."""

from __future__ import annotations

from pathlib import Path

from onym.train.collective.detector.context import DetectorContext
from tests.train.collective.detector.made import config


def test_a_corpus_may_have_labels_of_its_own_or_share_them(tmp_path: Path, encoder: Path, corpus: Path) -> None:
    both = DetectorContext(config(encoder, corpus), tmp_path)
    shared = DetectorContext(config(encoder, corpus, data={"conventions": False}), tmp_path)
    assert [(label.type, label.corpus) for label in (*both.labels, *shared.labels)] == [
        ("Disease", "ncbi-disease"),
        ("Disease", ""),
    ]


def test_thresholds_are_known_after_training(tmp_path: Path, encoder: Path, corpus: Path) -> None:
    context = DetectorContext(config(encoder, corpus), tmp_path)
    context.tuned[0] = 0.3
    assert [label.threshold for label in context.settings.labels] == [0.3]


def test_dev_is_what_its_own_corpus_annotates(tmp_path: Path, encoder: Path, corpus: Path) -> None:
    dev = DetectorContext(config(encoder, corpus, dev={"documents": 1}), tmp_path).dev
    assert dev is not None
    assert [(each.name, len(each.documents), dict(each.columns)) for each in dev.corpora] == [
        ("ncbi-disease", 1, {"Disease": 0})
    ]
    assert DetectorContext(config(encoder, corpus, dev={"split": "none"}), tmp_path).dev is None
    assert DetectorContext(config(encoder, corpus, dev={"documents": 5, "split": "none"}), tmp_path).dev is None
