"""Small honest folders of every kind, and other models outside of them: whoever reads those answers something else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from benchmarks.hostile_models.case import INDEX, WEIGHTS
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.linkers.dense import Config
from onym.parts import ModelReference
from onym.pipeline import build_pipeline
from onym.testing.models import save_collective, save_encoder, save_model, save_tokenizer

_NAMES = ("Myocardial Infarction", "Heart attack", "Fever", "Pyrexia", "Hypertension", "High blood pressure", "Seizures")


def save_kb(folder: Path) -> Path:
    """Write a small knowledge base."""
    folder.mkdir(parents=True)
    rows = "".join(f"mesh:D{number}\t{name}\n" for number, name in enumerate(_NAMES))
    (folder / "names.tsv").write_text(f"id\tname\n{rows}")
    build_kb(Recipe(sources=(SourceConfig(path="names.tsv", name="tiny"),)), folder / "kb", root=folder)
    return folder / "kb"


def save_honest(base: Path, kb: Path) -> Path:
    """Write a folder of each kind into `base`, and `outside`, which has the same files with other weights."""
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
    build_pipeline(kb, pipeline, linker=Config(model=ModelReference(path=str(pipeline / "encoder"))))
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
    """Write an encoder in the form of sentence-transformers."""
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
