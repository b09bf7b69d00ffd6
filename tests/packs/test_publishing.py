"""Tests that private packs and packs without stated licences cannot be published."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.packs.publish import require_publishable
from tests.packs.made import record_of, write_pack


def test_rejects_publishing_private_packs(tmp_path: Path, tiny_kb: Path) -> None:
    record = record_of(write_pack(tmp_path, tiny_kb))
    require_publishable(record)
    for changes in ({"private": True}, {"restricted": ("UMLS",)}):
        with pytest.raises(ConfigError, match="pack-private"):
            require_publishable(record.model_copy(update=changes))


def test_licences_must_be_stated(tmp_path: Path, tiny_kb: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        require_publishable(record_of(write_pack(tmp_path, tiny_kb, licences={})))
    assert caught.value.code == "pack-licence"
    assert caught.value.fix == 'build the pack with --licence "tiny=..."'
