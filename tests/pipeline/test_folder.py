"""A pipeline as a folder: written, opened, moved, changed."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import onym
from onym.errors import ConfigError, InputError, IntegrityError
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.linkers.named import LinkerOptions
from onym.pipeline import pipeline as pipeline_module
from onym.pipeline.folder import FILE, Choice, build_pipeline, load, read_pipeline
from onym.types import Document
from tests.linkers.tiny_model import save_model, save_tokenizer


@pytest.fixture
def kb(tmp_path: Path, tiny_kb: Path) -> Path:
    return shutil.copytree(tiny_kb, tmp_path / "kb")


def test_what_was_built_is_loaded(tmp_path: Path, kb: Path) -> None:
    choice = Choice(types=("C14",), concepts=("mesh:D009203",), threshold=0.5, nested=True)
    built = build_pipeline(kb, tmp_path / "p", choice)
    loaded = load(tmp_path / "p")
    assert loaded.config == built.config
    assert [link.concept_id for link in loaded.link("fever, heart attack").links] == ["mesh:D009203"]
    settings = read_pipeline(tmp_path / "p")
    assert settings.kb.path == kb.resolve().as_posix()
    assert settings.kb.digest == loaded.kb.digest


def test_a_folder_that_holds_everything_can_be_moved(tmp_path: Path, tiny_kb: Path) -> None:
    folder = tmp_path / "whole"
    shutil.copytree(tiny_kb, folder / "kb")
    build_pipeline(folder / "kb", folder)
    assert read_pipeline(folder).kb.path == "kb"
    moved = folder.rename(tmp_path / "moved")
    assert load(moved).link("fever").links[0].concept_id == "mesh:D005334"


def test_a_pipeline_is_not_written_over(tmp_path: Path, kb: Path) -> None:
    build_pipeline(kb, tmp_path / "p")
    with pytest.raises(ConfigError, match="output-exists"):
        build_pipeline(kb, tmp_path / "p", Choice(linker="tfidf"))
    build_pipeline(kb, tmp_path / "p", Choice(linker="tfidf"), force=True)
    assert read_pipeline(tmp_path / "p").linker.kind == "tfidf"


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        (Choice(linker="oracle"), "linker-unknown"),
        (Choice(detector="oracle"), "detector-unknown"),
        (Choice(linker="generative"), "model-missing"),
        (Choice(linker="generative", options=LinkerOptions(model="nowhere")), "model-missing"),
        (Choice(types=("C99",)), "filter-unknown"),
    ],
)
def test_what_cannot_be_opened_is_not_written(tmp_path: Path, kb: Path, choice: Choice, code: str) -> None:
    with pytest.raises(ConfigError, match=code):
        build_pipeline(kb, tmp_path / "p", choice)
    assert not (tmp_path / "p").exists()


def test_another_knowledge_base_in_its_place_is_refused(tmp_path: Path, kb: Path) -> None:
    build_pipeline(kb, tmp_path / "p")
    (tmp_path / "t.tsv").write_text("id\tname\nmesh:D005334\tFever\n")
    build_kb(Recipe.of({"sources": [{"path": "t.tsv"}]}), kb, root=tmp_path)
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")


def test_a_model_that_is_changed_or_gone_is_refused(tmp_path: Path, kb: Path) -> None:
    model = save_model(tmp_path / "model")
    options = LinkerOptions(model=str(model), width=3, search="exact")
    build_pipeline(kb, tmp_path / "p", Choice("none", "generative", options))
    search = load(tmp_path / "p").config["linker"]["search"]
    assert (search["search"], search["width"]) == ("exact", 3)
    (model / "onym.json").write_text("{}")
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")
    shutil.rmtree(model)
    with pytest.raises(InputError, match="pipeline-missing"):
        load(tmp_path / "p")


def test_of_a_tokenizers_folder_only_the_tokenizer_counts(tmp_path: Path, kb: Path) -> None:
    options = LinkerOptions(
        model=str(save_model(tmp_path / "model", has_tokenizer=False)), tokenizer=str(save_tokenizer(tmp_path / "tokens"))
    )
    build_pipeline(kb, tmp_path / "p", Choice("none", "generative", options))
    (tmp_path / "tokens" / "config.json").write_text("{}")
    load(tmp_path / "p")
    save_tokenizer(tmp_path / "tokens", more=1)
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")


def test_a_folder_without_a_pipeline(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pipeline-missing"):
        load(tmp_path)


@pytest.mark.parametrize("change", [{"colour": 1}, {"linker": {"kind": "builtins.eval"}}, {"kb": {"path": 3}}])
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, kb: Path, change: dict[str, object]) -> None:
    build_pipeline(kb, tmp_path / "p")
    path = tmp_path / "p" / FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match="pipeline-malformed"):
        load(tmp_path / "p")
    path.write_text("{")
    with pytest.raises(InputError, match="pipeline-malformed"):
        load(tmp_path / "p")


def test_onym_loads_it_without_torch(tmp_path: Path, kb: Path) -> None:
    build_pipeline(kb, tmp_path / "p")
    assert onym.load(tmp_path / "p").link("fever").links[0].concept_id == "mesh:D005334"
    code = "import sys, onym; onym.load(sys.argv[1]).link('fever'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "p")], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_trained_detector_and_its_linker_read_a_document_once(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onym.encoders import documents
    from tests.encoders.tiny_collective import save_collective

    model = save_collective(tmp_path / "model", threshold=0.0)
    choice = Choice("model", "collective", LinkerOptions(model=str(model)), detector_model=str(model))
    build_pipeline(kb, tmp_path / "p", choice)
    pipeline = load(tmp_path / "p")
    asked: list[int] = []
    own = documents.read_windows

    def read_windows(model: Any, tokenizer: Any, texts: Any, **more: int) -> Any:
        asked.append(len(texts))
        return own(model, tokenizer, texts, **more)

    monkeypatch.setattr(documents, "read_windows", read_windows)
    linked = pipeline.link("A heart attack, then fever.")
    assert linked.links
    assert all(link.candidates for link in linked.links)
    assert sum(asked) == 1
    assert pipeline.config["detector"]["detector"] == "spans"
    assert pipeline.config["linker"]["linker"] == "collective"
    (model / "names" / "config.json").write_text("{}")
    with pytest.raises(IntegrityError, match="pipeline-changed"):
        load(tmp_path / "p")


@pytest.mark.parametrize("linker", ["collective", "tfidf"])  # batches as large, and larger
def test_readings_of_documents_of_any_length_live_as_long_as_their_batch(
    tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch, linker: str
) -> None:
    from onym.encoders import documents
    from onym.linkers import collective
    from tests.encoders.tiny_collective import save_collective

    model = save_collective(tmp_path / "model", threshold=0.0)
    options = LinkerOptions(model=str(model)) if linker == "collective" else LinkerOptions()
    pipeline = build_pipeline(kb, tmp_path / "p", Choice("model", linker, options, detector_model=str(model)))
    for module in (pipeline_module, collective):
        monkeypatch.setattr(module, "_BATCH", 4)
    monkeypatch.setattr(documents, "_TOGETHER", 40)
    readings: list[int] = []
    own = documents.read_windows

    def read_windows(model: Any, tokenizer: Any, texts: Any, **more: int) -> Any:
        readings.append(len(texts))
        return own(model, tokenizer, texts, **more)

    monkeypatch.setattr(documents, "read_windows", read_windows)
    docs = [Document(str(number), "A heart attack, then fever. " * (1 + number)) for number in range(10)]
    for doc, linked in zip(docs, pipeline.iter_linked(docs), strict=True):
        assert linked.document.text == doc.text
        assert sum(type(each) is documents.ReadText for each in gc.get_objects()) <= 4
    assert sum(readings) == len(docs)


def test_a_trained_detector_with_another_linker(tmp_path: Path, kb: Path) -> None:
    from tests.encoders.tiny_collective import save_collective

    model = save_collective(tmp_path / "model", threshold=0.0, links=False, detect="tags")
    pipeline = build_pipeline(kb, tmp_path / "p", Choice("model", "exact", detector_model=str(model)))
    assert pipeline.link("A heart attack, then fever.").links
    with pytest.raises(ConfigError, match="model-missing"):
        build_pipeline(kb, tmp_path / "q", Choice("model", "exact"))
