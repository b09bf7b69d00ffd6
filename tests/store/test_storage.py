"""Tests of folders that several processes write to at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError, OnymError
from onym.store.storage import is_address, open_storage


def test_publishes_a_file_atomically(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    with pytest.raises(ZeroDivisionError), storage.publish("a/b.txt") as file:
        file.write(bytes([1 // 0]))
    assert storage.names("a") == set()
    assert list((tmp_path / "a").iterdir()) == []
    with storage.publish("a/b.txt") as file:
        file.write(b"whole")
    with storage.publish("a/b.txt") as file:
        file.write(b"again")
    with storage.open("a/b.txt") as found:
        assert found.read() == b"again"
    storage.remove("a/b.txt")
    storage.remove("a/b.txt")
    assert storage.names("a") == storage.names("none") == set()


def test_publish_once_does_not_overwrite(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    with storage.publish("plan.json", once=True) as file:
        file.write(b"first")
    with pytest.raises(OnymError), storage.publish("plan.json", once=True) as file:
        file.write(b"second")
    assert (tmp_path / "plan.json").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_clean_keeps_locked_temp_files(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    with storage.publish("a.txt") as file:
        (tmp_path / ".b.txt.0123456789abcdef.onym-new").touch()
        storage.clean("")
        assert len(list(tmp_path.iterdir())) == 1
        file.write(b"whole")
    assert storage.names("") == {"a.txt"}


@pytest.mark.parametrize("url", ["ftp://host/run", "s3://key:secret@bucket/run", "s3://bucket/run?secret_key=a"])
def test_rejects_unsupported_url_schemes(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_storage(url)
    assert "secret" not in str(caught.value)
    assert is_address("s3://bucket/run")
