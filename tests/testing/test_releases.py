"""Tests that there is a small release for every reader, and that its format is detected."""

from __future__ import annotations

from onym.kb import readers
from onym.store.files.source import InputFile, Source
from onym.testing.releases import SAMPLES


def test_each_reader_has_a_release_that_it_recognises() -> None:
    assert set(SAMPLES) == set(readers.ORDER)
    for name, releases in SAMPLES.items():
        for release in releases:
            files = [InputFile.from_bytes(path, data) for path, data in release.items()]
            assert readers.detect(Source.of_files("release", files)) == name
