"""Tests of opening linkers by their short names."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.methods import linker_config, open_linker
from onym.parts import OpenContext
from onym.registry import LINKERS
from onym.types import Candidate, Document, Mention
from tests.modules import without_torch
from tests.support.linking import link_with
from tests.support.models import save_collective, save_encoder, save_model, save_tokenizer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("named") / "tiny-bart")


def test_the_built_in_linkers() -> None:
    own = [part.name for part, _ in LINKERS.parts() if part.is_built_in]
    assert own == [
        "by_type",
        "cascade",
        "collective",
        "dense",
        "exact",
        "generative",
        "genes",
        "organisms",
        "rerank",
        "tfidf",
        "variants",
    ]


@pytest.mark.parametrize("name", ["cascade", "collective", "dense", "exact", "generative", "tfidf", "variants"])
def test_config_has_the_name_of_the_linker(tmp_path: Path, tiny_kb: Path, model: Path, name: str) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    options: dict[str, Any] = {"model": model} if name in ("cascade", "generative") else {}
    if name in ("dense", "collective"):
        options = {"model": (save_encoder if name == "dense" else save_collective)(tmp_path / "tiny-bert")}
    config = linker_config(name, **options)
    assert config.kind == name
    linker = open_linker(config, kb)
    assert linker.config["linker"] == name
    assert linker.kb is kb


def test_opens_linker_by_short_name(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    assert open_linker("tfidf", kb).config == open_linker(linker_config("tfidf"), kb).config


@pytest.mark.parametrize("name", ["exact", "tfidf", "dense", "generative", "collective", "cascade", "rerank"])
def test_rejects_unknown_options_and_those_of_other_linkers(name: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        linker_config(name, colour="red")
    assert linker_config(name, colour=None) == linker_config(name)


def test_the_kind_of_index_reaches_the_linker(tmp_path: Path, tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    config = linker_config("dense", model=str(save_encoder(tmp_path / "tiny-bert")), index="sq8")
    assert open_linker(config, kb).config["index"] == "sq8"


@pytest.mark.parametrize(("name", "said"), [("dense", "encoding names"), ("generative", "building the trie")])
def test_reports_progress_of_the_first_build(tmp_path: Path, tiny_kb: Path, model: Path, name: str, said: str) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb", ignore=shutil.ignore_patterns("tries")))
    config = linker_config(name, model=save_encoder(tmp_path / "tiny-bert") if name == "dense" else model)
    steps: list[tuple[str, int]] = []
    for _ in range(2):
        open_linker(config, kb, OpenContext(progress=lambda *step: steps.append(step)))
    assert steps.count((said, len(kb.names))) == 1


def test_the_options_reach_the_linker(tmp_path: Path, tiny_kb: Path, model: Path) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    tokens = save_tokenizer(tmp_path / "tokens", more=1)
    options: dict[str, Any] = {"template": "genre", "search": "exact", "ranking": "sum", "width": 3, "window": 64}
    config = open_linker(linker_config("generative", model=model, tokenizer=tokens, **options), kb).config
    assert config | config["search"] | options == config | config["search"]
    assert config["search"]["top_k"] == 3
    assert config["tokenizer"] != open_linker(linker_config("generative", model=model), kb).config["tokenizer"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "model-missing"),
        ({"model": "lab/model"}, "model-missing"),
        ({"model": "lab/model", "template": "x"}, "template-unknown"),
    ],
)
def test_a_generative_linker_without_its_model(tiny_kb: Path, options: dict[str, str], code: str) -> None:
    with pytest.raises(ConfigError, match=code):
        open_linker(linker_config("generative", **options), KnowledgeBase.open(tiny_kb))


@pytest.mark.parametrize("name", ["dense", "collective"])
@pytest.mark.parametrize("model", [None, "lab/model"])
def test_a_linker_with_embeddings_without_its_model(tiny_kb: Path, name: str, model: str | None) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        open_linker(linker_config(name, model=model), KnowledgeBase.open(tiny_kb))


@pytest.mark.parametrize("name", ["dense", "collective", "generative"])
def test_a_linker_without_its_packages(tiny_kb: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    without_torch(monkeypatch, "onym.models", "onym.methods.")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"onym\[models\]") as caught:
        open_linker(linker_config(name, model="lab/model"), KnowledgeBase.open(tiny_kb))
    assert caught.value.code == "extra-missing"


@pytest.mark.parametrize("name", ["oracle", "base", "_nearest", "onym.methods.exact", "exact.open", ""])
def test_an_unknown_name(tiny_kb: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="part-unknown"):
        linker_config(name)
    with pytest.raises(ConfigError, match="part-unknown"):
        open_linker(name, KnowledgeBase.open(tiny_kb))


def test_a_cascade_needs_a_model_or_an_encoder(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        open_linker("cascade", KnowledgeBase.open(tiny_kb))
    with pytest.raises(ConfigError, match="config-invalid"):
        linker_config("cascade", search="exact")


def test_cascade_of_exact_and_dense(tmp_path: Path, tiny_kb: Path) -> None:
    pytest.importorskip("faiss")
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    linker = open_linker(linker_config("cascade", encoder=str(save_encoder(tmp_path / "tiny-bert"))), kb)
    assert [part["linker"] for part in linker.config["parts"]] == ["exact", "dense"]


@pytest.mark.parametrize("name", ["cascade", "collective", "dense", "exact", "generative", "tfidf"])
@pytest.mark.parametrize("prefer", [(), ("mondo",)])
def test_all_linkers_order_ties_equally(tmp_path: Path, model: Path, name: str, prefer: tuple[str, ...]) -> None:
    """In every linker, candidates with equal scores follow the order of the knowledge base, and all ties are counted."""
    kb = make_tied_kb(tmp_path, prefer)
    options: dict[str, Any] = {"model": model} if name in ("cascade", "generative") else {}
    if name in ("dense", "collective"):
        options = {"model": (save_encoder if name == "dense" else save_collective)(tmp_path / "tiny-bert")}
    linker = open_linker(linker_config(name, **options), kb)
    text = "cancer, growth"
    doc = Document("1", text, (Mention(0, 6, "cancer"), Mention(8, 14, "growth")))
    (whole,), (cut,) = link_with(linker, [doc], top_k=100), link_with(linker, [doc], top_k=1)
    for link, short in zip(whole.links, cut.links, strict=True):
        keys = [(-each.score, *order_key(kb, each)) for each in link.candidates]
        assert len(keys) > 1
        assert keys == sorted(keys)
        assert link.tied == sum(each.score == link.candidates[0].score for each in link.candidates) - 1
        assert (short.candidates, short.tied) == (link.candidates[:1], link.tied)
    if name in ("exact", "tfidf", "dense"):
        assert whole.links[0].concept_id == ("mondo:1" if prefer else "mesh:D2")
        assert whole.links[0].tied == 3


def order_key(kb: KnowledgeBase, candidate: Candidate) -> tuple[int, ...]:
    return kb.order.key(kb.concept_ids.find(candidate.concept_id), kb.find(candidate.name))


def make_tied_kb(folder: Path, prefer: tuple[str, ...]) -> KnowledgeBase:
    """Build a knowledge base from two vocabularies whose concepts share names."""
    head = "id\tname\tsynonyms\n"
    (folder / "mesh.tsv").write_text(f"{head}mesh:C1\tlump\tcancer\nmesh:D1\tlump\tcancer|growth\nmesh:D2\tcancer\t\n")
    (folder / "mondo.tsv").write_text(f"{head}mondo:1\tcancer\tgrowth\n")
    recipe = Recipe.of({"sources": [{"path": "mesh.tsv"}, {"path": "mondo.tsv"}]})
    build_kb(recipe, folder / "tied-kb", root=folder)
    return KnowledgeBase.open(folder / "tied-kb", prefer=prefer)
