"""Attacks by mirrors: other bytes than those that were asked for."""

from __future__ import annotations

import pytest

from onym.errors import DownloadError
from onym.store.download import download
from tests.robustness.attacks.rows import Place, attack
from tests.store.test_download import BODY, QUICK, script_serving


@attack("a mirror answers a resumed download with another part of the file")
def part_at_another_offset(place: Place) -> None:
    with script_serving() as (url, script):
        script.cuts, script.shift = [4], 3
        download(url, place.folder / "hp.obo", patience=QUICK)
    assert (place.folder / "hp.obo").read_bytes() == BODY


@attack("a mirror sends gzip under the name of the file")
def file_in_another_encoding(place: Place) -> None:
    with script_serving() as (url, script):
        script.headers = {"Content-Encoding": "gzip"}
        _require_refused(place, url)


@attack("a mirror cuts a body whose length it does not state")
def file_of_unknown_length(place: Place) -> None:
    with script_serving() as (url, script):
        script.has_length, script.cuts = False, [1_000] * QUICK.attempts
        _require_refused(place, url)


def _require_refused(place: Place, url: str) -> None:
    with pytest.raises(DownloadError, match="download-refused"):
        download(url, place.folder / "hp.obo", patience=QUICK)
    assert not (place.folder / "hp.obo").exists()
