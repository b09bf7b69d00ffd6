"""Tests that packs are complete, reproducible, and contain no local paths."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import onym
from onym.errors import ConfigError
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.kb.search import FOLDER as SIMILARITIES
from onym.packs.build import build_pack
from onym.pipeline import PipelineOptions, build_pipeline
from tests.packs.made import LICENCES, members, record_of, write_pack, write_pipeline


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))


def test_build_is_reproducible(tmp_path: Path, tiny_kb: Path) -> None:
    pipeline = write_pipeline(tmp_path / "a", tiny_kb)
    shutil.copytree(tiny_kb, tmp_path / "elsewhere" / "kb")
    other = write_pipeline(tmp_path / "elsewhere", tmp_path / "elsewhere" / "kb")
    build_pack(pipeline, tmp_path / "tiny.onymp")
    build_pack(other, tmp_path / "elsewhere" / "tiny.onymp")
    assert (tmp_path / "tiny.onymp").read_bytes() == (tmp_path / "elsewhere" / "tiny.onymp").read_bytes()


def test_contains_no_local_paths(tmp_path: Path, tiny_kb: Path) -> None:
    record = {"config": {"data": {"kb": str(tiny_kb), "private": False}}}
    pipeline = write_pipeline(tmp_path / "a", tiny_kb, record)
    build_pack(pipeline, tmp_path / "tiny.onymp")
    found = members(tmp_path / "tiny.onymp")
    for path in (tmp_path, tiny_kb, Path.cwd()):
        assert [name for name, data in found.items() if str(path).encode() in data] == []
    assert json.loads(found["models/reranker/training.json"])["config"]["data"]["kb"] == "kb"
    assert onym.load(tmp_path / "tiny.onymp").link("fever").links[0].concept_id == "mesh:D005334"


def test_pack_links_like_the_pipeline(tmp_path: Path, tiny_kb: Path) -> None:
    pipeline = write_pipeline(tmp_path / "a", tiny_kb, options=PipelineOptions(types=("C14",), threshold=0.1, top_k=2))
    build_pack(pipeline, tmp_path / "tiny.onymp", force=True)
    text = "High blood pressure, MI, fever"
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    expected = onym.load(pipeline).link(text)
    shutil.rmtree(tmp_path / "a")
    assert onym.load(tmp_path / "tiny.onymp").link(text) == expected


def test_contains_derived_data_in_use(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.kb.search._FEW", 0)
    monkeypatch.setattr("onym.kb.name_table._FEW", 0)
    kb = shutil.copytree(tiny_kb, tmp_path / "kb")
    (kb / "tries").mkdir()
    write_pack(tmp_path / "a", kb)
    folders = {name.split("/")[1] for name in members(tmp_path / "a" / "tiny.onymp") if name.startswith("knowledge-base/")}
    assert folders >= {"CURRENT", SIMILARITIES, "name-tables"}
    monkeypatch.setattr("onym.kb.search.write_similarity", None)
    monkeypatch.setattr("onym.kb.name_table.write_name_table", None)
    loaded = onym.load(tmp_path / "a" / "tiny.onymp")
    assert len(list(loaded.link_many([onym.Document(str(number), "fever") for number in range(20)]))) == 20


def test_a_pipeline_without_models_and_detector(tmp_path: Path, tiny_kb: Path) -> None:
    build_pipeline(tiny_kb, tmp_path / "p", detector=None)
    record = build_pack(tmp_path / "p", tmp_path / "exact.onymp", name="other", version="2.1")
    assert (record.name, record.version, record.corpora) == ("other", "2.1", ())
    doc = onym.Document("1", "fever", (onym.Mention(0, 5, "fever"),))
    assert onym.load(tmp_path / "exact.onymp").link(doc).links[0].concept_id == "mesh:D005334"


def test_packing_a_pack_gives_the_same_pack(tmp_path: Path, tiny_kb: Path) -> None:
    first = write_pack(tmp_path / "a", tiny_kb)
    build_pack(first, tmp_path / "tiny.onymp", licences=LICENCES)
    assert (tmp_path / "tiny.onymp").read_bytes() == first.read_bytes()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"name": "../evil"}, "config-invalid"),
        ({"version": "one"}, "config-invalid"),
        ({"releases": {"tyni": "1"}}, "config-invalid"),
        ({"licences": {"tyni": "CC0"}}, "config-invalid"),
    ],
)
def test_usage_errors_write_nothing(tmp_path: Path, tiny_kb: Path, options: dict[str, str], code: str) -> None:
    with pytest.raises(ConfigError, match=code):
        write_pack(tmp_path / "a", tiny_kb, **options)
    assert not (tmp_path / "a" / "tiny.onymp").exists()


def test_does_not_overwrite_and_requires_the_extension(tmp_path: Path, tiny_kb: Path) -> None:
    pack = write_pack(tmp_path / "a", tiny_kb)
    with pytest.raises(ConfigError, match="output-exists"):
        build_pack(tmp_path / "a" / "pipeline", pack)
    with pytest.raises(ConfigError, match="must end in"):
        build_pack(tmp_path / "a" / "pipeline", tmp_path / "tiny.zip")
    build_pack(tmp_path / "a" / "pipeline", pack, version="3", force=True)
    assert record_of(pack).version == "3"


def test_rejects_unsafe_file_names(tmp_path: Path, tiny_kb: Path) -> None:
    pipeline = write_pipeline(tmp_path / "a", tiny_kb)
    (tmp_path / "a" / "reranker" / "my notes.txt").write_text("notes")
    build_pipeline(tiny_kb, pipeline, linker=onym.linker_config("rerank", model=tmp_path / "a" / "reranker"), force=True)
    with pytest.raises(ConfigError, match="pack-name"):
        build_pack(pipeline, tmp_path / "tiny.onymp")
    assert not (tmp_path / "tiny.onymp").exists()


def test_restricted_vocabularies_need_private(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("id\tname\numls:C0015967\tFever\n")
    build_kb(Recipe.of({"sources": [{"path": "t.tsv", "name": "mine"}]}), tmp_path / "kb", root=tmp_path)
    build_pipeline(tmp_path / "kb", tmp_path / "p")
    with pytest.raises(ConfigError, match="pack-restricted") as caught:
        build_pack(tmp_path / "p", tmp_path / "own.onymp")
    assert "UMLS" in caught.value.what
    assert not (tmp_path / "own.onymp").exists()
    record = build_pack(tmp_path / "p", tmp_path / "own.onymp", private=True)
    assert (record.private, record.restricted) == (True, ("UMLS",))
    assert b"This pack is private" in members(tmp_path / "own.onymp")["README.md"]


@pytest.mark.parametrize("prefix", ["mine", "mesh"])
def test_rejects_umls_under_another_name(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "mesh-2026.tsv").write_text("id\tname\nC0015967\tFever\n")
    source = {"path": "mesh-2026.tsv", "name": "MeSH", "prefix": prefix}
    build_kb(Recipe.of({"sources": [source]}), tmp_path / "kb", root=tmp_path)
    build_pipeline(tmp_path / "kb", tmp_path / "p")
    with pytest.raises(ConfigError, match="pack-restricted.*UMLS"):
        build_pack(tmp_path / "p", tmp_path / "own.onymp", licences={"MeSH": "CC0"})
    assert not (tmp_path / "own.onymp").exists()


def test_unknown_source_needs_a_licence_or_private(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("id\tname\nward:7\tFever\n")
    build_kb(Recipe.of({"sources": [{"path": "t.tsv", "name": "mine"}]}), tmp_path / "kb", root=tmp_path)
    build_pipeline(tmp_path / "kb", tmp_path / "p")
    with pytest.raises(ConfigError, match="pack-restricted") as caught:
        build_pack(tmp_path / "p", tmp_path / "own.onymp")
    assert '--licence "mine=..."' in caught.value.fix
    assert build_pack(tmp_path / "p", tmp_path / "own.onymp", licences={"mine": "CC0"}).restricted == ()
    assert build_pack(tmp_path / "p", tmp_path / "own.onymp", private=True, force=True).restricted


def test_contains_encoder_and_index(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    from tests.support.models import save_encoder

    kb, model = shutil.copytree(tiny_kb, tmp_path / "kb"), save_encoder(tmp_path / "minilm")
    build_pipeline(kb, tmp_path / "p", linker=onym.linker_config("dense", model=model, index="flat"))
    build_pack(tmp_path / "p", tmp_path / "dense.onymp")
    expected = onym.load(tmp_path / "p").link("fever, heart attack")
    found = members(tmp_path / "dense.onymp")
    folders = {name.split("/")[1] for name in found if name.startswith("knowledge-base/")}
    assert "indexes" in folders
    assert "vectors" not in folders, "an index is built of them, and found without"
    assert "models/minilm/model.safetensors" in found
    monkeypatch.setattr("onym.methods.dense.index.build.stage_index", None)
    shutil.rmtree(tmp_path / "p")
    assert onym.load(tmp_path / "dense.onymp").link("fever, heart attack") == expected
