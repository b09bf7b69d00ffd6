"""Measure the gene linker: strict recall@1 on annotated genes, one id for each mention, and the species of gene mentions.

all          all gold mentions of the type Gene that have an id, in the KB or not
belb         those that BELB has too, joined by document and offsets
tool         those that the published GNormPlus tool answered: its recall@1 (`published`), and ours (`ours`)
r1           right if the answer is one of the gold ids; in `r1_single`, mentions with several ids count as wrong
in_kb        share of mentions with a gold id in the knowledge base
seen         mentions whose name is annotated in the training documents with a gene; `unseen` the others
species      accuracy of the species of the answer; by_species: `r1` of the most frequent gold species
left_out     training documents that were left out, because they are in a held-out split, by corpus
assignment   accuracy of the likeliest species of each gene mention of the corpus of species assignment

The model is trained with the preset `genes-open` unless `--model` names a folder; no test document of any corpus is among its
training documents. With `--quick`, a small model is trained on some documents of NLM-Gene, with the genes that they mention.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.bare import bare_pipeline
from benchmarks.report import data_folder
from onym.corpora import write_corpus
from onym.datasets.own import prepare_own
from onym.datasets.prepared import open_dataset
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.kb.recipe import SourceConfig
from onym.methods import GenesLinker, linker_config, open_linker
from onym.methods.genes.names import tight_key
from onym.store.cache import cache_folder
from onym.train.configs import GenesTrainingConfig
from onym.train.genes.trainer import gold_species, train_genes
from onym.train.stages import read_config, runs_folder
from onym.types import Document, Link, Mention

LOWER_BOUNDS = {"quick_r1": 50.0}
FULL_LOWER_BOUNDS = {"gnormplus_r1": 80.1, "nlm_gene_r1": 66.4, "biored_r1": 84.0, "assignment": 75.0}
_RECIPE = Path(__file__).parents[1] / "recipes" / "genes.toml"
_PRESET = "genes-open"
_TEST = {"gnormplus": "gnormplus", "nlm-gene": "nlm_gene", "biored": ""}  # dataset -> folder of BELB's predictions
_SPECIES = 6
Place = tuple[str, int, int]
"""Document, start and end of a mention."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, help="folder of a trained gene model; by default it is trained if it is missing")
    parser.add_argument("--kb", type=Path, help="the knowledge base; by default that of recipes/genes.toml")
    parser.add_argument("--dataset", action="append", help="only these datasets; may be repeated")


def run(options: argparse.Namespace) -> dict[str, object]:
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            return _quick(Path(folder))
    kb_folder = options.kb or _genes_kb()
    model = options.model or runs_folder() / _PRESET
    if not model.exists():
        config = read_config("genes", None, _PRESET, [f"data.kb={kb_folder}"])
        train_genes(GenesTrainingConfig.of(config.model_dump()), model, data_folder())
    linker = _open(model, KnowledgeBase.open(kb_folder))
    wanted = options.dataset or [*_TEST, "species-assignment"]
    found: dict[str, object] = {"left_out": _count_left_out(model)}
    for name in _TEST:
        if name in wanted:
            figures = _judge(linker, name, _documents(name))
            found |= {f"{name.replace('-', '_')}_r1": figures["all"]["r1"], name: figures}
    if "species-assignment" in wanted:
        found["assignment"] = _assignment(linker, _documents("species-assignment"))
    return found


def _genes_kb() -> Path:
    folder = cache_folder() / "genes-kb"
    if not folder.exists():
        build_kb(Recipe.from_toml(_RECIPE), folder, root=data_folder())
    return folder


def _open(model: Path, kb: KnowledgeBase) -> GenesLinker:
    linker = open_linker(linker_config("genes", model=str(model)), kb)
    if not isinstance(linker, GenesLinker):
        raise TypeError("the linker genes is not a GenesLinker")
    return linker


def _documents(name: str) -> list[Document]:
    return [_genes_of(doc) for doc in open_dataset(name, data_folder()).documents("test")]


def _genes_of(doc: Document) -> Document:
    mentions = tuple(each for each in doc.mentions if each.type == "Gene" and each.concept_ids)
    return replace(doc, mentions=mentions, relations=())


@dataclass(frozen=True)
class Answer:
    """The answer for a gold mention, and the rows of its gold genes."""

    mention: Mention
    gold: frozenset[int]
    row: int
    is_seen: bool

    @property
    def is_right(self) -> bool:
        return self.row in self.gold


def _judge(linker: GenesLinker, name: str, documents: Sequence[Document]) -> dict[str, Any]:
    answers = _answers(linker, documents)
    species = linker.kb.species_of
    of_gold = {place: {each for row in answer.gold for each in species(row)} for place, answer in answers.items()}
    known = {place: answer for place, answer in answers.items() if of_gold[place]}
    frequent = Counter(min(of_gold[place]) for place in known).most_common(_SPECIES)
    right_species = [answer.row >= 0 and bool(of_gold[place] & set(species(answer.row))) for place, answer in known.items()]
    figures = {
        "all": _rates(answers.values()),
        "seen": _rates(each for each in answers.values() if each.is_seen),
        "unseen": _rates(each for each in answers.values() if not each.is_seen),
        "species": _percent(right_species),
        "by_species": {
            one: _rates(answer for place, answer in known.items() if min(of_gold[place]) == one) for one, _ in frequent
        },
    }
    return figures | (_compare_with_tools(answers, linker, _TEST[name]) if _TEST[name] else {})


