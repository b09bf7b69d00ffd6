"""The card of a pack and the page of its licences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.packs.archive import PackedSource, PackRecord
from onym.packs.card import card, front_matter, licences_page
from onym.pipeline.config import PipelineConfig
from tests.pipeline.pack.made import members, record_of, write_pack


@pytest.fixture
def pack(tmp_path: Path, tiny_kb: Path) -> Path:
    return write_pack(tmp_path, tiny_kb)


@pytest.fixture
def record(pack: Path) -> PackRecord:
    return record_of(pack)


@pytest.fixture
def config(pack: Path) -> PipelineConfig:
    return PipelineConfig.model_validate_json(members(pack)["pipeline.json"])


def test_the_pack_has_both_pages(pack: Path, record: PackRecord, config: PipelineConfig) -> None:
    found = members(pack)
    assert found["README.md"].decode() == card(record, config)
    assert found["LICENSE.md"].decode() == licences_page(record)
    for text in ("# tiny", "3 concepts, 9 names", "| tiny | own | not stated | CC0 |", "| bc5cdr | 500 | public domain"):
        assert text in card(record, config)
    assert "private" not in card(record, config)


def test_a_private_pack_says_so_first(record: PackRecord, config: PipelineConfig) -> None:
    marked = record.model_copy(update={"private": True, "restricted": ("UMLS",)})
    lines = card(marked, config).splitlines()
    assert lines[lines.index("# tiny") + 2] == "**This pack is private: it may not be passed on.** It holds: UMLS."
    assert '"private"' in "".join(front_matter(marked))
    assert "what its owner marked" in card(record.model_copy(update={"private": True}), config)


def test_text_of_others_stays_in_its_cell(record: PackRecord, config: PipelineConfig) -> None:
    source = PackedSource(name="a|b\n# c", vocabulary="", release="<img>", licence="[x](y)")
    page = card(record.model_copy(update={"sources": (source,)}), config)
    assert "| a\\|b \\# c | own | \\<img\\> | \\[x\\](y) |" in page


def test_the_front_matter_is_yaml(record: PackRecord) -> None:
    yaml = pytest.importorskip("yaml")
    results = [{"task": {"type": "token-classification"}, "metrics": [{"type": "f1", "value": 75.0}]}]
    found = yaml.safe_load("\n".join(front_matter(record, results)))
    assert found["license_link"] == "LICENSE.md"
    assert found["model-index"] == json.loads(json.dumps([{"name": "tiny", "results": results}]))


def test_what_the_pipeline_says_of_licences_is_kept(record: PackRecord) -> None:
    assert licences_page(record, "Permission is hereby granted\n").endswith(
        "## As the pipeline states\n\nPermission is hereby granted\n"
    )
