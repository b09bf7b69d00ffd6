"""Tests of compressed packs: int8 encoders and compact indexes that run without torch."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import onym
from onym.errors import ConfigError
from onym.methods import linker_config
from onym.packs.build import build_pack, compress_pipeline
from onym.packs.locate import read_pipeline
from onym.parts import OpenContext
from onym.pipeline.folder import build_pipeline
from tests.packs.made import members, write_pipeline
from tests.support.models import save_encoder

TEXT = "High blood pressure, and a heart attack"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def pipeline(tmp_path: Path, tiny_kb: Path) -> Path:
    """Return a pipeline with a dense linker and its own knowledge base."""
    kb = shutil.copytree(tiny_kb, tmp_path / "kb")
    linker = linker_config("dense", model=save_encoder(tmp_path / "tiny-bert"), index="hnsw")
    build_pipeline(kb, tmp_path / "pipeline", linker=linker)
    return tmp_path / "pipeline"


def test_pack_contains_int8_encoder_and_compact_index(tmp_path: Path, pipeline: Path) -> None:
    build_pack(pipeline, tmp_path / "large.onymp")
    build_pack(pipeline, tmp_path / "small.onymp", compress=True)
    large, small = (members(tmp_path / f"{name}.onymp") for name in ("large", "small"))
    linker = json.loads(small["pipeline.json"])["linker"]
    assert (linker["model"]["path"], linker["index"]) == ("models/tiny-bert-int8", "sq8")
    weights = [
        len(each[f"models/{name}/model.safetensors"]) for each, name in ((large, "tiny-bert"), (small, "tiny-bert-int8"))
    ]
    assert weights[1] < 0.5 * weights[0]
    assert [name for name in small if name.endswith("vectors.f16")] == []
    assert [name for name in large if name.endswith("vectors.f16")] != []
    assert [name for name in small if "/vectors/" in name] == []
    assert len([name for name in small if name.startswith("knowledge-base/indexes/") and name.endswith("index.faiss")]) == 1
    assert [name for name, data in small.items() if str(tmp_path).encode() in data] == []


def test_links_do_not_change(tmp_path: Path, pipeline: Path) -> None:
    build_pack(pipeline, tmp_path / "small.onymp", compress=True)
    expected = onym.load(pipeline).link(TEXT)
    found = onym.load(tmp_path / "small.onymp").link(TEXT)
    assert [link.concept_id for link in found.links] == [link.concept_id for link in expected.links]
    assert found.links[0].candidates[0].score != expected.links[0].candidates[0].score


def test_links_without_torch(tmp_path: Path, pipeline: Path) -> None:
    build_pack(pipeline, tmp_path / "small.onymp", compress=True)
    code = "import sys, onym; assert onym.load(sys.argv[1]).link(sys.argv[2]).links\n"
    code += "assert not {'torch', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "small.onymp"), TEXT], check=True)


def test_build_is_reproducible(tmp_path: Path, pipeline: Path) -> None:
    for name in ("a", "b"):
        build_pack(pipeline, tmp_path / f"{name}.onymp", compress=True, name="small")
    build_pack(tmp_path / "a.onymp", tmp_path / "c.onymp", compress=True, name="small")
    packs = [(tmp_path / f"{name}.onymp").read_bytes() for name in "abc"]
    assert packs[0] == packs[1]
    assert members(tmp_path / "a.onymp")["pipeline.json"] == members(tmp_path / "c.onymp")["pipeline.json"]


def test_names_are_not_encoded_again(tmp_path: Path, pipeline: Path) -> None:
    vectors = tmp_path / "kb" / "vectors"
    before = {path.name for path in vectors.iterdir()}
    with compress_pipeline(read_pipeline(pipeline), pipeline, OpenContext()) as smaller:
        assert smaller.linker.model_dump()["index"] == "sq8"
        folder = Path(smaller.linker.model_dump()["model"]["path"])
        assert folder.is_dir()
    assert not folder.exists()
    assert {path.name for path in vectors.iterdir()} == before
    made = [json.loads(path.read_bytes())["config"]["kind"] for path in (tmp_path / "kb/indexes").glob("*/*/manifest.json")]
    assert {"hnsw", "sq8"} <= set(made)


def test_rejects_a_pipeline_without_dense_linker(tmp_path: Path, tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to compress"):
        build_pack(write_pipeline(tmp_path / "a", tiny_kb), tmp_path / "small.onymp", compress=True)
    assert not (tmp_path / "small.onymp").exists()


def test_rejects_an_encoder_that_needs_torch(tmp_path: Path, tiny_kb: Path) -> None:
    linker = linker_config("dense", model=save_encoder(tmp_path / "tiny", "mpnet"))
    build_pipeline(shutil.copytree(tiny_kb, tmp_path / "kb"), tmp_path / "pipeline", linker=linker)
    with pytest.raises(ConfigError, match="model-family"):
        build_pack(tmp_path / "pipeline", tmp_path / "small.onymp", compress=True)
    assert not (tmp_path / "small.onymp").exists()