def _answers(linker: GenesLinker, documents: Sequence[Document]) -> dict[Place, Answer]:
    found = {}
    for linked in bare_pipeline(linker, top_k=1).link_many(documents):
        for link in linked.links:
            mention = link.mention
            gold = frozenset(row for row in linker.kb.resolve_many(list(mention.concept_ids)).tolist() if row >= 0)
            seen = bool(linker.model.memory.entries(tight_key(mention.surface)))
            found[linked.document.id, mention.start, mention.end] = Answer(mention, gold, _row(linker.kb, link), seen)
    return found


def _row(kb: KnowledgeBase, link: Link) -> int:
    return kb.concept_ids.find(link.candidates[0].concept_id) if link.candidates else -1


def _rates(answers: Iterable[Answer]) -> dict[str, float]:
    found = list(answers)
    single = [each.is_right and len(set(each.mention.concept_ids)) == 1 for each in found]
    return {
        "mentions": len(found),
        "several_ids": sum(len(set(each.mention.concept_ids)) > 1 for each in found),
        "in_kb": _percent([bool(each.gold) for each in found]),
        "r1": _percent([each.is_right for each in found]),
        "r1_single": _percent(single),
    }


def _percent(values: Sequence[bool]) -> float:
    return round(100 * sum(values) / max(1, len(values)), 1)


def _compare_with_tools(answers: Mapping[Place, Answer], linker: GenesLinker, folder: str) -> dict[str, Any]:
    """Return the figures on BELB's mentions, and on those that the GNormPlus tool answered."""
    joined = {place for place, _ in _predictions(folder, "genbioel")} | {
        place for place, _ in _predictions(folder, "gnormplus")
    }
    own = {place: answer for place, answer in answers.items() if place in joined}
    tool = {place: ids for place, ids in _predictions(folder, "gnormplus") if ids and place in answers}
    published = [bool(answers[place].gold & set(_rows(linker.kb, ids))) for place, ids in tool.items()]
    return {
        "belb": _rates(own.values()),
        "tool": {
            "mentions": len(tool),
            "published": _percent(published),
            "ours": _percent([answers[place].is_right for place in tool]),
        },
    }


def _predictions(folder: str, system: str) -> list[tuple[Place, list[str]]]:
    """Return the first answer of a published system for each mention: ids that it does not tell apart."""
    path = data_folder() / "belb_exp" / folder / f"{system}.predictions.json.gz"
    rows = json.loads(gzip.decompress(path.read_bytes()))
    return [((str(row["eid"]), row["start"], row["end"]), (row["y_pred"] or [[]])[0]) for row in rows]


def _rows(kb: KnowledgeBase, ids: Sequence[str]) -> list[int]:
    return [row for row in kb.resolve_many([f"ncbigene:{each}" for each in ids]).tolist() if row >= 0] if len(ids) == 1 else []


def _assignment(linker: GenesLinker, documents: Sequence[Document]) -> float:
    """Return the share of gene mentions whose likeliest species is a gold species, in percent."""
    right = []
    for doc in documents:
        for mention, likely in zip(doc.mentions, linker.species_of(doc), strict=True):
            rows = [row for row in linker.kb.resolve_many(list(mention.concept_ids)).tolist() if row >= 0]
            gold = gold_species(linker.names, mention, rows)
            right.append(max(likely, key=lambda one: likely[one], default="") in gold)
    return _percent(right)


def _count_left_out(model: Path) -> dict[str, dict[str, int]]:
    record = json.loads((model / "training.json").read_bytes())
    return {each["name"]: {"documents": each["documents"], **each["left_out"]} for each in record["corpora"]}


_QUICK_TRAIN, _QUICK_TEST = 40, 12
_SMALL = {"iterations": 30, "min_samples": 5}


def _quick(folder: Path) -> dict[str, object]:
    """Train on some documents, and test on others: the first of NLM-Gene's two files."""
    train = [_genes_of(doc) for doc in _some("train", _QUICK_TRAIN)]
    test = [_genes_of(doc) for doc in _some("test", _QUICK_TEST)]
    kb = _small_kb(folder, {one for doc in [*train, *test] for mention in doc.mentions for one in mention.concept_ids})
    write_corpus(train, folder / "train.pubtator", "pubtator")
    prepare_own("quick", [folder / "train.pubtator"], folder / "quick", shares=(0.8, 0.1, 0.1))
    data = {"datasets": [str(folder / "quick")], "kb": str(folder / "kb")}
    config = GenesTrainingConfig.of({"data": data, "trees": _SMALL, "species_trees": _SMALL, "folds": 2})
    linker = _open(train_genes(config, folder / "model"), kb)
    rates = _rates(each for each in _answers(linker, test).values() if each.gold)
    return {"quick_r1": rates["r1"], "quick_mentions": rates["mentions"]}


def _some(split: str, count: int) -> list[Document]:
    return [doc for _, doc in zip(range(count), open_dataset("nlm-gene", data_folder()).documents(split), strict=False)]


def _small_kb(folder: Path, gold: set[str]) -> KnowledgeBase:
    """Build a knowledge base of the human and mouse genes with the symbols of gold genes."""
    numbers = {one.partition(":")[2] for one in gold}
    files = {name: _lines(data_folder() / "genes" / f"{name}.gene_info.gz") for name in ("Homo_sapiens", "Mus_musculus")}
    symbols = {line[2].lower() for lines in files.values() for line in lines[1:] if line[1] in numbers}
    for name, lines in files.items():
        kept = [lines[0], *(line for line in lines[1:] if line[2].lower() in symbols)]
        (folder / f"{name}.gene_info").write_text("".join("\t".join(line) for line in kept))
    sources = tuple(SourceConfig(path=f"{name}.gene_info", name=name) for name in files)
    build_kb(Recipe(sources=sources), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


def _lines(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.split("\t") for line in file]
