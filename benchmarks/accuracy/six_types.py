"""Measure a pipeline of genes, species, cell lines, variants, diseases and chemicals on raw texts of BioRED.

strict_f1     F1 of (document, span, id) triples, of mentions of one type; also precision and recall. A mention with several ids
              has a triple for each. `all` pools the types
document_f1   F1 of (document, id) pairs
spans_f1      F1 of the spans of mentions of one type, linked or not; in `all`, a span with another type counts as right
ece           expected calibration error of the confidence of linked mentions, against exact span and id; the confidences are
              fitted on BioRED's dev split, by type. Only for types with at least 300 gold mentions (variants have none)
tmvar         the variants of tmVar 3's test split, from raw text; its ids are rs ids or forms, compared without gene
documents_per_core_second   detection and linking of the test split, after one document to open everything
left_out      training documents that were left out, because they are in a held-out split, by component and corpus

An id of a gold variant without rs id is its form (`hgvs:p.V600E`), and genes in the ids of answers are not compared. Components
are read from the folder `six` of trained models, and trained with their presets if they are missing, which takes some 15
minutes. Variants are found by patterns, species, diseases and chemicals by the student of the starter, genes by one that was
trained with the preset student-six, cell lines by name: the best choice for each type on BioRED's dev split. The reranker is
that of the pack `mesh`. The knowledge base is built from recipes/six.toml with the taxonomy of `--taxonomy`, without taxa that
have no name of their own, such as *uncultured bacterium*. With `--quick`, the pipeline has patterns, the starter's student,
exact linkers, and a knowledge base of the gold names.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import data_folder
from onym.calibrate import expected_calibration_error
from onym.datasets.prepared import open_dataset
from onym.evaluate.cases import ConceptResolver
from onym.evaluate.end_to_end import score_end_to_end
from onym.evaluate.task import EvaluationTask, without_annotations
from onym.evaluate.tuning import calibrate_pipeline
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.methods.compose.by_type import ByTypeLinkerConfig, normal_type
from onym.methods.compose.several import SeveralDetectorConfig
from onym.methods.variants.forms import DBSNP, HGVS, from_tmvar
from onym.methods.variants.naming import is_variant_type
from onym.packs.locate import pack_folder
from onym.pipeline import Pipeline
from onym.pipeline.config import PipelineOptions
from onym.pipeline.folder import build_pipeline
from onym.store.cache import cache_folder
from onym.train.configs import AnyConfig
from onym.train.run import train
from onym.train.stages import read_config, runs_folder
from onym.types import Document, Link, LinkedDocument, Mention

LOWER_BOUNDS = {"quick_strict_f1": 20.0}
FULL_LOWER_BOUNDS = {"all_strict_f1": 50.0}
_RECIPE = Path(__file__).parents[1] / "recipes" / "six.toml"
TYPES = ("Gene", "Species", "Cell line", "Variant", "Disease", "Chemical")
_PRESETS = {"student": "student-six", "genes": "genes-open", "organisms": "organisms-open"}
_STAGES: dict[str, Any] = {"student": "student", "genes": "genes", "organisms": "organisms"}
_MANY = 300  # gold mentions of a type whose confidence is judged
_NO_NAME = re.compile(
    r"\d|\b(?:sp|cf|aff|nr)\.|uncultured|unclassified|unidentified|environmental|symbiont|\bx\b|'|metagenome|vector|"
    r"synthetic|hybrid",
    re.IGNORECASE,
)
_VIRUS = re.compile(r"virus|phage", re.IGNORECASE)
_GENE_IN_ID = re.compile(rf"^{HGVS}:[^:]+:")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kb", type=Path, help="the knowledge base; by default that of recipes/six.toml")
    parser.add_argument("--taxonomy", type=Path, help="folder of names.dmp, nodes.dmp and merged.dmp")


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        if options.quick:
            return _quick(Path(folder))
        kb = options.kb or six_kb(options.taxonomy)
        models = {name: _train_part(name, kb) for name in _PRESETS}
        pipeline = build_six(kb, Path(folder) / "pipeline", models)
        left_out = {name: _count_left_out(path) for name, path in {"starter student": _starter_student(), **models}.items()}
        return measure(pipeline) | {"left_out": left_out}


def measure(pipeline: Pipeline) -> dict[str, Any]:
    """Return the figures of a pipeline on BioRED's test split, and on the variants of tmVar 3's."""
    gold = _gold("biored", "test")
    bare = list(map(without_annotations, gold))
    task = EvaluationTask.open("biored", "dev", kb=pipeline.kb, data=data_folder())
    fitted = calibrate_pipeline(task, pipeline, "found", by_type=True)
    calibrated = Pipeline(pipeline.linker, pipeline.detector, calibration=fitted)
    next(iter(calibrated.link_many(bare[:1])))
    before = time.process_time()
    linked = list(calibrated.link_many(bare))
    took = time.process_time() - before
    canonical = _canonical(pipeline.kb)
    found: dict[str, Any] = {"documents_per_core_second": round(len(bare) / took, 1)}
    for kind in (*TYPES, "all"):
        wanted = _is_type(kind)
        figures = _scores(_of(gold, wanted), _of(_answers(linked), wanted), canonical)
        if figures["mentions"] >= _MANY and kind not in ("Variant", "all"):
            figures["ece"] = _ece(gold, linked, wanted, canonical)
        found[kind] = figures
    variants = _gold("tmvar", "test")
    answers = _answers(calibrated.link_many(map(without_annotations, variants)))
    is_variant = _is_type("Variant")
    found["tmvar"] = _scores(_of(variants, is_variant), _of(answers, is_variant), canonical)
    return {"all_strict_f1": found["all"]["strict_f1"], **found}


def _gold(name: str, split: str) -> list[Document]:
    """Return documents in which variants have their rs id or their form as ids."""
    found = []
    for doc in open_dataset(name, data_folder()).documents(split):
        mentions = (_with_variant_id(each) if _is_type("Variant")(each) else each for each in doc.mentions)
        found.append(replace(doc, mentions=tuple(mentions), relations=()))
    return found


def _with_variant_id(mention: Mention) -> Mention:
    rs = tuple(each for each in mention.concept_ids if each.startswith(f"{DBSNP}:"))
    texts = [*(each.partition(":")[2] for each in mention.concept_ids), dict(mention.notes).get("ids", "")]
    form = next((each.hgvs for each in map(from_tmvar, texts) if each and each.hgvs), "")
    return replace(mention, concept_ids=rs or ((f"{HGVS}:{form}",) if form else ()))


def _is_type(kind: str) -> Callable[[Mention], bool]:
    """Return whether a mention has a type; `all` means any of the six."""
    if kind == "all":
        return lambda mention: any(_is_type(each)(mention) for each in TYPES)
    if kind == "Variant":
        return lambda mention: is_variant_type(mention.type)
    return lambda mention: normal_type(mention.type) == normal_type(kind)


def _canonical(kb: KnowledgeBase) -> Callable[[str], str]:
    resolver = ConceptResolver(kb)
    return lambda one: _GENE_IN_ID.sub(f"{HGVS}:", one) if one.startswith((HGVS, DBSNP)) else resolver.canonical(one)


def _answers(linked: Iterable[LinkedDocument]) -> list[Document]:
    """Return documents with the linked mentions, each with its concept; mentions left unlinked have none."""

    def answer(link: Link) -> Mention:
        return replace(link.mention, concept_ids=(link.concept_id,) if link.concept_id else ())

    return [replace(each.document, mentions=tuple(map(answer, each.links))) for each in linked]


def _of(documents: Iterable[Document], wanted: Callable[[Mention], bool]) -> list[Document]:
    return [replace(doc, mentions=tuple(filter(wanted, doc.mentions))) for doc in documents]


def _scores(gold: Sequence[Document], answers: Sequence[Document], canonical: Callable[[str], str]) -> dict[str, Any]:
    strict, document = (score_end_to_end(gold, answers, name, canonical) for name in ("bhowmik-strict", "document"))
    spans = [{(doc.id, each.start, each.end) for doc in docs for each in doc.mentions} for docs in (gold, answers)]
    right = len(spans[0] & spans[1])
    return {
        "mentions": len(spans[0]),
        "strict_p": _percent(strict.precision),
        "strict_r": _percent(strict.recall),
        "strict_f1": _percent(strict.f1),
        "document_f1": _percent(document.f1),
        "spans_f1": _percent(2 * right / max(1, len(spans[0]) + len(spans[1]))),
    }


def _percent(share: float) -> float:
    return round(100 * share, 1)


def _ece(
    gold: Sequence[Document],
    linked: Sequence[LinkedDocument],
    wanted: Callable[[Mention], bool],
    canonical: Callable[[str], str],
) -> float:
    known = {
        (doc.id, each.start, each.end): set(map(canonical, each.concept_ids))
        for doc in gold
        for each in filter(wanted, doc.mentions)
    }
    rows = [
        (link.confidence, canonical(link.concept_id) in known.get((doc.document.id, link.mention.start, link.mention.end), ()))
        for doc in linked
        for link in doc.links
        if link.concept_id and link.confidence is not None and wanted(link.mention)
    ]
    confidences, right = np.array([each for each, _ in rows]), np.array([is_right for _, is_right in rows], dtype=np.float64)
    return round(float(expected_calibration_error(confidences, right)), 4)


def build_six(kb: Path, folder: Path, models: Mapping[str, Path]) -> Pipeline:
    """Build the pipeline: detectors and linkers by type. Without models, the starter's student and exact linkers are used."""
    reranker = str(pack_folder("mesh") / "reranker")
    linkers: list[Mapping[str, Any]] = [
        {"kind": "genes", "model": str(models["genes"])},
        {"kind": "organisms", "model": str(models["organisms"])},
        {"kind": "rerank", "model": reranker, "groups": ["Disease", "Chemical", "Phenotype"], "follow_annotations": False},
    ] if models else [{"kind": "exact"}] * 3  # fmt: skip
    routes = [["Gene"], ["Species", "Cell line"], ["Disease", "Chemical"], ["Variant"]]
    linker = ByTypeLinkerConfig.of({"parts": [*linkers, {"kind": "variants"}], "types": routes})
    detector = SeveralDetectorConfig.of({"parts": [{"kind": "variants"}, *_detectors(models)]})
    options = PipelineOptions(prefer=("mesh",) if models else ())
    return build_pipeline(kb, folder, detector=detector, linker=linker, options=options)


