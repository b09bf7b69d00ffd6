"""Tests that the suite `get` detects bytes that are downloaded twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import DownloadError
from onym.packs.locate import recipe_names
from onym.store.download import Patience, download_path, fetch_file
from tests.packs.small import OBO, PATH, URL, small_recipe, small_server
from tests.robustness.cli.catalogue import FileServer, Ledger, Sent, Stop, path_of
from tests.robustness.cli.get import QUICK, TEXTS

ONCE = Patience(attempts=1, pause_s=0, timeout_s=10)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    return small_server(tmp_path)


def test_each_recipe_has_a_text() -> None:
    assert sorted(TEXTS) == recipe_names()
    assert set(QUICK) < set(TEXTS)
    assert path_of(URL) == PATH.lstrip("/")


def test_resumed_download_fetches_no_byte_twice(server: FileServer) -> None:
    ledger = Ledger(server, small_recipe())
    server.stops[PATH] = [Stop(50, breaks=True)]
    with server.running():
        with pytest.raises(DownloadError):
            fetch_file(URL, mirror=server.url, patience=ONCE)
        ledger.account()
        assert ledger.on_disk(PATH) == 50
        assert ledger.find_unfinished() == [PATH]
        fetch_file(URL, mirror=server.url)
        ledger.account()
    assert (ledger.twice, ledger.in_flight, ledger.find_unfinished()) == (0, 0, [])


def test_detects_restarted_download(server: FileServer) -> None:
    ledger = Ledger(server, small_recipe())
    server.stops[PATH] = [Stop(50, breaks=True)]
    with server.running():
        with pytest.raises(DownloadError):
            fetch_file(URL, mirror=server.url, patience=ONCE)
        ledger.account()
        # Without a validator, the download cannot be resumed.
        download_path(URL).with_name("fevers.obo.part.json").write_text('{"validator": ""}')
        fetch_file(URL, mirror=server.url)
        ledger.account()
    assert ledger.twice == 50


def test_detects_second_download_of_finished_file(server: FileServer) -> None:
    with server.running():
        fetch_file(URL, mirror=server.url)
        ledger = Ledger(server, small_recipe())
        server.answers.append(Sent(PATH, 0, len(OBO)))
    ledger.account()
    assert ledger.twice == len(OBO)


def test_bytes_lost_in_transit_do_not_count_as_sent_twice(server: FileServer) -> None:
    ledger = Ledger(server, small_recipe())
    server.answers.append(Sent(PATH, 0, 70))  # these 70 bytes were sent, but did not reach the disk
    ledger.account()
    server.answers.append(Sent(PATH, 0, 70))
    ledger.account()
    assert (ledger.twice, ledger.in_flight) == (0, 140)
