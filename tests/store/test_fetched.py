"""Tests that downloads are stored once per machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.errors import DownloadError, IntegrityError
from onym.store.download import Patience, download_path, fetch_file, local_file
from onym.store.stage import exclusive
from tests.robustness.cli.catalogue import FileServer, Stop

URL = "https://example.org/obo/hp.obo"
BODY = b"[Term]\n" * 50_000
ONCE = Patience(attempts=1, pause_s=0, timeout_s=10)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def file_server(tmp_path: Path) -> FileServer:
    (tmp_path / "served" / "obo").mkdir(parents=True)
    (tmp_path / "served" / "obo" / "hp.obo").write_bytes(BODY)
    return FileServer(tmp_path / "served")


def test_downloads_a_file_once(cache: Path, file_server: FileServer) -> None:
    with file_server.running():
        first = fetch_file(URL, mirror=file_server.url)
    again = fetch_file(URL)  # without a server: the mirror has stopped, and the official URL does not exist
    assert first == again
    assert again.path.read_bytes() == BODY
    assert again.path.is_relative_to(cache)
    assert [sent.count for sent in file_server.answers] == [len(BODY)]


def test_resumes_an_interrupted_download(cache: Path, file_server: FileServer) -> None:
    file_server.stops["/obo/hp.obo"] = [Stop(100_000, breaks=True)]
    with file_server.running():
        with pytest.raises(DownloadError, match="download-interrupted"):
            fetch_file(URL, mirror=file_server.url, patience=ONCE)
        assert fetch_file(URL, mirror=file_server.url, patience=ONCE).bytes == len(BODY)
    assert [(sent.start, sent.count) for sent in file_server.answers] == [(0, 100_000), (100_000, len(BODY) - 100_000)]


def test_does_not_download_a_complete_part_again(cache: Path, file_server: FileServer) -> None:
    with file_server.running():
        path = fetch_file(URL, mirror=file_server.url, patience=ONCE).path
        path.rename(path.with_name("hp.obo.part"))
        path.with_name("hp.obo.part.json").write_text(json.dumps({"validator": '"x"\n', "bytes": len(BODY)}))
        path.with_name("hp.obo.json").unlink()
        assert fetch_file(URL, mirror=file_server.url, patience=ONCE).path.read_bytes() == BODY
    assert len(file_server.answers) == 1


def test_rejects_a_stored_file_that_has_changed(cache: Path, file_server: FileServer) -> None:
    with file_server.running():
        path = fetch_file(URL, mirror=file_server.url).path
    path.write_bytes(BODY + b"x")
    with pytest.raises(IntegrityError, match="download-changed"):
        fetch_file(URL)


def test_rejects_a_wrong_digest(cache: Path, file_server: FileServer) -> None:
    with file_server.running():
        fetch_file(URL, mirror=file_server.url)
    with pytest.raises(DownloadError, match="download-digest"):
        fetch_file(URL, sha256="0" * 64)
    with pytest.raises(DownloadError, match="download-digest"):
        local_file(download_path(URL), sha256="0" * 64)


def test_second_process_is_rejected_while_downloading(cache: Path) -> None:
    path = download_path(URL)
    path.parent.mkdir(parents=True)
    with exclusive(path.with_name("hp.obo.lock")), pytest.raises(IntegrityError, match="artefact-locked"):
        fetch_file(URL)
