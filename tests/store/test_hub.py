"""Tests of uploads to the Hugging Face Hub, which is mocked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError, InputError
from onym.store.download import upload

hub = pytest.importorskip("huggingface_hub")


def test_uploads_a_folder_as_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    class Api:
        def create_repo(self, name: str, *, exist_ok: bool) -> str:
            calls.append((name, exist_ok))
            return f"https://hub/{name}"

        def upload_folder(self, *, repo_id: str, folder_path: Path, commit_message: str) -> None:
            calls.append((repo_id, folder_path))

    monkeypatch.setattr(hub, "HfApi", Api)
    assert upload(tmp_path, "me/tiny") == "https://hub/me/tiny"
    assert calls == [("me/tiny", True), ("me/tiny", tmp_path)]


def test_failed_upload_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Api:
        def create_repo(self, name: str, *, exist_ok: bool) -> str:
            raise OSError("no network")

    monkeypatch.setattr(hub, "HfApi", Api)
    with pytest.raises(InputError, match="upload-failed"):
        upload(tmp_path, "me/tiny")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match="extra-missing"):
        upload(tmp_path, "me/tiny")
