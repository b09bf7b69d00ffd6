"""Tests of the card of a pack, and of the page of its licences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.methods.compose.by_type import ByTypeLinkerConfig
from onym.methods.compose.several import SeveralDetectorConfig
from onym.packs.archive import PackRecord
from onym.packs.build import build_pack
from onym.packs.card import card_metadata, pack_card, pack_licences
from onym.packs.provenance import LicenceTerms, PackedSource, licences_page
from onym.pipeline.config import PipelineConfig, PlugIn
from onym.store.markdown import front_matter
from tests.packs.made import LICENCES, members, record_of, write_pack, write_pipeline
from tests.pipeline.calibrated import fit_calibration


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
    assert found["README.md"].decode() == pack_card(record, config)
    assert found["LICENSE.md"].decode() == pack_licences(record)
    for text in ("# tiny", "3 concepts, 9 names", "| tiny | own | not stated | CC0 |", "| bc5cdr | 500 | public domain"):
        assert text in pack_card(record, config)
    assert "private" not in pack_card(record, config)


def test_private_pack_starts_with_a_notice(record: PackRecord, config: PipelineConfig) -> None:
    marked = record.model_copy(update={"private": True, "restricted": ("UMLS",)})
    lines = pack_card(marked, config).splitlines()
    assert lines[lines.index("# tiny") + 2] == "**This pack is private and may not be redistributed.** It holds: UMLS."
    assert '"private"' in "".join(front_matter(card_metadata(marked)))
    assert "data marked private by its owner" in pack_card(record.model_copy(update={"private": True}), config)


def test_third_party_text_is_escaped(record: PackRecord, config: PipelineConfig) -> None:
    source = PackedSource(name="a|b\n# c", vocabulary="", release="<img>", licence="[x](y)")
    page = pack_card(record.model_copy(update={"sources": (source,)}), config)
    assert "| a\\|b \\# c | own | \\<img\\> | \\[x\\](y) |" in page
    plug_in = PlugIn(kind="linker", name="a\n# b", package="<img>", version="1")
    page = pack_card(record, config.model_copy(update={"plug_ins": (plug_in,)}))
    assert "- Plug-in: linker a \\# b of \\<img\\> 1" in page.splitlines()


def test_a_pipeline_of_many_types_has_a_row_for_each(record: PackRecord, config: PipelineConfig) -> None:
    assert "| type |" not in pack_card(record, config)
    linker = {"parts": [{"kind": "exact"}, {"kind": "variants"}], "types": [["Gene", "a|b"], ["DNAMutation"]]}
    parts = [{"kind": "variants"}, {"kind": "dictionary", "types": "gene"}, {"kind": "dictionary"}]
    many = config.model_copy(
        update={"linker": ByTypeLinkerConfig.of(linker), "detector": SeveralDetectorConfig.of({"parts": parts})}
    )
    lines = pack_card(record, many).splitlines()
    assert "| Gene | dictionary, dictionary | exact | - |" in lines
    assert "| a\\|b | dictionary | exact | - |" in lines
    assert "| DNAMutation | variants | variants | - |" in lines
    fitted = fit_calibration()
    calibrated = many.model_copy(update={"calibration": fitted.model_copy(update={"by_type": {"gene": fitted.calibration}})})
    lines = pack_card(record, calibrated).splitlines()
    quality = fitted.calibration.quality
    assert f"| Gene | dictionary, dictionary | exact | {quality.ece:.3f}, of {quality.answers:,} answers |" in lines
    assert "| DNAMutation | variants | variants | that of all types |" in lines


def test_the_front_matter_is_yaml(record: PackRecord) -> None:
    yaml = pytest.importorskip("yaml")
    results = [{"task": {"type": "token-classification"}, "metrics": [{"type": "f1", "value": 75.0}]}]
    found = yaml.safe_load("\n".join(front_matter(card_metadata(record, results))[1:-1]))
    assert found["license_link"] == "LICENSE.md"
    assert found["model-index"] == json.loads(json.dumps([{"name": "tiny", "results": results}]))


def test_keeps_the_licence_text_of_the_pipeline(record: PackRecord) -> None:
    assert pack_licences(record, "Permission is hereby granted\n").endswith(
        "## As the pipeline states\n\nPermission is hereby granted\n"
    )


def test_the_attributions_of_a_recipe_are_kept(tmp_path: Path, tiny_kb: Path) -> None:
    pipeline = write_pipeline(tmp_path, tiny_kb)
    (pipeline / "ATTRIBUTION.md").write_text("# Licences of fevers\n\nCite the fevers.\n")
    build_pack(pipeline, tmp_path / "tiny.onymp", licences=LICENCES)
    assert members(tmp_path / "tiny.onymp")["LICENSE.md"].decode().endswith("Cite the fevers.\n")


def test_packs_and_recipes_share_the_licence_page_format(record: PackRecord) -> None:
    assert "- **tiny**, release not stated. Licence: CC0" in pack_licences(record).splitlines()
    terms = LicenceTerms(title="Fevers", version="2", licence="CC0", attribution="Cite the fevers.")
    page = licences_page("fevers", "A pipeline.", {"Knowledge base": [terms], "Models": []})
    assert page.splitlines()[4:] == [
        "## Knowledge base",
        "",
        "- **Fevers**, release 2. Licence: CC0",
        "",
        "  Cite the fevers.",
    ]
