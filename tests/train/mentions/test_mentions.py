"""A classifier, trained on a tiny corpus."""

from __future__ import annotations

import json
from pathlib import Path

from onym.detect.classifier import open_classifier
from onym.detect.dictionary import DictionaryDetector
from onym.kb import KnowledgeBase
from onym.train.run import train
from onym.types import Document
from tests.train.mentions.made import config


def test_it_is_trained_and_opens(tmp_path: Path, ambiguous: Path, kb_folder: Path) -> None:
    settings = config(ambiguous, kb_folder)
    made, again = (train(settings, tmp_path / name) for name in ("made", "again"))
    record = json.loads((made / "training.json").read_text())
    (figures,) = record["metrics"]["dev"].values()
    assert figures["f1"] == 100.0 > figures["f1_without"]
    assert "tells mentions from words" in (made / "README.md").read_text()
    one, other = open_classifier(made), open_classifier(again)
    assert one._weights == other._weights
    assert one.threshold("ncbi-disease") == record["thresholds"]["conventions"]["ncbi-disease"]
    detector = DictionaryDetector(KnowledgeBase.open(kb_folder), classifier=one)
    (found,) = detector.detect([Document("1", "It rose to fever pitch. A fever was seen.")])
    assert [mention.start for mention in found.document.mentions] == [26]


def test_without_dev_the_threshold_is_even(tmp_path: Path, ambiguous: Path, kb_folder: Path) -> None:
    made = train(config(ambiguous, kb_folder, dev={"split": "none"}), tmp_path / "made")
    assert open_classifier(made).settings.threshold == 0.5
