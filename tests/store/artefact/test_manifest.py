"""Tests of parsing and serialising manifests."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import IntegrityError
from onym.store.artefact import FileEntry, InputEntry, Manifest

GOOD = Manifest(
    kind="test", format=1, config={"b": 1, "a": 2}, inputs=(), counts={}, files={"a.npy": FileEntry(bytes=3, sha256="0" * 64)}
)


def test_serialisation_is_canonical() -> None:
    assert Manifest.from_bytes(GOOD.to_bytes(), "here") == GOOD
    assert Manifest.from_bytes(GOOD.to_bytes(), "here").to_bytes() == GOOD.to_bytes()
    assert len(GOOD.digest()) == 64


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"format": "one"},
        {"files": {"../a": {"bytes": 1, "sha256": "0" * 64}}},
        {"files": {"a\\b": {"bytes": 1, "sha256": "0" * 64}}},
        {"files": {".hidden": {"bytes": 1, "sha256": "0" * 64}}},
        {"files": {"manifest.json": {"bytes": 1, "sha256": "0" * 64}}},
        {"files": {"a": {"bytes": -1, "sha256": "0" * 64}}},
        {"files": {"a": {"bytes": 1, "sha256": "not a digest"}}},
    ],
)
def test_rejects_invalid_manifests(change: dict[str, object]) -> None:
    data = json.dumps({**json.loads(GOOD.to_bytes()), **change}).encode()
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        Manifest.from_bytes(data, "here")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff"])
def test_rejects_invalid_json(data: bytes) -> None:
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        Manifest.from_bytes(data, "here")


def test_rejects_too_many_lists_before_parsing() -> None:
    data = GOOD.to_bytes().replace(b'"a": 2', b'"a": [' + b"[]," * 60_000 + b"[]]")
    with pytest.raises(IntegrityError, match="too large"):
        Manifest.from_bytes(data, "here")


@given(st.dictionaries(st.text(max_size=5), st.integers(), max_size=5), st.text(max_size=10))
def test_round_trip(counts: dict[str, int], name: str) -> None:
    entry = InputEntry(name=name, bytes=1, sha256="a" * 64)
    manifest = Manifest(kind="t", format=1, config={"x": [counts]}, inputs=(entry,), counts=counts, files={})
    assert Manifest.from_bytes(manifest.to_bytes(), "here") == manifest
    assert manifest.to_bytes().isascii()
