"""Tests of training the classifier that decides which dictionary matches are mentions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.datasets import prepare
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.methods.detector import Span
from onym.methods.dictionary.classifier import SIZE, ClassifierSettings, MentionClassifier, open_classifier, row_of
from onym.methods.dictionary.detector import DictionaryDetector
from onym.train.configs import MentionsTrainingConfig, RegressionConfig
from onym.train.dictionary.trainer import MentionsContext, Occurrences, fit_weights, occurrences_of, tune_thresholds
from onym.train.run import train
from onym.types import Document
from tests.train.tiny import FEVER, HEART, pubtator

TYPES = ("SpecificDisease", "Disease", "Modifier", "DiseaseClass")
SPLITS: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {
    "train": [
        ("A fever was seen.", [("fever", FEVER)]),
        ("A heart attack was seen.", [("heart attack", HEART)]),
        ("The team ran to fever pitch.", []),
        ("They came to fever pitch.", []),
        ("A fever was treated.", [("fever", FEVER)]),
    ],
    "dev": [("A fever was seen, close to fever pitch.", [("fever", FEVER)])],
    "test": [("A fever.", [("fever", FEVER)])],
}


def config(corpus: Path, kb: Path, **more: dict[str, Any]) -> MentionsTrainingConfig:
    """Return a configuration; `more` overrides keys by table."""
    tables: dict[str, dict[str, Any]] = {
        "data": {"datasets": [str(corpus)], "kb": str(kb), "types": dict.fromkeys(TYPES, "Disease")},
        "dictionary": {},
        "regression": {"strength": 10.0},
        "dev": {},
    }
    return MentionsTrainingConfig.of({name: table | more.get(name, {}) for name, table in tables.items()})


@pytest.fixture(scope="package")
def ambiguous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepare the corpus in `SPLITS`, and return the folder of the dataset."""
    folder = tmp_path_factory.mktemp("mentions")
    (folder / "ncbi_disease").mkdir()
    for split, word in (("train", "train"), ("dev", "develop"), ("test", "test")):
        (folder / "ncbi_disease" / f"NCBI{word}set_corpus.txt").write_text(pubtator(split, SPLITS[split]))
    return prepare("ncbi-disease", folder, folder / "prepared").folder


def test_rejects_datasets_that_may_not_be_redistributed(kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="dataset-not-shippable"):
        _ = MentionsContext(config(Path("hpo-gsc"), kb_folder)).datasets


def test_rejects_dictionary_with_classifier(ambiguous: Path, kb_folder: Path) -> None:
    context = MentionsContext(config(ambiguous, kb_folder, dictionary={"classifier": "c"}))
    with pytest.raises(ConfigError, match="already has a classifier"):
        _ = context.dictionary


def test_restricts_dictionary_to_given_types(ambiguous: Path, kb_folder: Path) -> None:
    context = MentionsContext(config(ambiguous, kb_folder, data={"only": ["C14"]}))
    assert context.types_by_corpus == {"ncbi-disease": frozenset()}


def test_match_is_positive_if_annotated(ambiguous: Path, kb_folder: Path) -> None:
    context = MentionsContext(config(ambiguous, kb_folder))
    found = occurrences_of(context, "ncbi-disease", context.corpora[0].documents, "one")
    spans = [
        (text[span.start : span.end], bool(is_mention))
        for (text, span, _), is_mention in zip(found.documents, found.is_mention, strict=True)
    ]
    wanted = [("fever", False), ("fever", False), ("fever", True), ("fever", True), ("heart attack", True)]
    assert sorted(spans) == wanted
    assert sum(row_of("name=fever|one") in rows for rows in found.rows) == 4
    assert found.gold == 3


def test_ignores_types_that_a_corpus_does_not_annotate(ambiguous: Path, kb_folder: Path) -> None:
    context = MentionsContext(config(ambiguous, kb_folder, data={"types": dict.fromkeys(TYPES, "Phenotype")}))
    assert not occurrences_of(context, "ncbi-disease", context.corpora[0].documents, "").documents


def test_groups_that_an_annotated_group_includes(ambiguous: Path, kb_folder: Path) -> None:
    types = dict.fromkeys(TYPES, "Symptom")
    context = MentionsContext(config(ambiguous, kb_folder, data={"types": types, "alike": {"Disease": "Symptom"}}))
    found = occurrences_of(context, "ncbi-disease", context.corpora[0].documents, "")
    assert found.is_mention.tolist().count(False) == 2
    kept = found.without_negatives(context.config.data.alike)
    assert kept.is_mention.all()
    assert len(kept.documents) == len(kept.rows) == 3
    assert len(found.without_negatives(()).documents) == 5


def _part(rows: list[list[int]], *marks: bool) -> Occurrences:
    return Occurrences([], rows, np.array(marks, dtype=bool), 1)


def test_feature_of_mentions_has_positive_weight() -> None:
    weights = fit_weights([_part([[1, 2], [1, 3]], True, False), _part([[2], [3]], True, False)], RegressionConfig())
    assert weights[2] > 0 > weights[3]
    assert not weights[5]


@pytest.mark.parametrize("marks", [(True, True), (False, False)])
def test_rejects_matches_that_are_all_or_no_mentions(marks: tuple[bool, bool]) -> None:
    with pytest.raises(InputError, match="training-empty"):
        fit_weights([_part([[1], [2]], *marks)], RegressionConfig())


def test_tunes_general_and_convention_thresholds() -> None:
    weights = np.zeros(SIZE, dtype=np.float32)
    weights[row_of("before=to")], weights[row_of("|one")] = -2.0, 1.5
    found = Occurrences([("to fever", Span(3, 8), ()), ("a fever", Span(2, 7), ())], [[], []], np.array([False, True]), 1)
    settings, figures = tune_thresholds(MentionClassifier(weights, ClassifierSettings()), {"one": found})
    assert figures["one"] == {"f1_without": 66.7, "f1": 100.0, "f1_by_convention": 100.0}
    assert 0.1 < settings.threshold <= 0.5
    assert 0.35 < settings.conventions["one"] <= 0.85


def test_trained_classifier_opens(tmp_path: Path, ambiguous: Path, kb_folder: Path) -> None:
    settings = config(ambiguous, kb_folder)
    made, again = (train(settings, tmp_path / name) for name in ("made", "again"))
    record = json.loads((made / "training.json").read_text())
    (figures,) = record["metrics"]["dev"].values()
    assert figures["f1"] == 100.0 > figures["f1_without"]
    assert "A classifier of dictionary matches" in (made / "README.md").read_text()
    one, other = open_classifier(made), open_classifier(again)
    assert one._weights == other._weights
    assert one.threshold("ncbi-disease") == record["thresholds"]["conventions"]["ncbi-disease"]
    detector = DictionaryDetector(KnowledgeBase.open(kb_folder), classifier=one)
    (found,) = detector.detect([Document("1", "It rose to fever pitch. A fever was seen.")])
    assert [mention.start for mention in found.document.mentions] == [26]


def test_threshold_is_one_half_without_dev(tmp_path: Path, ambiguous: Path, kb_folder: Path) -> None:
    made = train(config(ambiguous, kb_folder, dev={"split": "none"}), tmp_path / "made")
    assert open_classifier(made).settings.threshold == 0.5
