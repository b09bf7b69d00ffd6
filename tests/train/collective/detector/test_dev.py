"""The score on dev of a detector."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.detect.overlaps import resolved
from onym.detect.spans import WantedType, scored_spans
from onym.models import torch_loading as loading
from onym.train.collective.detector.context import DetectorContext
from tests.train.collective.detector.made import config


def test_the_figures_are_those_of_the_best_thresholds(
    tmp_path: Path, encoder: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")
    context = DetectorContext(config(encoder, corpus, dev={"documents": 9, "split": "train"}), tmp_path)
    context.model.heads.label.bias.data.fill_(0.0)  # some are found
    dev = context.dev
    assert dev is not None
    found = dev(context.model)
    threshold = found["dev_threshold_0"]
    model, right, count = dev.open(context.model), 0, 0
    for doc, read in zip(dev.corpora[0].documents, model.reader.read(dev.corpora[0].documents), strict=True):
        spans = resolved(scored_spans(model, doc.text, read, [WantedType("Disease", (0,), threshold)]))
        own, gold = {(each.start, each.end) for each in spans}, {(each.start, each.end) for each in doc.mentions}
        right, count = right + len(own & gold), count + len(own) + len(gold)
    assert found["dev_f1"] == found["dev_f1_ncbi-disease"] == pytest.approx(200 * right / count)
    assert right
