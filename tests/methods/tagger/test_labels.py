"""Tests of the type selection of trained detectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb.ranking import concepts_of_types
from onym.methods.collective.model import Collective
from onym.methods.collective.settings import CollectiveSettings, Label
from onym.methods.tagger import detector as model_part
from onym.methods.tagger.detector import ModelDetectorConfig, detector_of
from onym.methods.tagger.spans import select_types
from onym.parts import ModelReference, OpenContext
from onym.types import Document
from tests.methods.dictionary.made_kb import make_kb
from tests.support.models import save_collective

LABELS = (
    Label(type="Disease", corpus="one", threshold=0.0),
    Label(type="Disease", corpus="two", threshold=0.2),
    Label(type="Gene", corpus="two", threshold=0.0),
)
DOC = Document("1", "Fever, then a heart attack.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_collective(tmp_path / "m", labels=LABELS, hidden=4, links=False)


def test_rejects_unknown_types_and_conventions() -> None:
    settings = CollectiveSettings(labels=LABELS)
    with pytest.raises(ConfigError, match="cannot find mentions of type 'Species'"):
        select_types(settings, ["Species"])
    with pytest.raises(ConfigError, match="was not trained on 'three'"):
        select_types(settings, convention="three")
    with pytest.raises(ConfigError, match="no types"):
        select_types(CollectiveSettings(), ["Gene"])


def test_threshold_applies_to_all_types() -> None:
    assert {each.threshold for each in select_types(CollectiveSettings(labels=LABELS), threshold=0.7)} == {0.7}
    assert select_types(CollectiveSettings(threshold=0.3))[0].threshold == 0.3


def test_mentions_have_the_wanted_types(folder: Path) -> None:
    model = Collective.open(folder)
    for types in ("Disease", "Gene", "Gene, Disease"):
        detector = detector_of(model, ModelDetectorConfig(types=types, threshold=0.0))
        (found,) = detector.detect([DOC])
        assert {mention.type for mention in found.document.mentions} <= set(types.split(", "))
        assert [each["type"] for each in detector.config["types"]] == sorted(types.split(", "))
        assert found.document.mentions


def test_a_probability_is_the_mean_of_the_conventions(folder: Path) -> None:
    model = Collective.open(folder)

    def scores(convention: str) -> dict[tuple[int, int], float]:
        config = ModelDetectorConfig(types="Disease", convention=convention, threshold=0.0, nested=True)
        (found,) = detector_of(model, config).detect([DOC])
        offsets = [(mention.start, mention.end) for mention in found.document.mentions]
        return dict(zip(offsets, found.scores, strict=True))

    both, one, two = scores(""), scores("one"), scores("two")
    shared = both.keys() & one.keys() & two.keys()
    assert shared
    assert all(both[span] == pytest.approx((one[span] + two[span]) / 2, abs=1e-6) for span in shared)


def test_types_default_to_those_of_the_wanted_concepts(folder: Path, tmp_path: Path) -> None:
    rows = "mesh:D1\tfever\tpyrexia\tC23\nmesh:D2\tiron\t\tD01\n"
    kb, config = make_kb(tmp_path, rows, groups=True), ModelDetectorConfig(model=ModelReference(path=str(folder)))
    unrestricted = model_part.open(config, kb, OpenContext())
    assert [each["type"] for each in unrestricted.config["types"]] == ["Disease", "Gene"]
    diseases = model_part.open(config, kb, OpenContext(), only=concepts_of_types(kb, ["Disease"]))
    assert [each["type"] for each in diseases.config["types"]] == ["Disease"]
    # The model has no type for chemicals, so all types are used.
    chemicals = model_part.open(config, kb, OpenContext(), only=concepts_of_types(kb, ["Chemical"]))
    assert [each["type"] for each in chemicals.config["types"]] == ["Disease", "Gene"]
