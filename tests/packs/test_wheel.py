"""Tests of writing a pack as a wheel that pip can install."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import subprocess
import sys
import zipfile
from email import message_from_bytes
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import onym
from onym.errors import ConfigError, IntegrityError
from onym.packs import publish
from onym.packs.locate import locate
from onym.packs.publish import write_wheel
from tests.packs.made import write_pack


@pytest.fixture
def pack(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    return write_pack(tmp_path / "made", tiny_kb, name="tiny-diseases", version="1.2")


def test_wheel_is_reproducible(pack: Path, tmp_path: Path) -> None:
    first, second = write_wheel(pack, tmp_path / "a"), write_wheel(pack, tmp_path / "b")
    assert first.name == second.name == "onym_pack_tiny_diseases-1.2-py3-none-any.whl"
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(ConfigError, match="output-exists"):
        write_wheel(pack, tmp_path / "a")
    write_wheel(pack, tmp_path / "a", force=True)


def test_record_lists_each_file(pack: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(write_wheel(pack, tmp_path)) as wheel:
        info = "onym_pack_tiny_diseases-1.2.dist-info"
        rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode()))}
        assert sorted(rows) == sorted(wheel.namelist())
        assert rows.pop(f"{info}/RECORD") == ("", "")
        for name, (digest, size) in rows.items():
            data = wheel.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={found}", str(len(data)))
        assert b"Name: onym-pack-tiny-diseases\nVersion: 1.2\n" in wheel.read(f"{info}/METADATA")
        metadata = message_from_bytes(wheel.read(f"{info}/METADATA"))
        assert metadata.get_all("Requires-Dist") == [f"onym>={onym.__version__}"]
        assert metadata.get_payload() == wheel.read("onym_pack_tiny_diseases/pack/README.md").decode()
        assert message_from_bytes(wheel.read(f"{info}/WHEEL")).items() == [
            ("Wheel-Version", "1.0"),
            ("Root-Is-Purelib", "true"),
            ("Tag", "py3-none-any"),
            ("Generator", f"onym {onym.__version__}"),
        ]


def test_line_breaks_never_become_header_fields() -> None:
    with pytest.raises(ValueError, match="linefeed"):
        publish._header({"Generator": "onym 0.1\nRequires-Dist: six"})


@pytest.mark.slow
@pytest.mark.ci
def test_pip_installs_it_and_onym_finds_it_by_name(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel, site = write_wheel(pack, tmp_path), tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--target", str(site), str(wheel)], check=True, timeout=300)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    (found,) = entry_points(group="onym.packs", name="tiny-diseases")
    assert found.value == "onym_pack_tiny_diseases"
    assert onym.load("tiny-diseases").link("fever").links[0].concept_id == "mesh:D005334"
    assert locate("tiny-diseases") == site / "onym_pack_tiny_diseases" / "pack"
    assert "onym_pack_tiny_diseases" not in sys.modules, "none of its code was run"
    package = __import__("onym_pack_tiny_diseases")
    assert package.__version__ == "1.2"
    assert package.load().link("fever").links
    record = site / "onym_pack_tiny_diseases" / "pack" / "pack.json"
    record.write_text(record.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(IntegrityError, match="pack-version"):
        onym.load("tiny-diseases")


def test_rejects_packs_that_may_not_be_redistributed(tiny_kb: Path, tmp_path: Path) -> None:
    private = write_pack(tmp_path / "made", tiny_kb, private=True)
    with pytest.raises(ConfigError, match="pack-private"):
        write_wheel(private, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_rejects_a_damaged_pack(pack: Path, tmp_path: Path) -> None:
    data = bytearray(pack.read_bytes())
    with zipfile.ZipFile(pack) as archive:
        info = max(archive.infolist(), key=lambda each: each.compress_size)
    data[info.header_offset + 30 + len(info.filename) + info.compress_size // 3] ^= 1
    pack.write_bytes(data)
    with pytest.raises(onym.OnymError):
        write_wheel(pack, tmp_path / "dist")
    assert not list(tmp_path.glob("dist/*"))
