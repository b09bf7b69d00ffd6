"""Hostile model folders: each is a valid folder and a function that damages it. Files outside the folder must not be read."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file, save_file

from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.methods.dense.linker import DenseLinkerConfig
from onym.parts import ModelReference
from onym.pipeline import build_pipeline
from tests.support.models import save_collective, save_encoder, save_model, save_tokenizer

Kind = Literal["encoder", "bart", "t5", "collective", "convert", "pipeline", "onnx"]
Spoil = Callable[[Path], object]
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


@dataclass(frozen=True)
class Case:
    """A hostile folder. `spoil` modifies a copy of the valid folder of this kind."""

    name: str
    kind: Kind
    spoil: Spoil

    def make(self, base: Path, honest: Path) -> Path:
        """Make the folder in `base`, with the other models in `outside`, and return it."""
        shutil.copytree(honest / "outside", base / "outside", symlinks=True)
        folder = shutil.copytree(honest / self.kind, base / "model", symlinks=True)
        self.spoil(folder)
        return folder


class Evil:
    """Creates a marker folder next to the model's folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self._mark = folder.parent / "executed"

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._mark),)


def evil_code(folder: Path) -> str:
    """Return the source of a module that creates the marker when imported, and has any attribute."""
    mark = str(folder.parent / "executed")
    return f"import os\nos.makedirs({mark!r}, exist_ok=True)\n__getattr__ = lambda name: type(name, (), {{}})\n"


def both(*spoils: Spoil) -> Spoil:
    """Combine several modifications."""

    def spoil(folder: Path) -> None:
        for each in spoils:
            each(folder)

    return spoil


def nothing(_: Path) -> None:
    """Do not modify the folder."""


def text(name: str, content: str | bytes) -> Spoil:
    """Write a file, replacing any existing one."""

    def spoil(folder: Path) -> None:
        path = remove_path(folder / name)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return spoil


def value(name: str, content: Any) -> Spoil:
    """Write a JSON file, replacing any existing one."""
    return text(name, json.dumps(content))


def change_json(name: str, **changes: Any) -> Spoil:
    """Change some values of a JSON file."""

    def spoil(folder: Path) -> None:
        found = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
        (folder / name).write_text(json.dumps(found | changes))

    return spoil


def code(*names: str) -> Spoil:
    """Add Python code to the folder."""

    def spoil(folder: Path) -> None:
        for name in names:
            remove_path(folder / name).write_text(evil_code(folder))

    return spoil


def link(name: str, target: str) -> Spoil:
    """Replace a file with a symlink to `target`, stored verbatim."""
    return lambda folder: remove_path(folder / name).symlink_to(target)


def pipe(name: str) -> Spoil:
    """Replace a file with a pipe that has no writer."""
    return lambda folder: os.mkfifo(remove_path(folder / name))


def folder_instead(name: str) -> Spoil:
    """Replace a file with a folder."""
    return lambda folder: remove_path(folder / name).mkdir()


def without(name: str) -> Spoil:
    """Remove a file."""
    return lambda folder: remove_path(folder / name)


def write_pickle(name: str) -> Spoil:
    """Write a pickle that runs code."""
    return lambda folder: remove_path(folder / name).write_bytes(pickle.dumps({"weight": Evil(folder)}))


def tensors(change: Callable[[dict[str, Any]], object], name: str = WEIGHTS) -> Spoil:
    """Change tensors."""

    def spoil(folder: Path) -> None:
        found = load_file(folder / name)
        found = {key: each.clone() for key, each in found.items()}
        change(found)
        save_file(found, folder / name, metadata={"format": "pt"})

    return spoil


def remove_path(path: Path) -> Path:
    """Remove whatever is at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return path


def in_turn(family: str, spoils: dict[str, Spoil], *kinds: Kind) -> list[Case]:
    """Return a case for each modification, with the kinds of folder in turn."""
    return [Case(f"{family}-{name}", kinds[number % len(kinds)], spoil) for number, (name, spoil) in enumerate(spoils.items())]


# Small valid folders of every kind, and models outside them whose answers differ, so that reading those is detected.

_NAMES = ("Myocardial Infarction", "Heart attack", "Fever", "Pyrexia", "Hypertension", "High blood pressure", "Seizures")


def save_kb(folder: Path) -> Path:
    """Write a small knowledge base."""
    folder.mkdir(parents=True)
    rows = "".join(f"mesh:D{number}\t{name}\n" for number, name in enumerate(_NAMES))
    (folder / "names.tsv").write_text(f"id\tname\n{rows}")
    build_kb(Recipe(sources=(SourceConfig(path="names.tsv", name="tiny"),)), folder / "kb", root=folder)
    return folder / "kb"


def save_honest(base: Path, kb: Path) -> Path:
    """Write a folder of each kind to `base`, and `outside`, which has the same files with other weights."""
    _sentence_encoder(base / "encoder", seed=0)
    _sentence_encoder(base / "onnx", seed=0)
    save_model(base / "bart")
    _t5(base / "t5")
    save_collective(base / "collective")
    _old(base / "convert")
    _sentence_encoder(base / "outside", seed=7)
    save_collective(base / "outside" / "collective", detect="tags")
    torch.save({"weight": torch.ones(2)}, base / "outside" / "pytorch_model.bin")
    pipeline = base / "pipeline"
    _sentence_encoder(pipeline / "encoder", seed=0)
    shard(pipeline / "encoder", "part-{}.safetensors")
    build_pipeline(kb, pipeline, linker=DenseLinkerConfig(model=ModelReference(path=str(pipeline / "encoder"))))
    return base


def shard(folder: Path, name: str = "shard-{}.safetensors") -> None:
    """Write the weights as two files and an index."""
    found = load_file(folder / WEIGHTS)
    where = {key: name.format(number % 2) for number, key in enumerate(found)}
    for part in set(where.values()):
        save_file({key: found[key].clone() for key in found if where[key] == part}, folder / part, metadata={"format": "pt"})
    (folder / WEIGHTS).unlink()
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": where}))


def _sentence_encoder(folder: Path, seed: int) -> None:
    """Write an encoder in sentence-transformers' format."""
    save_encoder(folder, seed=seed)
    (folder / "1_Pooling").mkdir()
    kinds = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in zip(kinds, paths, strict=True)]
    files: dict[str, Any] = {
        "modules": modules,
        "1_Pooling/config": {"pooling_mode_mean_tokens": True},
        "sentence_bert_config": {"max_seq_length": 32},
        "tokenizer_config": {"model_max_length": 32},
        "config_sentence_transformers": {"similarity_fn_name": "cosine"},
    }
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


def _t5(folder: Path) -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    sizes = {"vocab_size": 420, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    ids = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    T5ForConditionalGeneration(T5Config(**sizes, **ids)).save_pretrained(folder)
    save_tokenizer(folder)


def _old(folder: Path) -> None:
    save_model(folder)
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    shutil.copy(folder / "tokenizer.json", folder / "vocab.txt")
