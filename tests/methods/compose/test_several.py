"""Tests of several detectors as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types
from onym.methods import detector_config, linker_config, open_detector
from onym.methods.compose.several import OverlapRule, SeveralDetector, SeveralDetectorConfig
from onym.methods.detector import Detected, Rejection, Span, detect_batches
from onym.methods.dictionary.detector import DictionaryDetectorConfig
from onym.methods.student.detector import StudentDetectorConfig
from onym.parts import ModelReference
from onym.pipeline.config import PipelineConfig, find_plug_ins
from onym.pipeline.folder import build_pipeline, describe, read_folder
from onym.types import Document, Problem

DOC = Document("1", "familial breast cancer gene")


class Says:
    """A detector that finds the same spans in every document, or fails on documents with a given id."""

    def __init__(self, *spans: Span, fails: str = "", rejections: tuple[Rejection, ...] = ()) -> None:
        self._spans, self._fails, self._rejections = spans, fails, rejections
        self.config: dict[str, Any] = {"detector": "says", "spans": len(spans)}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        for doc, found in zip(
            kept := list(documents), detect_batches(kept, lambda docs: [self._spans for _ in docs]), strict=True
        ):
            is_failed = doc.id == self._fails
            yield Detected(replace(doc, mentions=()), problems=(Problem(doc.id, "made", "made"),)) if is_failed else found

    def find_rejections(self, document: Document) -> list[Rejection]:
        return list(self._rejections)


def mentions(*parts: Says, overlaps: OverlapRule = "longest", nested: bool = False) -> list[tuple[str, str, float]]:
    (found,) = SeveralDetector(parts, overlaps=overlaps, nested=nested).detect([DOC])
    return [(each.surface, each.type, score) for each, score in zip(found.document.mentions, found.scores, strict=True)]


BREAST = Says(Span(9, 22, 0.2, "Disease"))
GENE = Says(Span(9, 27, 0.1, "Gene"), Span(0, 8, 0.9, "Gene"))
SAME = Says(Span(9, 22, 0.99, "Cell"))


def test_keeps_the_mentions_of_all_detectors_in_order_of_offset() -> None:
    assert mentions(BREAST, Says(Span(0, 8, 0.5, "Word"))) == [("familial", "Word", 0.5), ("breast cancer", "Disease", 0.2)]


def test_the_longer_mention_is_kept_whatever_the_scores() -> None:
    assert mentions(BREAST, GENE) == mentions(GENE, BREAST) == [("familial", "Gene", 0.9), ("breast cancer gene", "Gene", 0.1)]


def test_between_mentions_of_one_length_the_first_detector_decides() -> None:
    assert mentions(BREAST, SAME) == [("breast cancer", "Disease", 0.2)]
    assert mentions(SAME, BREAST) == [("breast cancer", "Cell", 0.99)]


def test_the_first_detector_may_come_first_always() -> None:
    assert mentions(BREAST, GENE, overlaps="first") == [("familial", "Gene", 0.9), ("breast cancer", "Disease", 0.2)]


def test_nested_mentions_are_kept_on_request() -> None:
    assert [each[0] for each in mentions(BREAST, GENE, nested=True)] == ["familial", "breast cancer", "breast cancer gene"]


def test_a_document_in_which_one_detector_fails_has_its_problem_and_others_have_their_mentions() -> None:
    detector = SeveralDetector([BREAST, Says(Span(0, 8), fails="2")])
    found = list(detector.detect(replace(DOC, id=str(number)) for number in range(1, 200)))
    assert [each.document.id for each in found if each.problems] == ["2"]
    assert [len(each.document.mentions) for each in found] == [2, 0, *[2] * 197]


def test_rejections_of_all_detectors_and_overlaps() -> None:
    short = Rejection(23, 27, "gene", "too-short", "the name is too short")
    taken = Rejection(9, 27, "breast cancer gene", "filtered", "not wanted")
    found = SeveralDetector([BREAST, GENE, Says(rejections=(short, taken))]).find_rejections(DOC)
    assert [(each.surface, each.reason) for each in found] == [("breast cancer", "overlapped"), ("gene", "too-short")]
    assert found[0].detail == "overlapped by the mention 'breast cancer gene'"


def test_no_rejections_in_a_document_in_which_one_detector_fails() -> None:
    detector = SeveralDetector([BREAST, Says(Span(0, 8), fails="2")])
    assert detector.find_rejections(replace(DOC, id="2")) == []


def test_config_has_those_of_the_parts() -> None:
    assert SeveralDetector([BREAST, GENE], overlaps="first").config == {
        "detector": "several",
        "parts": [{"detector": "says", "spans": 1}, {"detector": "says", "spans": 2}],
        "overlaps": "first",
        "nested": False,
    }


def test_options_belong_to_each_part_that_has_them() -> None:
    config = detector_config("dictionary, student", min_length=2, classifier="c", engine="onnx", overlaps="first")
    names = DictionaryDetectorConfig(min_length=2, classifier=ModelReference(path="c"))
    assert config == SeveralDetectorConfig(parts=(names, StudentDetectorConfig(engine="onnx", names=names)), overlaps="first")
    with pytest.raises(ConfigError, match="dtype is not an option of dictionary or student"):
        detector_config("dictionary,student", dtype="fp32")
    with pytest.raises(ConfigError, match="part-unknown"):
        detector_config("dictionary,oracle")
    for options in ({}, {"parts": " , "}):
        with pytest.raises(ConfigError, match="has no detectors"):
            detector_config("several", **options)


def test_opens_its_parts_for_the_same_concepts(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    detector = open_detector(detector_config("dictionary,dictionary", min_length=2), kb, only=concepts_of_types(kb, ["C14"]))
    assert [part["concepts_allowed"] for part in detector.config["parts"]] == [2, 2]
    assert [each.document.mentions[0].surface for each in detector.detect([Document("1", "Fever after MI.")])] == ["MI"]


@pytest.mark.parametrize("parts", [[], [{"kind": "oracle"}], [{"kind": "dictionary", "dtype": "fp32"}], [{"kind": "exact"}]])
def test_rejects_missing_unknown_and_invalid_parts(parts: list[Any]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        SeveralDetectorConfig.of({"parts": parts})


def test_in_a_pipeline(tiny_kb: Path, tmp_path: Path) -> None:
    config = SeveralDetectorConfig(parts=(DictionaryDetectorConfig(types="C14"), DictionaryDetectorConfig(min_length=2)))
    built = build_pipeline(tiny_kb, tmp_path / "pipeline", detector=config)
    assert [link.mention.surface for link in built.link("Fever after MI.").links] == ["Fever", "MI"]
    stored = read_folder(tmp_path / "pipeline")
    assert stored.detector == config
    assert PipelineConfig.model_validate_json(stored.model_dump_json()) == stored
    shown = dict(describe(stored))
    assert shown["detector parts"] == "dictionary, dictionary"
    assert (shown["detector dictionary types"], shown["detector dictionary min_length"]) == ("C14", "2")


def test_models_and_plug_ins_of_parts_belong_to_the_pipeline() -> None:
    config = detector_config("dictionary,student", model="folder", classifier="c")
    pipeline = PipelineConfig.of(
        {"onym": "1", "kb": {"path": "kb", "digest": "a"}, "detector": config, "linker": {"kind": "exact"}}
    )
    assert {each.path for each in pipeline.references()} == {"folder", "c"}
    moved = pipeline.with_references(lambda each: each.model_copy(update={"digest": "d"}))
    assert {(each.path, each.digest) for each in moved.references()} == {("folder", "d"), ("c", "d")}
    assert find_plug_ins(linker_config("exact"), config) == ()
