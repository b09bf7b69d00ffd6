"""Tests of opening and unpacking packs; for hostile packs, see tests/robustness/packs."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

import onym
from onym.errors import InputError, IntegrityError
from onym.methods import linker_config
from onym.packs.archive import open_pack, require_own_paths, unpack_to_cache
from onym.packs.locate import is_pack, locate, read_pipeline
from onym.pipeline import ComponentConfig, PipelineConfig
from onym.pipeline.config import Reference
from onym.store.archive import whole_archive
from tests.packs.made import members, write_pack


@pytest.fixture
def pack(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    return write_pack(tmp_path / "made", tiny_kb)


def test_a_pack_is_loaded_and_unpacked_once(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert onym.load(pack).link("heart attack and fever").links[1].concept_id == "mesh:D005334"
    folder = locate(pack)
    assert (folder / "pipeline.json").is_file()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    monkeypatch.setattr("onym.packs.archive.unpack", None)
    assert onym.load(str(pack)).link("fever").links[0].concept_id == "mesh:D005334"
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert read_pipeline(pack).kb.path == "knowledge-base"


def test_unpacks_again_if_the_record_is_missing(pack: Path) -> None:
    (locate(pack) / "pack.json").unlink()
    assert onym.load(pack).link("fever").links


def test_rejected_pack_leaves_no_files(pack: Path, tmp_path: Path) -> None:
    files = members(pack)
    (name,) = (each for each in files if each.endswith("names.data.npy"))
    with whole_archive(tmp_path / "changed.onymp") as archive:
        for each, data in files.items():
            archive.add(each, data[:-1] + b"?" if each == name else data)
    with pytest.raises(IntegrityError) as caught:
        onym.load(tmp_path / "changed.onymp")
    assert caught.value.code == "pack-corrupt"
    assert list((tmp_path / "cache").glob("packs/*")) == []


def test_removes_a_pack_that_fails_to_open_unless_packages_are_missing(pack: Path) -> None:
    with pytest.raises(InputError), unpack_to_cache(pack) as folder:
        raise InputError("pipeline-malformed", "no")
    assert not folder.exists()
    missing = onym.ConfigError("extra-missing", "no torch")
    with pytest.raises(onym.ConfigError), unpack_to_cache(pack) as folder:
        raise missing
    assert folder.exists()


class OfFolder(ComponentConfig):
    """The configuration of a component with a field that a plug-in may take for a path."""

    kind: str = "of-folder"
    folder: str


def test_options_of_components_do_not_lead_out_of_the_pack() -> None:
    kb = Reference(path="kb", digest="ab")
    config = PipelineConfig(onym="0.1.0", kb=kb, detector=None, linker=linker_config("exact"))
    for folder, is_refused in (("models/x", False), ("../x", True), ("/etc", True)):
        own = config.model_copy(update={"components": (OfFolder(folder=folder),)})
        with pytest.raises(InputError, match="pack-malformed") if is_refused else nullcontext():
            require_own_paths(own, ["kb/x", "models/x/y"], "a.onymp")


def test_concurrent_unpacking(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = open_pack(pack)
    whole = type(other).unpack

    def after_another(self: object, folder: Path) -> None:
        whole(other, folder)
        whole(other, folder)

    monkeypatch.setattr(type(other), "unpack", after_another)
    assert onym.load(pack).link("fever").links


def test_rejects_files_that_are_not_packs(tmp_path: Path) -> None:
    path = tmp_path / "a.onymp"
    path.write_bytes(b"text")
    with pytest.raises(InputError, match="pack-malformed"):
        open_pack(path)
    with pytest.raises(InputError, match="input-missing"):
        open_pack(tmp_path / "no.onymp")
    assert is_pack(path)
    assert not is_pack(tmp_path)
    with pytest.raises(InputError, match="pipeline-missing"):
        onym.load(tmp_path / "no.onymp")


def test_an_unpacked_folder_can_be_moved(pack: Path, tmp_path: Path) -> None:
    moved = shutil.move(locate(pack), tmp_path / "moved")
    assert onym.load(moved).link("fever").links[0].concept_id == "mesh:D005334"
