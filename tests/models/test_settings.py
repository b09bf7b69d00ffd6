from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.errors import InputError
from onym.models.settings import EncoderSettings, read_settings
from tests.models.test_modules import save_modules


def test_defaults_are_those_of_sapbert(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == EncoderSettings(pooling="cls", similarity="dot", length=25)


def test_encoder_json_takes_precedence(tmp_path: Path) -> None:
    save_modules(tmp_path)
    assert read_settings(tmp_path) == EncoderSettings(pooling="mean", similarity="cosine", length=256)
    own = EncoderSettings(pooling="mean-all", length=64)
    (tmp_path / "encoder.json").write_bytes(own.to_bytes())
    assert read_settings(tmp_path) == own


@pytest.mark.parametrize("wrong", [{"pooling": "max"}, {"similarity": "l2"}, {"length": 3}, {"layers": 2}])
def test_broken_file(tmp_path: Path, wrong: dict[str, object]) -> None:
    (tmp_path / "encoder.json").write_text(json.dumps(wrong))
    with pytest.raises(InputError, match="model-malformed"):
        read_settings(tmp_path)
