"""Tests of all readers: detection, compressed files, the schema, and corrupt files."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import pytest

from onym.errors import ConfigError, OnymError
from onym.kb import readers
from onym.registry import READERS
from onym.store.files.source import Source
from tests.kb.readers.conftest import pack_files, rows_of, source_of
from tests.robustness.files.kb_fuzz import judge, make_case
from tests.support.releases import SAMPLES, Release

RELEASES = [
    pytest.param(name, release, id=f"{name}-{number}")
    for name, releases in SAMPLES.items()
    for number, release in enumerate(releases)
]


REFUSED_EMPTY = {"mesh_xml": "xml-malformed", "icd10cm": "xml-malformed", "table": "table-columns"} | dict.fromkeys(
    ("obograph", "ontology_json", "genbioel"), "json-malformed"
)


def test_each_format_has_a_sample() -> None:
    assert set(SAMPLES) == set(READERS.built_in)


@pytest.mark.parametrize(("name", "release"), RELEASES)
def test_the_format_is_recognised(name: str, release: Release) -> None:
    assert readers.detect(source_of(release)) == name


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize(("name", "release"), RELEASES)
def test_compressed_releases_give_the_same_rows(name: str, release: Release, suffix: str) -> None:
    small = pack_files(release, suffix)
    assert readers.detect(source_of(small)) == name
    assert rows_of(small, name) == rows_of(release, name) != []


@pytest.mark.parametrize(("name", "release"), RELEASES)
def test_a_byte_order_mark_is_ignored(name: str, release: Release) -> None:
    marked = {file: b"\xef\xbb\xbf" + data for file, data in release.items()}
    if name not in ("umls", "rxnorm"):  # their files have no header, so that the BOM would become part of the first field
        assert readers.detect(source_of(marked)) == name
        assert rows_of(marked, name) == rows_of(release, name)


@pytest.mark.parametrize(("name", "release"), RELEASES)
def test_empty_files_give_no_rows_or_are_rejected(name: str, release: Release) -> None:
    empty = dict.fromkeys(release, b"")
    if code := REFUSED_EMPTY.get(name):
        with pytest.raises(OnymError) as e:
            rows_of(empty, name)
        assert e.value.code == code
    else:
        assert rows_of(empty, name) == []


@pytest.mark.parametrize(("name", "release"), RELEASES)
def test_errors_do_not_quote_the_file(name: str, release: Release) -> None:
    secret = "PatientSmith"
    for at in range(0, 400, 7):
        damaged = {file: data[:at] + secret.encode() + b'"\t|\x01<{' + data[at:] for file, data in release.items()}
        message = _refusal(damaged, name)
        assert secret not in message or "[table-columns]" in message  # only this error may quote the file: its header


def _refusal(files: Release, name: str) -> str:
    try:
        rows_of(files, name)
    except OnymError as e:
        return str(e)
    return ""


@pytest.mark.parametrize("name", READERS.built_in)
def test_mutated_releases_are_parsed_or_rejected(name: str) -> None:
    outcomes = {judge(make_case(1, name, number), name) for number in range(60)}
    assert outcomes == {"parsed", "refused"}


@pytest.mark.parametrize("name", ["umls", "snomed"])
def test_a_release_of_several_files_may_be_a_folder_or_an_archive(name: str, tmp_path: Path) -> None:
    (release,) = SAMPLES[name]
    for file, data in release.items():
        (tmp_path / "folder" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / file).write_bytes(data)
    with zipfile.ZipFile(tmp_path / "release.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in release.items():
            archive.writestr(file, data)
    expected = rows_of(release, name)
    for path in (tmp_path / "folder", tmp_path / "release.zip"):
        source = Source.open(path)
        assert readers.detect(source) == name
        assert sum(batch.num_rows for batch in readers.read(source, name)) == len(expected)


def test_an_unknown_file_is_rejected() -> None:
    with pytest.raises(ConfigError) as e:
        readers.detect(source_of({"README.md": "# Nothing"}))
    assert e.value.code == "format-unknown"


def test_an_unknown_format_is_rejected() -> None:
    with pytest.raises(ConfigError) as e:
        readers.read(source_of({"a.tsv": ""}), "owl")
    assert e.value.code == "part-unknown"
    assert "obo" in e.value.fix


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_corrupt_compressed_file_leaks_no_memory(suffix: str) -> None:
    """Found by fuzzing: Arrow's buffers leaked whenever decompression failed."""
    ((name, data),) = pack_files({"a.obo": b"[Term]\nid: X:1\n" * 2_000}, suffix).items()
    damaged = {name: data[:-9]}
    tracemalloc.start()
    try:
        for _ in range(3):
            _refusal(damaged, "obo")
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            assert "[input-corrupt]" in _refusal(damaged, "obo")
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()
