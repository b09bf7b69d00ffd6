"""Tests of training a student detector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.datasets.own import prepare_own
from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.methods import detector_config, open_detector
from onym.methods.detector import Span
from onym.methods.student.network import Floats, Network, NumpyNetwork, Student, StudentSettings, WordVectors, open_student
from onym.text.tokens import WordTokens
from onym.train.configs import StudentTrainingConfig
from onym.train.run import train
from onym.train.student.tagged import TaggedDocuments, TaggedSample
from onym.train.student.trainer import StudentContext
from onym.types import Document
from tests.train.tiny import FEVER, HEART, pubtator

SMALL: dict[str, Any] = {"dim": 8, "width": 16, "layers": 2}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus in which `attack` is a mention in one context only."""
    folder = tmp_path_factory.mktemp("student")
    rows: list[tuple[str, list[tuple[str, str]]]] = []
    for n in range(20):
        rows.append((f"Case {n} had a severe flushing of the head.", [("severe flushing", FEVER)]))
        rows.append((f"A heart attack was seen in case {n}.", [("heart attack", HEART)]))
        rows.append((f"The crowd of {n} men was severe.", []))
    (folder / "mine.pubtator").write_text(pubtator("train", rows))
    return prepare_own("mine", [folder / "mine.pubtator"], folder / "mine", shares=(0.6, 0.3, 0.1)).folder


def config(corpus: Path, kb: Path, **more: dict[str, Any]) -> StudentTrainingConfig:
    data = {"datasets": [str(corpus)], "kb": str(kb)} | more.pop("data", {})
    optim = {
        "epochs": 30,
        "min_steps": 0,
        "batch_size": 4,
        "learning_rate": 5e-3,
        "warmup_steps": 10,
        "average": 0.9,
    } | more.pop("optim", {})
    return StudentTrainingConfig.of({"data": data, "network": SMALL, "optim": optim, **more})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, corpus: Path, kb_folder: Path) -> Path:
    return train(config(corpus, kb_folder), tmp_path_factory.mktemp("trained") / "model")


def test_finds_what_it_has_learned(model: Path, kb_folder: Path) -> None:
    detector = open_detector(detector_config("student", model=str(model)), KnowledgeBase.open(kb_folder))
    [found] = detector.detect([Document("1", "Case 77 had a severe flushing of the head, and a heart attack was seen.")])
    assert [mention.surface for mention in found.document.mentions] == ["severe flushing", "heart attack"]


def test_writes_a_record_and_a_card(model: Path) -> None:
    record = json.loads((model / "training.json").read_bytes())
    assert record["stage"] == "student"
    assert record["metrics"]["dev"]["mine"]["f1"] > 90
    assert set(record["thresholds"]) == {"", "mine"}
    assert "--detector student" in (model / "README.md").read_text()
    assert not list(model.rglob("*.pkl"))


def test_same_configuration_gives_same_weights(tmp_path: Path, corpus: Path, kb_folder: Path) -> None:
    digests = set()
    for name in ("one", "two"):
        train(config(corpus, kb_folder, optim={"epochs": 2}), tmp_path / name)
        digests.add(_weights(open_student(tmp_path / name)))
    assert len(digests) == 1


def _weights(student: Student) -> bytes:
    return student.table.tobytes() + b"".join(values.tobytes() for values in student.weights.values())


def test_refuses_corpora_without_mentions(corpus: Path, kb_folder: Path) -> None:
    context = StudentContext(config(corpus, kb_folder, data={"types": {"Disease": ""}}))
    with pytest.raises(InputError, match="training-empty"):
        _ = context.settings


def test_no_threshold_for_a_corpus_of_which_nothing_was_learned(tmp_path: Path, corpus: Path, kb_folder: Path) -> None:
    rows = [(f"Other case {n} had fever.", [("fever", FEVER)]) for n in range(40)]
    (tmp_path / "other.pubtator").write_text(pubtator("dev", rows))
    other = prepare_own("other", [tmp_path / "other.pubtator"], tmp_path / "other", shares=(0.4, 0.3, 0.3)).folder
    both = StudentContext(config(corpus, kb_folder, data={"datasets": [str(corpus), str(other)]}))
    assert set(both.dev()) == {"mine", "other"}
    learned = StudentSettings(groups=("",), conventions={"mine": ("Disease",)}, **SMALL)
    both.__dict__["settings"] = learned  # as if all training documents of the other corpus were held out
    assert set(both.dev()) == {"mine"}


def test_targets_are_tags_and_teachers_probabilities(kb_folder: Path) -> None:
    settings = StudentSettings(groups=("",), conventions={"one": ("Disease",), "two": ("Disease", "Gene")}, **SMALL)
    samples = [
        TaggedSample("High fever here", "one", (Span(0, 10, type="Disease"), Span(5, 7, type="Disease"))),
        TaggedSample("p53 up", "two", (Span(0, 3, 0.75, "Gene"),)),
        TaggedSample("fever", "one", ()),
    ]
    batch = TaggedDocuments(samples, settings, KnowledgeBase.open(kb_folder)).batch([0, 1, 2])
    assert batch.is_token[:, 0].tolist() == [1, 1, 1, 0, 1, 1, 0, 1, 0]
    at, chances = batch.targets["one"]
    assert at.tolist() == [0, 1, 2, 7]
    assert chances.argmax(axis=1).tolist() == [1, 3, 0, 0]
    at, chances = batch.targets["two"]
    assert at.tolist() == [4, 5]
    assert chances[0].tolist() == [0.25, 0, 0, 0, 0, 0, 0, 0, 0.75]


def test_numpy_computes_what_torch_trains(kb_folder: Path) -> None:
    torch = pytest.importorskip("torch")
    from onym.train.student.network import StudentModule, _tensors

    settings = StudentSettings(groups=("",), conventions={"one": ("Disease",), "two": ("Disease", "Gene")}, **SMALL)
    texts = ["High fever, and high fever again.", "A heart attack", "fever"]
    samples = [TaggedSample(text, "one", ()) for text in texts]
    documents = TaggedDocuments(samples, settings, KnowledgeBase.open(kb_folder))
    module = StudentModule(settings, StudentTrainingConfig.of({"data": {"datasets": ["d"], "kb": "k"}}).optim).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
        batch = documents.batch([0, 1, 2])
        expected = module.logits(_tensors(batch)).numpy()[batch.is_token[:, 0] > 0]
    student = module.student({})
    exact = Student(settings, student.table, student.scales, {n: p.detach().numpy() for n, p in module.weights.items()})
    exact.weights["tags"] += module.shared.detach().numpy()[:, module.shared_columns.numpy()]
    network: Network = NumpyNetwork(exact, (exact.weights["tags"], exact.weights["tags-bias"]))
    tokens = WordTokens(texts)
    vectors = WordVectors(exact).of(tokens, np.arange(len(tokens.fingerprints)))
    found: list[Floats] = []
    for start, end in zip(tokens.bounds[:-1], tokens.bounds[1:], strict=True):
        words = tokens.words[start:end]
        at = np.flatnonzero(batch.owners == len(found))[:-1]
        found.append(network.logits(vectors[words], batch.marks[at].astype(np.uint8), np.unique(words, return_inverse=True)[1]))
    assert np.abs(np.concatenate(found) - expected).max() < 0.05  # the table is rounded to int8
