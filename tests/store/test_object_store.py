"""Tests of object stores: URLs, objects as input files, and concurrent writers, on a local S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from onym.errors import ConfigError, OnymError
from onym.store.storage import is_address, object_source, open_object_store, open_storage
from tests.store.object_store_server import object_store


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as environment, object_store(environment) as found:
        yield found


@pytest.mark.parametrize("url", ["s3://key:secret@bucket/run", "s3://bucket/run?secret_key=a"])
def test_rejects_credentials_in_urls(url: str) -> None:
    assert is_address(url)
    with pytest.raises(ConfigError) as caught:
        open_object_store(url)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.ci
def test_publishes_an_object_atomically(bucket: str) -> None:
    storage = open_storage(f"{bucket}/whole")
    with pytest.raises(ZeroDivisionError), storage.publish("a/b.txt") as file:
        file.write(bytes([1 // 0]))
    assert storage.names("a") == set()
    large = bytes(range(256)) * 50_000  # large enough to need a multipart upload
    for data in (b"first", large):
        with storage.publish("a/b.txt") as file:
            file.write(data)
    with storage.open("a/b.txt") as found:
        assert found.read() == large
    storage.remove("a/b.txt")
    storage.remove("a/b.txt")
    assert storage.names("a") == storage.names("none") == set()
    with pytest.raises(FileNotFoundError):
        storage.open("a/b.txt")
    storage.clean("a")


@pytest.mark.slow
@pytest.mark.ci
def test_publish_once_does_not_overwrite(bucket: str) -> None:
    storage = open_storage(f"{bucket}/once/")
    with storage.publish("plan.json", once=True) as file:
        file.write(b"first")
    with pytest.raises(FileExistsError), storage.publish("plan.json", once=True) as file:
        file.write(b"second")
    with storage.open("plan.json") as file:
        assert file.read() == b"first"


@pytest.mark.slow
@pytest.mark.ci
def test_reads_objects_as_input_files(bucket: str) -> None:
    storage = open_storage(f"{bucket}/notes")
    for name in ("b/2.txt", "1.txt"):
        with storage.publish(name) as file:
            file.write(name.encode())
    source = object_source(f"{bucket}/notes/")
    assert [(file.name, file.size) for file in source.files] == [("1.txt", 5), ("b/2.txt", 7)]
    with source.files[1].open() as stream:
        assert stream.read() == b"b/2.txt"
    assert [file.name for file in object_source(f"{bucket}/notes/b/2.txt").files] == ["2.txt"]


@pytest.mark.slow
@pytest.mark.ci
def test_missing_bucket_raises(bucket: str) -> None:
    with pytest.raises(OnymError) as caught:
        object_source("s3://no-such-bucket/notes")
    assert caught.value.code == "input-missing"
    with pytest.raises(OnymError) as caught, open_storage("s3://no-such-bucket/run").publish("a.txt") as file:
        file.write(b"whole")
    assert caught.value.code == "output-failed"


def test_local_folder_is_not_a_store_url(tmp_path: Path) -> None:
    assert not is_address(tmp_path)