def _detectors(models: Mapping[str, Path]) -> list[Mapping[str, Any]]:
    """Return the detectors besides the patterns of variants; of equal mentions, that of the first detector is kept."""
    starter = {"kind": "student", "model": str(_starter_student())}
    if not models:
        return [starter | {"types": "CellLine,Chemical,Disease,Gene,Species"}]
    return [
        starter | {"types": "CellLine,Chemical,Disease,Species"},
        {"kind": "student", "model": str(models["student"]), "types": "Gene"},
        {"kind": "dictionary", "types": "Cell line", "min_length": 4, "case_sensitive_below": 12},
    ]


def _starter_student() -> Path:
    return Path(pack_folder("starter")) / "student"


def _train_part(name: str, kb: Path) -> Path:
    folder = runs_folder() / "six" / name
    if not folder.exists():
        config: AnyConfig = read_config(_STAGES[name], None, _PRESETS[name], [f"data.kb={kb}"])
        train(config, folder, data_folder())
    return folder


def _count_left_out(model: Path) -> dict[str, dict[str, int]]:
    record = json.loads((model / "training.json").read_bytes())
    return {each["name"]: {"documents": each["documents"], **each["left_out"]} for each in record["corpora"]}


def six_kb(taxonomy: Path | None = None) -> Path:
    """Return the folder of the knowledge base of six types; it is built if it is missing."""
    folder, own = cache_folder() / "six-kb", taxonomy or cache_folder() / "taxonomy"
    if not folder.exists():
        with tempfile.TemporaryDirectory() as root:
            for name in ("mesh", "ontologies", "genes"):
                (Path(root) / name).symlink_to((data_folder() / name).resolve())
            _select_taxa(own, Path(root) / "taxonomy")
            build_kb(Recipe.from_toml(_RECIPE), folder, root=Path(root))
    return folder


