"""Tests of installing packs by name."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import onym
from onym.errors import ConfigError, InputError, IntegrityError
from onym.packs.install import install_pack
from onym.packs.locate import find_install_folder, installed_root, list_installed, locate
from onym.store.archive import whole_archive
from tests.packs.made import members, write_pack


@pytest.fixture
def pack(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return write_pack(tmp_path / "made", tiny_kb)


def test_an_installed_pack_is_loaded_by_name(pack: Path) -> None:
    with pytest.raises(InputError, match="pipeline-missing"):
        onym.load("tiny")
    record, folder = install_pack(pack)
    assert (record.name, folder) == ("tiny", find_install_folder("tiny"))
    assert onym.load("tiny").link("fever").links[0].concept_id == "mesh:D005334"
    assert install_pack(pack)[1] == folder, "once more is nothing new"
    install_pack(pack, "fevers")
    assert onym.load("fevers").link("fever").links


def test_replaces_another_pipeline_only_with_force(pack: Path, tiny_kb: Path, tmp_path: Path) -> None:
    install_pack(pack)
    other = write_pack(tmp_path / "other", tiny_kb, version="2.0")
    with pytest.raises(ConfigError, match="output-exists"):
        install_pack(other, "tiny")
    assert install_pack(other, "tiny", force=True)[0].version == "2.0"
    assert onym.load("tiny").link("fever").links
    assert list_installed() == ["tiny"]


def test_a_loaded_pipeline_keeps_its_version(pack: Path) -> None:
    first = install_pack(pack)[1]
    code = """
import sys, onym
pipeline = onym.load("tiny").with_assertion()
print("loaded", flush=True)
input()
print(len(pipeline.link("fever").links), len(onym.load(sys.argv[1]).link("fever").links))
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, first], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "loaded\n"
        second = install_pack(pack, force=True)[1]
        assert find_install_folder("tiny") == second
        assert (first / "pipeline.json").is_file()
        assert reader.communicate("\n", timeout=60)[0] == "1 1\n"
    install_pack(pack, force=True)
    assert not first.exists()


def test_the_folder_of_a_replaced_version_opens_the_current_one(pack: Path) -> None:
    first = install_pack(pack)[1]
    second = install_pack(pack, force=True)[1]
    assert not first.exists()
    assert locate(first) == locate(installed_root("tiny")) == locate("tiny") == second


def test_no_load_fails_while_another_process_installs_the_same_pack(pack: Path) -> None:
    install_pack(pack)
    code = "import sys; from onym.packs import install_pack\nwhile True: install_pack(sys.argv[1], force=True)"
    installer = subprocess.Popen([sys.executable, "-c", code, str(pack)])
    versions: set[Path] = set()
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and len(versions) < 5:
            assert onym.load("tiny").link("fever").links
            versions.add(find_install_folder("tiny"))
    finally:
        installer.kill()
        installer.wait()
    assert len(versions) > 1


@pytest.mark.parametrize("name", ["starter", "../evil", "A", "a/b"])
def test_rejects_invalid_names(pack: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        install_pack(pack, name)


def test_does_not_install_a_pack_that_fails_to_open(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_pack(pack)
    files = members(pack)
    with whole_archive(tmp_path / "bad.onymp") as archive:
        for name, data in files.items():
            archive.add(name, data.replace(b"Onym", b"Omym") if name == "README.md" else data)
    with pytest.raises(IntegrityError, match="pack-corrupt"):
        install_pack(tmp_path / "bad.onymp", "bad")
    assert list_installed() == ["tiny"]

    def refuse(_: Path) -> None:
        raise InputError("pipeline-malformed", "no")

    monkeypatch.setattr("onym.packs.install.load", refuse)
    with pytest.raises(InputError):
        install_pack(pack, force=True)
    monkeypatch.undo()
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    assert onym.load("tiny").link("fever").links, "the one before is back"


def test_installs_despite_missing_optional_packages(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_torch(_: Path) -> None:
        raise ConfigError("extra-missing", "packages of the dense linker are missing")

    monkeypatch.setattr("onym.packs.install.load", without_torch)
    install_pack(pack)
    assert (find_install_folder("tiny") / "pipeline.json").is_file()
