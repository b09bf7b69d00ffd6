"""Tests that derived artefacts are built once and then only opened. Each package tests its own derived artefacts, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError, IntegrityError
from onym.store import derived
from onym.store.artefact import Artefact
from onym.store.cache import cache_folder
from onym.store.derived import Locations, collect_derived, describe_derived, find_derived, open_derived
from onym.store.stage import Record, Stage, staging


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))


class Builder:
    """Builds and opens a derived artefact, and counts how often it does each."""

    def __init__(self, folder: Path) -> None:
        self.locations = Locations.of(folder, "numbers", ["one", "two"])
        self.built = self.opens = 0

    def build(self, stage: Stage, dest: Path) -> None:
        self.built += 1
        stage.write_array("values", np.arange(3, dtype=np.uint8))
        stage.publish(dest, "numbers", 1, Record({}, [], {}))

    def open_at(self, path: Path) -> Artefact:
        found = Artefact.open(path, "numbers", 1)
        self.opens += 1
        return found

    def open(self) -> Path:
        return open_derived(self.locations, self.open_at, self.build).location


def test_builds_once(tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    assert builder.open() == builder.open() == builder.locations.own
    assert (builder.built, builder.opens) == (1, 2)
    assert builder.locations.own.parent == tmp_path / "numbers"


def test_rebuilds_a_damaged_artefact(tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    path = next(builder.open().glob("*/values.npy"))
    path.write_bytes(path.read_bytes()[:-1])
    assert builder.open() == builder.locations.own
    assert (builder.built, builder.opens) == (2, 2)


def test_uses_the_cache_if_the_folder_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_text("no folder")
    builder = Builder(tmp_path)
    assert builder.open() == builder.open() == builder.locations.cached
    assert builder.locations.cached.parent == cache_folder() / "numbers"
    assert builder.built == 1


def test_raises_if_neither_folder_nor_cache_is_writable(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "cache"):
        folder.mkdir(exist_ok=True)
        (folder / "numbers").write_text("no folder")
    with pytest.raises(ConfigError, match="output-failed"):
        Builder(tmp_path).open()


def test_second_process_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "WAIT", 0.01)
    builder, looks = Builder(tmp_path), 0
    lock = staging(builder.locations.own)
    lock.__enter__()

    def waiting() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            lock.__exit__(None, None, None)

    open_derived(builder.locations, builder.open_at, builder.build, waiting=waiting)
    assert (looks, builder.built, builder.opens) == (2, 1, 1)


def test_opens_what_another_process_built_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "WAIT", 0.01)
    builder, other = Builder(tmp_path), Builder(tmp_path)
    lock = staging(builder.locations.own)
    stage = lock.__enter__()

    def waiting() -> None:
        other.build(stage, builder.locations.own)
        lock.__exit__(None, None, None)

    open_derived(builder.locations, builder.open_at, builder.build, waiting=waiting)
    assert (other.built, builder.built, builder.opens) == (1, 0, 1)


def test_different_inputs_have_different_locations(tmp_path: Path) -> None:
    made_of = (["one", "two"], ["onetwo"], ["one", "two", ""])
    assert len({Locations.of(tmp_path, "numbers", each).own for each in made_of}) == 3


def test_finds_all_artefacts_of_a_kind(tmp_path: Path) -> None:
    own = Builder(tmp_path).open()
    (tmp_path / "cache" / "numbers" / "torn").mkdir(parents=True)
    (tmp_path / "cache" / "numbers" / "torn" / "CURRENT").write_text("nothing")
    (tmp_path / "cache" / "numbers" / "good").mkdir()
    (tmp_path / "cache" / "numbers" / "good" / "CURRENT").write_text("nothing")

    def is_own(path: Path) -> bool:
        if path.name == "torn":
            raise IntegrityError("artefact-corrupt", "torn")
        return True

    assert find_derived(tmp_path, "numbers", is_own) == [own, tmp_path / "cache" / "numbers" / "good"]
    assert find_derived(tmp_path, "numbers", lambda _: False) == [own]


def test_describes_one_artefact_or_all_of_a_knowledge_base(tmp_path: Path) -> None:
    builder = Builder(tmp_path / "other")
    kept = builder.open()
    with staging(tmp_path / "other2") as stage:
        stage.publish(tmp_path / "other2", "letters", 1, Record({}, [], {}))

    def describe(path: Path) -> str:
        return str(Artefact.open(path, "numbers", 1).location)

    assert describe_derived(kept, "number", describe, lambda _: []) == [str(kept)]
    assert describe_derived(tmp_path / "other2", "number", describe, lambda _: [kept, kept]) == [str(kept)] * 2
    with pytest.raises(IntegrityError, match="has no number") as caught:
        describe_derived(tmp_path / "other2", "number", describe, lambda _: [])
    assert (caught.value.code, caught.value.fix) == ("artefact-missing", "build one with onym number build")
    with pytest.raises(IntegrityError, match="artefact-missing"):
        describe_derived(tmp_path / "nowhere", "number", describe, lambda _: [kept])


def test_collects_opened_artefacts_without_their_inputs(tmp_path: Path) -> None:
    inner, outer = Builder(tmp_path / "inner"), Builder(tmp_path / "outer")

    def build(stage: Stage, dest: Path) -> None:
        inner.open()
        outer.build(stage, dest)

    with collect_derived() as built:
        open_derived(outer.locations, outer.open_at, build)
    with collect_derived() as found:
        outer.open()
        outer.open()
        inner.open()
    assert built == [outer.locations.own]
    assert found == [outer.locations.own, inner.locations.own]
    outer.open()
    assert len(found) == 2, "nothing is collected after the block"
