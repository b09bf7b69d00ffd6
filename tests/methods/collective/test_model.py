"""Tests of opening collective models, and of rejecting damaged folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from onym.errors import OnymError
from onym.methods.collective.model import Collective
from onym.methods.collective.settings import HEADS, CollectiveSettings
from onym.types import Document, Mention
from tests.support.models import save_collective

DOC = Document("1", "fever and pain", (Mention(0, 5, "fever"), Mention(5, 6, " "), Mention(10, 14, "pain")))


def test_mention_vectors_have_document_and_mention_indices(tmp_path: Path) -> None:
    model = Collective.open(save_collective(tmp_path / "m"), "fp32")
    bare = Document("2", "nothing here")
    vectors, owners = model.mention_vectors([bare, DOC])
    assert owners == [(1, 0), (1, 2)], "a space has no token"
    (read,) = model.reader.read([DOC])
    first, last = read.tokens.span(10, 14) or (0, 0)
    wanted = torch.nn.functional.normalize(read.states[first:last].mean(0), dim=0)
    np.testing.assert_allclose(vectors[1], wanted.numpy(), rtol=1e-4, atol=1e-6)
    assert model.mention_vectors([bare])[0].shape == (0, 16)


def test_config_describes_the_model(tmp_path: Path) -> None:
    model = Collective.open(save_collective(tmp_path / "tiny", links=False))
    described = model.config
    assert (described["model"], described["detect"], described["window"]) == ("tiny", "spans", 32)
    assert model.names is None
    assert described["digest"] != Collective.open(save_collective(tmp_path / "other", threshold=0.7)).config["digest"]


def test_rejects_folder_without_settings(tmp_path: Path) -> None:
    folder = save_collective(tmp_path / "m")
    (folder / CollectiveSettings.FILE).unlink()
    with pytest.raises(OnymError, match="model-family"):
        Collective.open(folder)


@pytest.mark.parametrize("spoil", [lambda data: data[:40], lambda _: b"", lambda data: b"\xff" * 8 + data[8:]])
def test_rejects_damaged_heads(tmp_path: Path, spoil: Any) -> None:
    path = save_collective(tmp_path / "m") / HEADS
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(OnymError, match="model-malformed|limit-model"):
        Collective.open(tmp_path / "m")


def test_no_memory_is_allocated_for_missing_heads(tmp_path: Path) -> None:
    """The settings claim heads of 13 GB, which the weights file does not have."""
    folder = save_collective(tmp_path / "m")
    (folder / CollectiveSettings.FILE).write_text(
        '{"dim": 100000, "represent": "ends", "links": false, "window": 32, "overlap": 8}'
    )
    with pytest.raises(OnymError, match="model-malformed"):
        Collective.open(folder)


@pytest.mark.parametrize("settings", [{"window": 65}, {"overlap": 30}, {"overlap": 31}, {"overlap": 50_000}])
def test_rejects_invalid_windows(tmp_path: Path, settings: dict[str, int]) -> None:
    folder = save_collective(tmp_path / "m", **settings)
    with pytest.raises(OnymError, match="model-malformed") as caught:
        Collective.open(folder)
    assert caught.value.where.endswith(CollectiveSettings.FILE)


def test_rejects_nan_in_heads(tmp_path: Path) -> None:
    folder = save_collective(tmp_path / "m")
    found = load_file(folder / HEADS)
    save_file({name: values * torch.nan for name, values in found.items()}, folder / HEADS)
    with pytest.raises(OnymError, match="model-not-finite"):
        Collective.open(folder)


def test_rejects_name_encoder_outside_folder(tmp_path: Path) -> None:
    folder = save_collective(tmp_path / "m")
    (folder / "names").rename(tmp_path / "names")
    (folder / "names").symlink_to(tmp_path / "names")
    with pytest.raises(OnymError, match="model-outside"):
        Collective.open(folder)


def test_rejects_heads_of_another_model(tmp_path: Path) -> None:
    other = save_collective(tmp_path / "other", detect="tags")
    folder = save_collective(tmp_path / "m")
    (folder / HEADS).write_bytes((other / HEADS).read_bytes())
    with pytest.raises(OnymError, match="model-malformed"):
        Collective.open(folder)
    (folder / HEADS).unlink()
    with pytest.raises(OnymError, match="input-missing|model-malformed"):
        Collective.open(folder)
