"""Tests of the folder in which a pack is uploaded to the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import pytest

import onym
from onym.errors import ConfigError
from onym.packs.publish import read_results, write_hub_folder
from tests.packs.made import members, write_pack

ROWS = Path(__file__).parents[2] / "results" / "e2e" / "rows.json"


@pytest.fixture
def pack(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    return write_pack(tmp_path / "made", tiny_kb)


def test_folder_has_pack_card_and_licences(pack: Path, tmp_path: Path) -> None:
    write_hub_folder(pack, tmp_path / "hub")
    assert sorted(path.name for path in (tmp_path / "hub").iterdir()) == ["LICENSE.md", "README.md", "tiny.onymp"]
    assert (tmp_path / "hub" / "tiny.onymp").read_bytes() == pack.read_bytes()
    assert (tmp_path / "hub" / "README.md").read_bytes() == members(pack)["README.md"]
    assert onym.load(tmp_path / "hub" / "tiny.onymp").link("fever").links
    with pytest.raises(ConfigError, match="output-exists"):
        write_hub_folder(pack, tmp_path / "hub")
    write_hub_folder(pack, tmp_path / "hub", force=True)


def test_card_is_valid_for_the_hub(pack: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    write_hub_folder(pack, tmp_path / "hub", results=read_results(ROWS, ["bc5cdr/dictionary+exact"]))
    card = hub.ModelCard.load(tmp_path / "hub" / "README.md")
    assert (card.data.library_name, card.data.license, card.data.pipeline_tag) == ("onym", "other", "token-classification")
    found = {(each.dataset_name, each.dataset_split, each.metric_type): each.metric_value for each in card.data.eval_results}
    assert found["bc5cdr", "test", "precision"] == 82.0
    assert card.data.model_name == "tiny"


def test_rejects_packs_that_may_not_be_redistributed(tiny_kb: Path, tmp_path: Path) -> None:
    for options, code in (({"private": True}, "pack-private"), ({"licences": {}}, "pack-licence")):
        made = write_pack(tmp_path / code, tiny_kb, **options)
        with pytest.raises(ConfigError, match=code):
            write_hub_folder(made, tmp_path / "hub")
        assert not (tmp_path / "hub").exists()
