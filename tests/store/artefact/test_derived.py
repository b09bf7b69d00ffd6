"""Artefacts beside others: built once, opened ever after. What each room keeps there has tests of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError, IntegrityError
from onym.store.artefact import derived as beside
from onym.store.artefact.reader import Artefact, Record, Stage, staging
from onym.store.artefact.verified import cache_folder


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))


class Builder:
    """Counts what it builds."""

    def __init__(self, folder: Path) -> None:
        self.places = beside.places_of(folder, "numbers", ["one", "two"])
        self.built = 0

    def build(self, stage: Stage, dest: Path) -> None:
        self.built += 1
        stage.write_array("values", np.arange(3, dtype=np.uint8))
        stage.publish(dest, "numbers", 1, Record({}, [], {}))

    def kept(self) -> Path:
        return beside.kept(self.places, lambda place: Artefact.open(place, "numbers", 1), self.build)


def test_it_is_built_once(tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    assert builder.kept() == builder.kept() == builder.places[0]
    assert builder.built == 1
    assert builder.places[0].parent == tmp_path / "numbers"


def test_a_torn_one_is_built_again(tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    path = next(builder.kept().glob("*/values.npy"))
    path.write_bytes(path.read_bytes()[:-1])
    Artefact.open(builder.kept(), "numbers", 1)
    assert builder.built == 2


def test_where_the_folder_cannot_be_written_the_cache_has_it(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_text("no folder")
    builder = Builder(tmp_path)
    assert builder.kept() == builder.kept() == builder.places[1]
    assert builder.places[1].parent == cache_folder() / "numbers"
    assert builder.built == 1


def test_where_nothing_can_be_written_that_is_told(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "cache"):
        place.mkdir(exist_ok=True)
        (place / "numbers").write_text("no folder")
    with pytest.raises(ConfigError, match="output-failed"):
        Builder(tmp_path).kept()


def test_who_comes_second_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "WAIT", 0.01)
    builder, looks = Builder(tmp_path), 0
    held = staging(builder.places[0])
    held.__enter__()

    def waiting() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            held.__exit__(None, None, None)

    beside.kept(builder.places, lambda place: Artefact.open(place, "numbers", 1), builder.build, waiting=waiting)
    assert (looks, builder.built) == (2, 1)


def test_other_things_have_other_places(tmp_path: Path) -> None:
    made_of = (["one", "two"], ["onetwo"], ["one", "two", ""])
    assert len({beside.places_of(tmp_path, "numbers", each)[0] for each in made_of}) == 3


def test_all_that_is_there(tmp_path: Path) -> None:
    own = Builder(tmp_path).kept()
    (tmp_path / "cache" / "numbers" / "torn").mkdir(parents=True)
    (tmp_path / "cache" / "numbers" / "torn" / "CURRENT").write_text("nothing")
    (tmp_path / "cache" / "numbers" / "good").mkdir()
    (tmp_path / "cache" / "numbers" / "good" / "CURRENT").write_text("nothing")

    def is_own(place: Path) -> bool:
        if place.name == "torn":
            raise IntegrityError("artefact-torn", "torn")
        return True

    assert beside.all_beside(tmp_path, "numbers", is_own) == [own, tmp_path / "cache" / "numbers" / "good"]
    assert beside.all_beside(tmp_path, "numbers", lambda _: False) == [own]


def test_what_is_told_of_one_and_of_all_beside_another(tmp_path: Path) -> None:
    builder = Builder(tmp_path / "other")
    kept = builder.kept()
    with staging(tmp_path / "other2") as stage:
        stage.publish(tmp_path / "other2", "letters", 1, Record({}, [], {}))

    def tell(place: Path) -> str:
        return str(Artefact.open(place, "numbers", 1).folder.parent)

    assert beside.told(kept, "number", tell, lambda _: []) == [str(kept)]
    assert beside.told(tmp_path / "other2", "number", tell, lambda _: [kept, kept]) == [str(kept)] * 2
    with pytest.raises(IntegrityError, match="no number is kept") as caught:
        beside.told(tmp_path / "other2", "number", tell, lambda _: [])
    assert (caught.value.code, caught.value.fix) == ("artefact-missing", "build one with onym number build")
    with pytest.raises(IntegrityError, match="artefact-missing"):
        beside.told(tmp_path / "nowhere", "number", tell, lambda _: [kept])
