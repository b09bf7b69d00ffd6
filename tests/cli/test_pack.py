"""Tests of `onym pack` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import onym
from tests.packs.made import write_pipeline


@pytest.fixture
def folder(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    write_pipeline(tmp_path, tiny_kb)
    return tmp_path


def test_build_info_install_and_link(folder: Path) -> None:
    words = ("--licence", "tiny=CC0", "--release", "tiny=3", "--version", "1.2")
    built = json.loads(onym("pack", "build", "pipeline", "-o", "tiny.onymp", *words, "--json", cwd=folder).stdout)
    assert (built["file"], built["version"], built["private"]) == ("tiny.onymp", "1.2", False)
    assert built["packed_bytes"] == (folder / "tiny.onymp").stat().st_size
    shown = onym("pack", "info", "tiny.onymp", cwd=folder).stdout
    assert "source\ttiny, release 3: CC0" in shown
    assert "trained on\tbc5cdr: public domain" in shown
    assert json.loads(onym("pack", "info", "tiny.onymp", "--json", cwd=folder).stdout)["digest"] == built["digest"]
    linked = onym("link", "fever", "--pipeline", "tiny.onymp", "--json", cwd=folder).stdout
    assert "D005334" in linked
    done = json.loads(onym("pack", "install", "tiny.onymp", "--name", "fevers", "--json", cwd=folder).stdout)
    assert done["installed_as"] == "fevers"
    assert onym("link", "fever", "--pipeline", "fevers", "--json", cwd=folder).stdout == linked
    assert "installed as\tfevers" in onym("pack", "install", "tiny.onymp", "--name", "fevers", cwd=folder).stdout


def test_wheel_and_hub(folder: Path) -> None:
    onym("pack", "build", "pipeline", "-o", "tiny.onymp", "--licence", "tiny=CC0", cwd=folder)
    made = onym("pack", "wheel", "tiny.onymp", "-o", "dist", cwd=folder).stdout
    assert made.startswith("wheel\tdist/onym_pack_tiny-1.0.0-py3-none-any.whl\n")
    assert "bytes" in json.loads(onym("pack", "wheel", "tiny.onymp", "-o", "dist", "--force", "--json", cwd=folder).stdout)
    rows = [{"row": "a", "dataset": "bc5cdr", "split": "test", "figures": {"strict_f1": 75.0}}]
    (folder / "rows.json").write_text(json.dumps(rows))
    words = ("pack", "hub", "tiny.onymp", "-o", "hub", "--results", "rows.json", "--row", "a")
    assert json.loads(onym(*words, "--json", cwd=folder).stdout) == {"folder": "hub", "name": "tiny", "results": 1}
    assert "model-index" in (folder / "hub" / "README.md").read_text()
    assert "folder\thub" in onym(*words, "--force", cwd=folder).stdout


def test_uploads_only_with_the_upload_option(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onym("pack", "build", "pipeline", "-o", "tiny.onymp", "--licence", "tiny=CC0", cwd=folder)
    uploads: list[tuple[str, str]] = []

    def upload(path: Path, name: str) -> str:
        uploads.append((str(path), name))
        return f"https://hub/{name}"

    monkeypatch.setattr("onym.store.download.upload", upload)
    onym("pack", "hub", "tiny.onymp", "-o", "hub", cwd=folder)
    assert uploads == []
    done = onym("pack", "hub", "tiny.onymp", "-o", "hub", "--force", "--upload", "me/tiny", cwd=folder)
    assert uploads == [("hub", "me/tiny")]
    assert "address\thttps://hub/me/tiny" in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("build", "pipeline", "-o", "tiny.zip"), 2, "config-invalid"),
        (("build", "pipeline", "-o", "tiny.onymp", "--release", "HPO"), 2, "config-invalid"),
        (("build", "nothing", "-o", "tiny.onymp"), 3, "pipeline-missing"),
        (("info", "pipeline/pipeline.json"), 3, "pack-malformed"),
        (("install", "no.onymp"), 3, "input-missing"),
        (("wheel", "no.onymp"), 3, "input-missing"),
        (("hub", "no.onymp", "-o", "hub"), 3, "input-missing"),
    ],
)
def test_usage_errors_write_nothing(folder: Path, words: tuple[str, ...], status: int, code: str) -> None:
    before = sorted(folder.iterdir())
    assert f"[{code}]" in onym("pack", *words, cwd=folder, status=status).stderr
    assert sorted(folder.iterdir()) == before
