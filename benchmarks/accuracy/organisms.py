"""Measure the organism linker: strict recall@1 on annotated species (Linnaeus, S800, BioRED) and cell lines (Bio-ID, BioRED).

all          all gold mentions of the type that have an id, in the KB or not
r1           right if the answer is one of the gold ids
in_kb        share of mentions with a gold id in the knowledge base
seen         mentions whose name is annotated in the training documents with a species or cell line; `unseen` the others
exact        recall@1 of the mention's name in normal form, with ties broken by the order of the knowledge base
memory       recall@1 of the most frequent id of the mention's name in the train split of the same corpus
cross        cross-validation on the training documents, on which the model was developed
left_out     training documents that were left out, because they are in a held-out split, by corpus

The model is trained with the preset `organisms-open` unless `--model` names a folder; no test document of any corpus is among
its training documents. The knowledge base has the taxonomy of the folder `--taxonomy` (names.dmp, nodes.dmp, merged.dmp): by
default the folder `taxonomy` in the cache, for example with the files of Debian's package emboss-data. With `--quick`, a small
model is trained on some captions of Bio-ID, with a knowledge base of their cell lines.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.bare import bare_pipeline
from benchmarks.report import data_folder
from onym.corpora import write_corpus
from onym.datasets.own import prepare_own
from onym.datasets.prepared import open_dataset
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.methods import ExactLinker, Linker, OrganismsLinker, linker_config, open_linker
from onym.methods.genes.names import tight_key
from onym.store.cache import cache_folder
from onym.text.normal import normal_name
from onym.train.configs import OrganismsTrainingConfig
from onym.train.genes.organism_trainer import train_organisms
from onym.train.stages import read_config, runs_folder
from onym.types import Document, Mention

LOWER_BOUNDS = {"quick_r1": 50.0}
FULL_LOWER_BOUNDS = {"linnaeus_r1": 58.7, "s800_r1": 41.4, "bioid_r1": 79.4}
_RECIPE = Path(__file__).parents[1] / "recipes" / "organisms.toml"
_PRESET = "organisms-open"
_TESTS = {  # name of the figures -> dataset and type of mentions
    "linnaeus": ("linnaeus", "Species"),
    "s800": ("s800", "Species"),
    "bioid": ("bioid", "CellLine"),
    "biored_species": ("biored", "Species"),
    "biored_cells": ("biored", "CellLine"),
}
Memory = Mapping[str, Counter[str]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, help="folder of a trained organism model; by default it is trained if missing")
    parser.add_argument("--kb", type=Path, help="the knowledge base; by default that of recipes/organisms.toml")
    parser.add_argument("--taxonomy", type=Path, help="folder of names.dmp and nodes.dmp")


def run(options: argparse.Namespace) -> dict[str, object]:
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            return _quick(Path(folder))
    kb_folder = options.kb or organisms_kb(options.taxonomy)
    model = options.model or runs_folder() / _PRESET
    if not model.exists():
        config = read_config("organisms", None, _PRESET, [f"data.kb={kb_folder}"])
        train_organisms(OrganismsTrainingConfig.of(config.model_dump()), model, data_folder())
    linker = _open(model, KnowledgeBase.open(kb_folder))
    record = json.loads((model / "training.json").read_bytes())
    found: dict[str, object] = {
        "left_out": {each["name"]: {"documents": each["documents"], **each["left_out"]} for each in record["corpora"]},
        "cross": record["metrics"]["cross_validation"],
    }
    for name, (dataset, kind) in _TESTS.items():
        train, test = (_documents(dataset, split, kind) for split in ("train", "test"))
        figures = _judge(linker, test, _count(train))
        found |= {f"{name}_r1": figures["all"]["r1"], name: figures}
    return found


def organisms_kb(taxonomy: Path | None = None) -> Path:
    """Return the folder of the knowledge base of species and cell lines; it is built if it is missing."""
    folder, own = cache_folder() / "organisms-kb", taxonomy or cache_folder() / "taxonomy"
    if not folder.exists():
        if not (own / "names.dmp").exists():
            what = f"no names.dmp in {own}: unpack NCBI's taxdump there, or TAXONOMY of Debian's package emboss-data"
            raise FileNotFoundError(what)
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "taxonomy").symlink_to(own.resolve())
            cells = "CVCL-ontology-55.0.json.zst"
            (Path(root) / cells).symlink_to((data_folder() / "ontologies" / cells).resolve())
            build_kb(Recipe.from_toml(_RECIPE), folder, root=Path(root))
    return folder


def _open(model: Path, kb: KnowledgeBase) -> OrganismsLinker:
    linker = open_linker(linker_config("organisms", model=str(model)), kb)
    if not isinstance(linker, OrganismsLinker):
        raise TypeError("the linker organisms is not an OrganismsLinker")
    return linker


def _documents(name: str, split: str, kind: str) -> list[Document]:
    found = open_dataset(name, data_folder()).documents(split)
    return [
        replace(doc, mentions=tuple(each for each in doc.mentions if each.type == kind and each.concept_ids), relations=())
        for doc in found
    ]


def _count(documents: Iterable[Document]) -> Memory:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for doc in documents:
        for mention in doc.mentions:
            found[normal_name(mention.surface)].update(mention.concept_ids)
    return found


@dataclass(frozen=True)
class _Judged:
    mention: Mention
    gold: frozenset[int]
    row: int
    is_seen: bool


def _judge(linker: OrganismsLinker, documents: Sequence[Document], memory: Memory) -> dict[str, dict[str, float]]:
    own, exact = _answers(linker, documents), _answers(ExactLinker(linker.kb), documents)
    known = [memory.get(normal_name(each.mention.surface), Counter()) for each in own]
    recalled = [
        bool(counts) and counts.most_common(1)[0][0] in each.mention.concept_ids
        for each, counts in zip(own, known, strict=True)
    ]
    return {
        "all": _rates(own),
        "seen": _rates([each for each in own if each.is_seen]),
        "unseen": _rates([each for each in own if not each.is_seen]),
        "exact": _rates(exact),
        "memory": {"r1": _percent(recalled)},
    }


def _answers(linker: Linker, documents: Sequence[Document]) -> list[_Judged]:
    found, memory = [], getattr(getattr(linker, "model", None), "memory", None)
    for linked in bare_pipeline(linker, top_k=1).link_many(documents):
        for link in linked.links:
            gold = frozenset(row for row in linker.kb.resolve_many(list(link.mention.concept_ids)).tolist() if row >= 0)
            row = linker.kb.concept_ids.find(link.candidates[0].concept_id) if link.candidates else -1
            seen = memory is not None and bool(memory.entries(tight_key(link.mention.surface)))
            found.append(_Judged(link.mention, gold, row, seen))
    return found


def _rates(answers: Sequence[_Judged]) -> dict[str, float]:
    return {
        "mentions": len(answers),
        "in_kb": _percent([bool(each.gold) for each in answers]),
        "r1": _percent([each.row in each.gold for each in answers]),
    }


def _percent(values: Sequence[bool]) -> float:
    return round(100 * sum(values) / max(1, len(values)), 1)


_QUICK_TRAIN, _QUICK_TEST = 400, 100
_SMALL = {"iterations": 30, "min_samples": 5}


def _quick(folder: Path) -> dict[str, object]:
    """Train on some captions of Bio-ID and test on others; cell lines have the names of their mentions in training captions."""
    train, test = ([doc for doc in _documents("bioid", split, "CellLine") if doc.mentions] for split in ("train", "test"))
    train, test = train[:_QUICK_TRAIN], test[:_QUICK_TEST]
    names = {(one, mention.surface) for doc in train for mention in doc.mentions for one in mention.concept_ids}
    (folder / "names.tsv").write_text("id\tname\n" + "".join(f"{one}\t{name}\n" for one, name in sorted(names)))
    build_kb(Recipe.of({"sources": [{"path": "names.tsv", "format": "table"}]}), folder / "kb", root=folder)
    write_corpus(train, folder / "train.pubtator", "pubtator")
    prepare_own("quick", [folder / "train.pubtator"], folder / "quick", shares=(0.8, 0.1, 0.1))
    data = {"datasets": [str(folder / "quick")], "kb": str(folder / "kb")}
    config = OrganismsTrainingConfig.of({"data": data, "trees": _SMALL, "folds": 2})
    linker = _open(train_organisms(config, folder / "model"), KnowledgeBase.open(folder / "kb"))
    known = [each for each in _answers(linker, test) if each.gold]
    return {"quick_r1": _rates(known)["r1"], "quick_mentions": len(known)}