def _select_taxa(taxonomy: Path, dest: Path) -> None:
    """Copy a taxdump without the taxa whose scientific name is no name, such as *Bacillus sp. X-3*; viruses are kept."""
    dest.mkdir()
    rows = [row.split("\t|\t") for row in (taxonomy / "names.dmp").read_text("utf-8").splitlines()]
    left_out = {taxon for taxon, name, _, kind in rows if kind.startswith("scientific name") and _has_no_name(name)}
    for name in ("names.dmp", "nodes.dmp"):
        with (taxonomy / name).open(encoding="utf-8") as source, (dest / name).open("w", encoding="utf-8") as file:
            file.writelines(row for row in source if row.split("\t|\t")[0] not in left_out)
    shutil.copyfile(taxonomy / "merged.dmp", dest / "merged.dmp")


def _has_no_name(scientific: str) -> bool:
    return bool(_NO_NAME.search(scientific)) and not _VIRUS.search(scientific)


_QUICK = 15


def _quick(folder: Path) -> dict[str, object]:
    """Link some documents of the dev split with exact linkers, to the names that BioRED's training documents have."""
    train_documents = open_dataset("biored", data_folder()).documents("train")
    names = {(one, each.surface) for doc in train_documents for each in doc.mentions for one in each.concept_ids[:1]}
    lines = [f"{one}\t{name}\n" for one, name in sorted(names) if "\t" not in name and not one.startswith(("tmvar", DBSNP))]
    (folder / "names.tsv").write_text("id\tname\n" + "".join(lines))
    build_kb(Recipe.of({"sources": [{"path": "names.tsv", "format": "table"}]}), folder / "kb", root=folder)
    pipeline = build_six(folder / "kb", folder / "pipeline", {})
    gold = _gold("biored", "dev")[:_QUICK]
    linked = list(pipeline.link_many(map(without_annotations, gold)))
    wanted = _is_type("all")
    figures = _scores(_of(gold, wanted), _of(_answers(linked), wanted), _canonical(pipeline.kb))
    return {f"quick_{name}": figures[name] for name in ("strict_f1", "spans_f1", "mentions")}
