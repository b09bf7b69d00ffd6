"""Linkers by name."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from onym.linkers.named import LINKERS, LinkerOptions, linker_named

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from tests.encoders.tiny_collective import save_collective
from tests.encoders.tiny_encoder import save_encoder
from tests.linkers.tiny_model import save_model, save_tokenizer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("named") / "tiny-bart")


@pytest.mark.parametrize("name", LINKERS)
def test_the_linker_says_its_own_name(tmp_path: Path, tiny_kb: Path, model: Path, name: str) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    folder = model
    if name in ("dense", "collective"):
        folder = (save_encoder if name == "dense" else save_collective)(tmp_path / "tiny-bert")
    assert linker_named(name, kb, LinkerOptions(model=str(folder))).config["linker"] == name


def test_the_kind_of_index_reaches_the_linker(tmp_path: Path, tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    options = LinkerOptions(model=str(save_encoder(tmp_path / "tiny-bert")), index="sq8")
    assert linker_named("dense", kb, options).config["index"] == "sq8"


@pytest.mark.parametrize(("name", "said"), [("dense", "encoding names"), ("generative", "growing the trie")])
def test_what_is_built_on_first_use_is_told(tmp_path: Path, tiny_kb: Path, model: Path, name: str, said: str) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb", ignore=shutil.ignore_patterns("tries")))
    options = LinkerOptions(model=str(save_encoder(tmp_path / "tiny-bert") if name == "dense" else model))
    told: list[tuple[str, int]] = []
    for _ in range(2):
        linker_named(name, kb, options, progress=lambda *words: told.append(words))
    assert told.count((said, len(kb.names))) == 1


def test_the_options_reach_the_linker(tmp_path: Path, tiny_kb: Path, model: Path) -> None:
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    tokens = save_tokenizer(tmp_path / "tokens", more=1)
    told = {"template": "genre", "search": "exact", "ranking": "sum", "width": 3, "window": 64}
    options = LinkerOptions(model=str(model), tokenizer=str(tokens), **told)  # type: ignore[arg-type]
    config = linker_named("generative", kb, options).config
    assert config | config["search"] | told == config | config["search"]
    assert config["search"]["top_k"] == 3
    assert config["tokenizer"] != linker_named("generative", kb, LinkerOptions(model=str(model))).config["tokenizer"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (None, "model-missing"),
        (LinkerOptions(model="lab/model"), "model-missing"),
        (LinkerOptions(model="lab/model", template="x"), "template-unknown"),
    ],
)
def test_a_generative_linker_without_its_model(tiny_kb: Path, options: LinkerOptions | None, code: str) -> None:
    with pytest.raises(ConfigError, match=code):
        linker_named("generative", KnowledgeBase.open(tiny_kb), options)


@pytest.mark.parametrize("options", [None, LinkerOptions(model="lab/model")])
def test_a_dense_linker_without_its_model(tiny_kb: Path, options: LinkerOptions | None) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        linker_named("dense", KnowledgeBase.open(tiny_kb), options)


def test_a_dense_linker_without_its_packages(tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith(("onym.encoders", "onym.linkers.dense"))]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match=r"onym\[dense\]"):
        linker_named("dense", KnowledgeBase.open(tiny_kb), LinkerOptions(model="lab/model"))


def test_a_generative_linker_without_its_packages(tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [
        name for name in sys.modules if name.startswith(("onym.decoding", "onym.encoders", "onym.linkers.generative"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match="extra-missing"):
        linker_named("generative", KnowledgeBase.open(tiny_kb), LinkerOptions(model="lab/model"))


def test_an_unknown_name(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="linker-unknown"):
        linker_named("oracle", KnowledgeBase.open(tiny_kb))


def test_a_cascade_needs_a_model_or_an_encoder(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        linker_named("cascade", KnowledgeBase.open(tiny_kb))


def test_a_cascade_of_equal_and_near_names(tmp_path: Path, tiny_kb: Path) -> None:
    pytest.importorskip("faiss")
    kb = KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path / "kb"))
    config = linker_named("cascade", kb, LinkerOptions(encoder=str(save_encoder(tmp_path / "tiny-bert")))).config
    assert [part["linker"] for part in config["parts"]] == ["exact", "dense"]
