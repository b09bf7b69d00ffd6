"""Tests of reading and validating the record of a pack (pack.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from onym.errors import InputError, IntegrityError
from onym.packs.archive import PackRecord
from onym.packs.provenance import NOT_STATED, PackedSource
from tests.packs.made import record_of, write_pack


@pytest.fixture
def record(tmp_path: Path, tiny_kb: Path) -> PackRecord:
    return record_of(write_pack(tmp_path, tiny_kb))


def test_round_trip(record: PackRecord) -> None:
    assert PackRecord.from_bytes(record.to_bytes(), "here") == record
    assert len(record.digest) == 16
    assert record.digest != record.model_copy(update={"version": "1.0.1"}).digest


@pytest.mark.parametrize("version", [2, 99, 10**30])
def test_newer_schema_error_says_to_upgrade(record: PackRecord, version: int) -> None:
    values = {**json.loads(record.to_bytes()), "schema_version": version, "of_a_later_onym": {}}
    with pytest.raises(IntegrityError) as caught:
        PackRecord.from_bytes(json.dumps(values).encode(), "new.onymp")
    assert caught.value.code == "pack-version"
    assert "upgrade" in caught.value.fix


def test_older_schema_error_says_to_rebuild(record: PackRecord) -> None:
    with pytest.raises(IntegrityError, match="build the pack again"):
        PackRecord.from_bytes(b'{"schema_version": 0}', "old.onymp")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"null", b'{"schema_version": "1"}', b'{"schema_version": true}', b"[" * 10**5]
)
def test_rejects_invalid_records(data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        PackRecord.from_bytes(data, "here")
    assert caught.value.code == "pack-malformed"


def test_rejects_non_canonical_records(record: PackRecord) -> None:
    with pytest.raises(InputError, match="not in canonical form"):
        PackRecord.from_bytes(json.dumps(json.loads(record.to_bytes())).encode(), "here")


@pytest.mark.parametrize(
    "name", ["../a", "/a", "a//b", ".a", "a/.b", "a b", "a\n", "C:a", "\u00fc", "readme.MD", "README.md/a", "pack.json"]
)
def test_rejects_unsafe_file_names(record: PackRecord, name: str) -> None:
    values: dict[str, Any] = record.model_dump()
    values["files"][name] = values["files"]["README.md"]
    with pytest.raises(ValidationError):
        PackRecord.model_validate(values)


def test_lists_sources_without_licence(record: PackRecord) -> None:
    source = PackedSource(name="mine", vocabulary="", release=NOT_STATED, licence=NOT_STATED)
    assert record.sources_without_licence == []
    assert record.model_copy(update={"sources": (source,)}).sources_without_licence == ["mine"]


@pytest.mark.parametrize("mark", ["\n", "\r", "\x00", "\x1b", "\x85", "\u2028", "\u202e"])
def test_control_characters_are_rejected_in_every_string(record: PackRecord, mark: str) -> None:
    values = json.loads(record.to_bytes())
    count = 0
    for holder in (values, values["kb"], *values["sources"], *values["corpora"]):
        for key in [key for key, value in holder.items() if isinstance(value, str)]:
            kept = holder[key]
            holder[key] = f"{kept}{mark}Requires-Dist: six"
            with pytest.raises(InputError) as caught:
                PackRecord.from_bytes(_write(values), "here")
            assert caught.value.code == "pack-malformed", key
            holder[key], count = kept, count + 1
    values["restricted"] = [f"UMLS{mark}"]
    with pytest.raises(InputError, match="pack-malformed"):
        PackRecord.from_bytes(_write(values), "here")
    assert count == 11


def _write(values: dict[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True, indent=1, ensure_ascii=True).encode() + b"\n"


@pytest.mark.parametrize("version", ["", "0.1\nRequires-Dist: six", "0.1, <9", "0.1; x", "0.1 six", "six", ">=0.1", "0" * 51])
def test_rejects_invalid_versions_of_onym(record: PackRecord, version: str) -> None:
    with pytest.raises(ValidationError):
        PackRecord.model_validate({**record.model_dump(), "onym": version})
