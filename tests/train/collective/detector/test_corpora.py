"""The labels of corpora."""

from __future__ import annotations

from onym.datasets.training import TrainingCorpus
from onym.train.collective.detector.config import DetectorDataConfig
from onym.train.collective.detector.corpora import labelled_corpora
from onym.types import Document, Mention


def _corpus(name: str, *types: str) -> TrainingCorpus:
    return TrainingCorpus(name, "", "", (Document("1", "flu", tuple(Mention(0, 3, "flu", (), each) for each in types)),), {})


def test_types_are_named_anew_and_left_out() -> None:
    config = DetectorDataConfig(datasets=("a", "b"), types={"SpecificDisease": "Disease", "Other": ""}, conventions=False)
    labels, (one, other) = labelled_corpora([_corpus("a", "SpecificDisease", "Other"), _corpus("b", "Disease", "Gene")], config)
    assert [label.type for label in labels] == ["Disease", "Gene"]
    assert (dict(one.columns), dict(other.columns)) == ({"Disease": 0}, {"Disease": 0, "Gene": 1})
    assert [mention.type for mention in one.documents[0].mentions] == ["Disease"]
