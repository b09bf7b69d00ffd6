"""Tests of plotting the names of concepts with one panel per encoder."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.evaluate.names import NameChoice, choose_names, draw_names, format_of, sample_concepts, share_together, titles
from onym.kb import KnowledgeBase
from onym.models.torch_encoder import Encoder


@pytest.fixture(scope="module")
def choice(families: KnowledgeBase) -> NameChoice:
    return choose_names(families, sample_concepts(families, 4))


def test_one_panel_per_model(choice: NameChoice, models: tuple[str, str]) -> None:
    seen: list[tuple[str, int]] = []
    picture = draw_names(choice, models, progress=lambda what, names: seen.append((what, names)))
    assert picture.data.startswith(b"\x89PNG")
    assert [config["model"] for config, _ in picture.shares] == ["before", "after"]
    assert [config["precision"] for config, _ in picture.shares] == ["float32"] * 2
    for folder, (_, share) in zip(models, picture.shares, strict=True):
        vectors = Encoder.open(folder, precision="fp32").encode(choice.names)
        assert share == share_together(vectors, choice.owners)
    assert {("before", 24), ("after", 24)} <= set(seen)


def test_output_is_deterministic(choice: NameChoice, models: tuple[str, str]) -> None:
    drawn = [draw_names(choice, models[:1], "svg").data for _ in range(2)]
    assert drawn[0] == drawn[1] != draw_names(choice, models[1:], "svg").data


@pytest.mark.parametrize("count", [0, 4])
def test_rejects_too_few_or_too_many_models(choice: NameChoice, models: tuple[str, str], count: int) -> None:
    with pytest.raises(ConfigError, match="cannot plot .* models side by side") as caught:
        draw_names(choice, [models[0]] * count)
    assert caught.value.code == "config-invalid"


def test_missing_model(choice: NameChoice, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        draw_names(choice, [str(tmp_path / "none")])
    assert caught.value.code == "model-missing"


def test_missing_torch_error_names_the_extra(
    choice: NameChoice, models: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onym.models.torch_encoder", None)
    with pytest.raises(ConfigError) as caught:
        draw_names(choice, models)
    assert caught.value.code == "extra-missing"
    assert "onym[models]" in caught.value.fix


def test_titles_distinguish_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/model", "b/model", "c"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "c")
    assert titles([str(tmp_path / "a" / "model"), "."]) == ["model", "c"]
    assert titles(["../a/model", "../b/model/"]) == ["a/model", "b/model"]
    assert titles(["org/name", "."]) == ["org/name", "c"]
    assert len(set(titles([".", "."]))) == 1


def test_format_by_file_extension() -> None:
    assert [format_of(Path(name)) for name in ("a.svg", "b.PNG")] == ["svg", "png"]
    with pytest.raises(ConfigError) as caught:
        format_of(Path("names.gif"))
    assert caught.value.code == "config-invalid"


def test_names_without_tokens_are_plotted(choice: NameChoice, models: tuple[str, str], tmp_path: Path) -> None:
    folder = shutil.copytree(models[0], tmp_path / "copy")
    silent = NameChoice((0, 1), ("One", "Two"), ("", "fever", "gout", "measles", "stroke"), np.array([0, 0, 0, 1, 1]))
    assert draw_names(silent, [str(folder)]).data.startswith(b"\x89PNG")
