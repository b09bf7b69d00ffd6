"""Tests of sentence-transformers folders: old and new file formats, and unsupported settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError, InputError
from onym.models.settings import read_modules

KINDS = ("Transformer", "Pooling", "Normalize")
OLD = {"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


def save_modules(folder: Path, kinds: tuple[str, ...] = KINDS, pooling: Any = OLD, **others: Any) -> Path:
    """Write the files of a sentence-transformers folder; `others` are further JSON files by name without extension."""
    paths = [f"{number}_{kind}" if number else "" for number, kind in enumerate(kinds)]
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in zip(kinds, paths, strict=True)]
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    files = {"modules": modules, "1_Pooling/config": pooling, "sentence_bert_config": {"max_seq_length": 256}}
    for name, content in (files | others).items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_old_file_format(tmp_path: Path) -> None:
    assert read_modules(save_modules(tmp_path)) == {"pooling": "mean", "similarity": "cosine", "length": 256}


@pytest.mark.parametrize(
    ("pooling", "wanted"),
    [
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
        ({"pooling_mode": ["cls"]}, "cls"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
    ],
)
def test_poolings(tmp_path: Path, pooling: Any, wanted: str) -> None:
    assert read_modules(save_modules(tmp_path, pooling=pooling))["pooling"] == wanted


@pytest.mark.parametrize(("said", "wanted"), [({}, "cosine"), ({"similarity_fn_name": None}, "cosine"),
                                              ({"similarity_fn_name": "dot"}, "dot")])  # fmt: skip
def test_without_normalisation(tmp_path: Path, said: Any, wanted: str) -> None:
    folder = save_modules(tmp_path, KINDS[:2], config_sentence_transformers=said)
    assert read_modules(folder)["similarity"] == wanted


def test_lengths(tmp_path: Path) -> None:
    save_modules(tmp_path, sentence_bert_config={"max_seq_length": None}, tokenizer_config={"model_max_length": 384})
    assert read_modules(tmp_path)["length"] == 384
    save_modules(tmp_path, sentence_bert_config={}, tokenizer_config={"model_max_length": 10**30})
    assert read_modules(tmp_path)["length"] == 100_000


@pytest.mark.parametrize(
    ("kinds", "pooling", "others"),
    [
        (("Transformer", "Pooling", "Dense"), OLD, {}),
        (("Transformer", "Pooling", "Dense", "Normalize"), OLD, {}),
        (("Transformer",), OLD, {}),
        (KINDS, {"pooling_mode": "max"}, {}),
        (KINDS, {"pooling_mode": ["cls", "mean"]}, {}),
        (KINDS, OLD | {"pooling_mode_cls_token": True}, {}),
        (KINDS, {}, {}),
        (KINDS[:2], OLD, {"config_sentence_transformers": {"similarity_fn_name": "euclidean"}}),
    ],
)
def test_rejects_unsupported_settings(tmp_path: Path, kinds: tuple[str, ...], pooling: Any, others: Any) -> None:
    with pytest.raises(ConfigError, match="model-family"):
        read_modules(save_modules(tmp_path, kinds, pooling, **others))


@pytest.mark.parametrize(
    "modules", [{}, 3, [1], [{"type": "a.Transformer"}], [{"type": "a.Transformer", "path": "../other"}], [["type"]]]
)
def test_broken_file(tmp_path: Path, modules: Any) -> None:
    with pytest.raises((InputError, ConfigError), match="model-malformed|model-family"):
        read_modules(save_modules(tmp_path, modules=modules))
    (tmp_path / "modules.json").write_text("[")
    with pytest.raises(InputError, match="model-malformed"):
        read_modules(tmp_path)


@pytest.mark.parametrize("path", ["..", "../other", ".hidden", "a/b", "/etc"])
def test_rejects_module_path_outside_folder_or_hidden(tmp_path: Path, path: str) -> None:
    modules = [{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": path}]
    with pytest.raises(InputError, match="model-malformed"):
        read_modules(save_modules(tmp_path, modules=modules))


def test_pooling_file_is_not_an_object(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="model-malformed"):
        read_modules(save_modules(tmp_path, pooling=[1]))
