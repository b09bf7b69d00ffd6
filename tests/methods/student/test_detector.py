"""Tests of the student detector, with random weights or with weights that copy the marks of names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError, IntegrityError, OnymError
from onym.kb import KnowledgeBase
from onym.methods import detector_config, open_detector
from onym.methods.detector import Span, resolve_overlaps
from onym.methods.dictionary.classifier import SIZE, ClassifierSettings, write_classifier
from onym.methods.student.detector import StudentDetector, StudentDetectorConfig, Tagger, add_names, lift_short_forms
from onym.methods.student.name_bits import KINDS
from onym.methods.student.network import BITS, Student, StudentSettings, open_student, write_student
from onym.text.analysis import analyse
from onym.text.tokens import ROWS, WordTokens
from onym.types import Document

SETTINGS = StudentSettings(
    dim=4, width=8, layers=2, groups=("",), conventions={"one": ("Disease",), "two": ("Disease", "Gene")}
)
TEXTS = [
    "A heart attack, then fever. (HA) Heart attack (HA): no HA since.",
    "",
    " \n",
    "Fever",
    "The \u03b2-thalassaemia e\u0301 \U0001f9ec \u0130 of fever " * 30,
]
DOCUMENTS = [Document(str(number), text) for number, text in enumerate(TEXTS)]


def random_student(seed: int = 0, **changes: Any) -> Student:
    random = np.random.default_rng(seed)
    settings = SETTINGS.model_copy(update=changes)
    weights = {name: random.normal(size=shape) for name, shape in settings.shapes().items()}
    return Student.of(settings, random.normal(size=(ROWS, settings.dim)), weights)


def name_student() -> Student:
    """Return a student that tags names: the marks that a name begins, ends and is there decide the tag."""
    settings = StudentSettings(dim=4, width=8, layers=1, groups=("",), conventions={"one": ("Disease",)})
    weights = {name: np.zeros(shape) for name, shape in settings.shapes().items()}
    weights |= {name: np.ones(shape) for name, shape in settings.shapes().items() if name.endswith("-gain")}
    weights["bits"][:3, :3] = np.eye(3)
    weights["bits"][:, 7] = 0.01
    begins, ends, inside = np.eye(8)[:3] * 9
    weights["tags"] = np.stack([np.zeros(8), begins - ends, inside - begins - ends, ends - begins, begins + ends - inside], 1)
    weights["tags-bias"] = np.array([5.0, 0, 0, 0, 0])
    return Student.of(settings, np.zeros((ROWS, 4)), weights)


def spans_of(detector: Any, documents: list[Document]) -> list[list[tuple[int, int, str, float]]]:
    return [
        [(each.start, each.end, each.type, score) for each, score in zip(found.document.mentions, found.scores, strict=True)]
        for found in detector.detect(documents)
    ]


def test_kinds_of_marks() -> None:
    assert KINDS == BITS


def test_finds_mentions(tiny_kb: Path) -> None:
    detector = StudentDetector(name_student(), KnowledgeBase.open(tiny_kb))
    [found] = detector.detect([Document("1", "A heart attack, then Fever; feverish.")])
    assert [(each.surface, each.type) for each in found.document.mentions] == [
        ("heart attack", "Disease"),
        ("Fever", "Disease"),
    ]
    assert all(0.5 < score <= 1 for score in found.scores)


def test_a_defined_abbreviation_is_as_likely_as_its_long_form() -> None:
    doc = analyse(Document("1", "Heart attack (HA) and flu. HA may follow; so may HB."))
    long, short, again, other = Span(0, 12, 0.9), Span(14, 16, 0.2), Span(27, 29, 0.95), Span(49, 51, 0.1)
    assert lift_short_forms(doc, [long, short], [again, other]) == ([long, Span(14, 16, 0.9)], [again, other])


def test_same_answers_after_writing_and_opening(tiny_kb: Path, tmp_path: Path) -> None:
    student, kb = random_student(), KnowledgeBase.open(tiny_kb)
    write_student(student, {}, tmp_path / "s")
    again = open_student(tmp_path / "s")
    assert again.settings == student.settings
    expected = spans_of(StudentDetector(student, kb), DOCUMENTS)
    assert any(expected)
    assert spans_of(StudentDetector(again, kb), DOCUMENTS) == expected
    detector = open_detector(detector_config("student", model=str(tmp_path / "s")), kb)
    assert spans_of(detector, DOCUMENTS) == expected
    assert detector.config["model"] == again.digest


def test_answers_do_not_depend_on_the_batch(tiny_kb: Path) -> None:
    student, kb = random_student(width=32), KnowledgeBase.open(tiny_kb)
    together = spans_of(StudentDetector(student, kb), DOCUMENTS)
    for number, doc in enumerate(DOCUMENTS):
        assert spans_of(StudentDetector(student, kb), [doc]) == [together[number]]
    assert spans_of(StudentDetector(student, kb), DOCUMENTS[::-1]) == together[::-1]


def test_same_answers_with_onnx_runtime(tiny_kb: Path) -> None:
    pytest.importorskip("onnxruntime")
    kb = KnowledgeBase.open(tiny_kb)
    for seed in range(3):
        student = random_student(seed)
        by_engine = [
            spans_of(StudentDetector(student, kb, StudentDetectorConfig(engine=each)), DOCUMENTS) for each in ("numpy", "onnx")
        ]
        one, other = ([[span[:3] for span in spans] for spans in found] for found in by_engine)
        assert one == other
        own, others = ([span[3] for spans in found for span in spans] for found in by_engine)
        assert np.allclose(own, others, atol=1e-4)


def test_spans_do_not_overlap(tiny_kb: Path) -> None:
    for spans in Tagger(random_student(), KnowledgeBase.open(tiny_kb)).tag([analyse(doc) for doc in DOCUMENTS]).spans():
        assert len(resolve_overlaps(spans)) == len(spans)


def test_a_long_text_is_tagged_in_windows(tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = Tagger(name_student(), KnowledgeBase.open(tiny_kb))
    docs = [analyse(Document("1", "A heart attack (HA), then a fever. " * 100)), *map(analyse, DOCUMENTS)]
    whole = tagger.tag(docs)
    sizes: list[int] = []
    monkeypatch.setattr("onym.methods.student.detector._WINDOW", 200)
    network, logits = tagger._network, tagger._network.logits

    def note_size(words: Any, bits: Any, same: Any) -> Any:
        sizes.append(len(words))
        return logits(words, bits, same)

    monkeypatch.setattr(network, "logits", note_size)
    windowed = tagger.tag(docs)
    assert max(sizes) <= 200
    assert len(sizes) > len(docs) + 5
    assert windowed.spans() == whole.spans()
    assert np.array_equal(windowed.log_chances, whole.log_chances)


def test_conventions_and_types(tiny_kb: Path) -> None:
    student, kb = random_student(), KnowledgeBase.open(tiny_kb)

    def types(**options: Any) -> set[str]:
        found = spans_of(StudentDetector(student, kb, StudentDetectorConfig(**options)), DOCUMENTS)
        return {span[2] for spans in found for span in spans}

    assert types() == {"Disease", "Gene"}
    assert types(convention="one") == {"Disease"}
    assert types(types="Gene") == {"Gene"}
    assert types(convention="one", types="Gene") == {"Gene"}
    for wrong in ({"types": "Fish"}, {"convention": "three"}):
        with pytest.raises(ConfigError, match="config-invalid"):
            types(**wrong)


def test_threshold(tiny_kb: Path) -> None:
    student, kb = random_student(thresholds={"": 0.6}), KnowledgeBase.open(tiny_kb)
    tuned = spans_of(StudentDetector(student, kb), DOCUMENTS)
    every = spans_of(StudentDetector(student, kb, StudentDetectorConfig(threshold=0.0)), DOCUMENTS)
    assert tuned == [[span for span in spans if span[3] >= 0.6] for spans in every] != every


def test_rejections_below_the_threshold(tiny_kb: Path) -> None:
    student, kb = random_student(), KnowledgeBase.open(tiny_kb)
    found = StudentDetector(student, kb, StudentDetectorConfig(threshold=1.0)).find_rejections(DOCUMENTS[0])
    assert {each.reason for each in found} == {"below-threshold"}
    assert all(each.surface == TEXTS[0][each.start : each.end] for each in found)


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """Write a classifier that accepts every name."""
    write_classifier(
        np.zeros(SIZE, dtype=np.float32), ClassifierSettings(conventions={"one": 0.5}), {}, tmp_path / "classifier"
    )
    return tmp_path / "classifier"


def test_adds_names_with_a_classifier(tiny_kb: Path, tmp_path: Path, classifier: Path) -> None:
    student, kb = name_student(), KnowledgeBase.open(tiny_kb)
    write_student(student, {}, tmp_path / "s")
    options = {"model": str(tmp_path / "s"), "threshold": 1.0, "convention": "one"}
    alone = open_detector(detector_config("student", **options), kb)
    both = open_detector(detector_config("student", **options, classifier=str(classifier)), kb)
    assert spans_of(alone, DOCUMENTS[3:4]) == [[]]
    assert [span[:2] for span in spans_of(both, DOCUMENTS[3:4])[0]] == [(0, 5)]
    assert both.config["names"]["detector"] == "dictionary"


def test_options_of_names_need_a_classifier() -> None:
    with pytest.raises(ConfigError, match="no classifier of these names is given"):
        detector_config("student", model="m", min_length=2)
    assert detector_config("student", model="m", classifier="c", min_length=2).names.min_length == 2  # type: ignore[attr-defined]


def test_names_before_spans() -> None:
    assert add_names([], [Span(0, 5)]) == [Span(0, 5)]
    assert add_names([Span(0, 5, 0.99)], [Span(0, 9)]) == [Span(0, 9)]  # longer
    assert add_names([Span(0, 5, 0.99), Span(6, 9)], [Span(0, 9)]) == [Span(0, 9)]  # than both
    assert add_names([Span(0, 9, 0.95)], [Span(0, 5)]) == [Span(0, 9, 0.95)]  # shorter, but the span is sure
    assert add_names([Span(0, 9, 0.8)], [Span(0, 5), Span(6, 9)]) == [Span(0, 5), Span(6, 9)]
    assert add_names([Span(0, 9, 0.5)], [Span(5, 12)]) == [Span(0, 9, 0.5)]  # crossing
    assert add_names([Span(0, 9, 0.5, "a")], [Span(0, 9, 1.0, "b")]) == [Span(0, 9, 0.5, "a")]


@given(offsets=st.lists(st.integers(0, 40), max_size=16, unique=True), score=st.sampled_from([0.5, 0.95]))
def test_names_are_compared_with_all_spans_that_they_overlap(offsets: list[int], score: float) -> None:
    half = len(offsets) // 2
    spans, names = (
        [Span(start, end, score) for start, end in zip(each[::2], each[1::2], strict=False)]
        for each in (sorted(offsets[:half]), sorted(offsets[half:]))
    )
    kept = list(spans)
    for name in names:
        others = [span for span in spans if span.start < name.end and name.start < span.end]
        is_longer = all(span.length < name.length and name.start <= span.start and span.end <= name.end for span in others)
        is_inside = [score < 0.9 and each.start <= name.start and name.end <= each.end for each in others] == [True]
        if is_longer or (is_inside and name.length < others[0].length):
            kept = [*(span for span in kept if span not in others), name]
    assert add_names(spans, names) == sorted(kept, key=lambda span: span.start)


class FixedSpans:
    """Stands for the tagger and its answer for one text, and for the dictionary: each finds the same spans in any text."""

    def __init__(self, spans: list[Span]) -> None:
        self._spans = spans

    def tag(self, docs: list[Document]) -> FixedSpans:
        return self

    def spans(self) -> list[list[Span]]:
        return [self._spans]

    def score(self, names: list[list[Span]]) -> list[float]:
        return [0.9 for each in names for _ in each]

    def find_spans(self, docs: list[Document]) -> list[list[Span]]:
        return [self._spans for _ in docs]

    def find_rejections(self, document: Document) -> list[Any]:
        return []


def test_rejects_a_name_across_spans_that_other_names_replace(tiny_kb: Path) -> None:
    names: Any = FixedSpans([Span(0, 3, 0.9), Span(8, 12, 0.9), Span(15, 18, 0.9)])
    detector = StudentDetector(name_student(), KnowledgeBase.open(tiny_kb), names=names)
    detector._tagger = FixedSpans([Span(0, 10, 0.5), Span(10, 20, 0.5)])  # type: ignore[assignment]
    text = "abcdefghijklmnopqrstuvwxyz"
    found = {(each.start, each.end): each.detail for each in detector.find_rejections(Document("1", text))}
    assert found[8, 12] == "overlapped by 'abcdefghij'"
    assert found[0, 10] == "overlapped by 'abc'"


def test_punctuation_alone_is_no_mention(tiny_kb: Path) -> None:
    detector = StudentDetector(name_student(), KnowledgeBase.open(tiny_kb))
    detector._tagger = FixedSpans([Span(0, 4, 1.0), Span(4, 9, 1.0)])  # type: ignore[assignment]
    doc = Document("1", "((((fever")
    assert [each[:2] for each in spans_of(detector, [doc])[0]] == [(4, 9)]
    assert detector.find_rejections(doc) == []


def test_vectors_of_words_with_many_n_grams(monkeypatch: pytest.MonkeyPatch) -> None:
    student = random_student()
    tokens = WordTokens(["a " + "fever" * 9 + " b . cough " + "pain" * 20])
    features = tokens.features(np.arange(len(tokens.fingerprints)))
    expected = student.embed(features)
    monkeypatch.setattr("onym.methods.student.network._GRAMS_AT_ONCE", 7)
    assert np.allclose(student.embed(features), expected, atol=1e-5)
    for word in range(len(expected)):  # a vector does not depend on the other words
        alone = student.embed(tokens.features(np.array([word])))
        assert (alone[0] == student.embed(features)[word]).all()


def test_needs_a_model(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        open_detector("student", KnowledgeBase.open(tiny_kb))


def spoil(folder: Path, change: Any) -> None:
    """Change the manifest's configuration or arrays of a student, and publish it again."""
    student = random_student()
    table, weights, settings = student.table, dict(student.weights), student.settings
    weights, settings, table = change(weights, settings, table)
    write_student(Student(settings, table, student.scales, weights), {}, folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda weights, settings, table: (weights | {"bits": weights["bits"] * np.nan}, settings, table),
        lambda weights, settings, table: (weights | {"tags": weights["tags"][:-1]}, settings, table),
        lambda weights, settings, table: ({k: v for k, v in weights.items() if k != "pool"}, settings, table),
        lambda weights, settings, table: (weights, settings, table[:-1]),
        lambda weights, settings, table: (weights, settings.model_copy(update={"width": 16}), table),
        lambda weights, settings, table: (weights, settings.model_copy(update={"layers": 3}), table),
        lambda weights, settings, table: (weights, settings.model_copy(update={"layers": -1}), table),
        lambda weights, settings, table: (weights, settings.model_copy(update={"groups": ("a", "b")}), table),
        lambda weights, settings, table: (weights, settings.model_copy(update={"conventions": {}}), table),
        lambda weights, settings, table: (weights, settings.model_copy(update={"thresholds": {"": 1.5}}), table),
        lambda weights, settings, table: (weights, settings.model_copy(update={"thresholds": {"one": -0.5}}), table),
    ],
)
def test_rejects_damaged_weights(tmp_path: Path, change: Any) -> None:
    spoil(tmp_path / "s", change)
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_student(tmp_path / "s")


def test_largest_weights_do_not_overflow(tiny_kb: Path) -> None:
    student, largest = random_student(), float(np.finfo(np.float16).max)
    weights = {name: np.sign(values) * np.float32(largest) for name, values in student.weights.items()}
    scales = np.full_like(student.scales, largest)
    detector = StudentDetector(Student(student.settings, student.table, scales, weights), KnowledgeBase.open(tiny_kb))
    assert not any(found.problems for found in detector.detect(DOCUMENTS))


def test_rejects_other_folders(tmp_path: Path) -> None:
    with pytest.raises(OnymError, match="artefact-missing"):
        open_student(tmp_path)
    write_student(random_student(), {}, tmp_path / "s")
    [manifest] = (tmp_path / "s" / "student").glob("*/manifest.json")
    manifest.write_bytes(json.dumps({"kind": "student-detector"}).encode())
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_student(tmp_path / "s")
