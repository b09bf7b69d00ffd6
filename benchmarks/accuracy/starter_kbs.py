"""Compare knowledge bases for the starter, from which the one that ships was chosen, on dev.

Each is a variant of the recipe `starter.toml`, under a pipeline of dictionary and exact match, without any training. `rows` has

kb, names              what it contains, and the number of its names
megabytes              size of the knowledge base without its TF-IDF index, gzipped
documents_per_s        abstracts of BC5CDR dev per CPU second
bc5cdr, ncbi_disease, biored
                       strict F1 (span and concept) from raw text, on the dev splits; of BioRED, diseases and chemicals
everyday_recall, everyday_precision
                       on the everyday sentences of `ONYM_DATA`; diseases, phenotypes and chemicals

`--quick` reads few documents and builds two of the knowledge bases.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.report import data_folder
from benchmarks.starter import RECIPE
from benchmarks.starter_sources import CHEBI, NAMES, SUPPLEMENT, chemical_ids, open_sources
from onym.corpora.plain import with_answers
from onym.datasets.prepared import open_dataset
from onym.evaluate.cases import ConceptResolver
from onym.evaluate.end_to_end import score_end_to_end
from onym.kb import Recipe, build_kb
from onym.pipeline import Pipeline
from onym.pipeline.folder import build_pipeline
from onym.types import Document, LinkedDocument

CORPORA = {"bc5cdr": "bc5cdr", "ncbi_disease": "ncbi-disease", "biored": "biored"}
_DRUGS = (CHEBI, NAMES.name)
_HPO = "ontologies/hp-2026-02-16.obo.gz"
VARIANTS: dict[str, tuple[str, ...]] = {
    "MeSH descriptors + MONDO": (_HPO, SUPPLEMENT, *_DRUGS),
    "+ HPO": (SUPPLEMENT, *_DRUGS),
    "+ supplementary chemicals of PubMed text": _DRUGS,
    "+ drug names and everyday names (the starter)": (),
    "+ all supplementary chemicals": (),
}
"""What each knowledge base has more than the one before, and the sources of the recipe that it does without."""
_ALL, _STARTER = list(VARIANTS)[-1], list(VARIANTS)[-2]
_OTHERS = frozenset({"Gene", "Species", "Variant", "CellLine"})
_EVERYDAY = "everyday/everyday-a.jsonl"
_QUICK = 20  # documents


def run(options: argparse.Namespace) -> dict[str, object]:
    names = [next(iter(VARIANTS)), _STARTER] if options.quick else list(VARIANTS)
    return {"rows": [_row(name, _QUICK if options.quick else None) for name in names]}


def _row(name: str, count: int | None) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        whole = Recipe.from_toml(RECIPE)
        sources = tuple(source for source in whole.sources if source.path not in VARIANTS[name])
        opened = open_sources(chemical_ids() if name == _ALL else None)
        recipe = whole.model_copy(update={"sources": sources})
        manifest = build_kb(recipe, folder / "kb", root=data_folder(), sources=opened)
        size = _measure_gzip(folder / "kb")
        pipeline = build_pipeline(folder / "kb", folder / "pipeline")
        figures: dict[str, object] = {"kb": name, "names": manifest.counts["names"], "megabytes": round(size / 1e6, 1)}
        for key, dataset in CORPORA.items():
            docs = list(_documents(dataset))[:count]
            began = time.process_time()
            linked = list(pipeline.link_many(replace(doc, mentions=()) for doc in docs))
            if key == "bc5cdr":
                figures["documents_per_s"] = round(len(docs) / (time.process_time() - began))
            figures[key] = _strict_f1(pipeline, docs, linked)
        return figures | _everyday(pipeline, folder)


def _documents(dataset: str) -> Iterator[Document]:
    """Yield the documents of dev with their annotated diseases and chemicals."""
    for doc in open_dataset(dataset, data=data_folder()).documents("dev"):
        yield replace(doc, mentions=tuple(each for each in doc.mentions if each.type not in _OTHERS))


def _strict_f1(pipeline: Pipeline, gold: Sequence[Document], linked: Sequence[LinkedDocument]) -> float:
    canonical = ConceptResolver(pipeline.kb).canonical
    return round(100 * score_end_to_end(gold, map(with_answers, linked), canonical=canonical).f1, 1)


def _measure_gzip(folder: Path) -> int:
    """Return the size of a folder as a gzipped tar archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(folder, arcname=folder.name)
    return len(gzip.compress(data.getvalue(), 6))


def _everyday(pipeline: Pipeline, folder: Path) -> dict[str, float]:
    gold, found = data_folder() / _EVERYDAY, folder / "found.jsonl"
    rows = [json.loads(line) for line in gold.read_text().splitlines()]
    linked = pipeline.link_many(Document(row["id"], row["text"]) for row in rows)
    found.write_text("".join(json.dumps(_answer(each)) + "\n" for each in linked))
    command = [sys.executable, str(gold.parent / "score.py"), str(gold), str(found), "--json"]
    scores = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {f"everyday_{key}": round(100 * scores[key], 1) for key in ("recall", "precision")}


def _answer(linked: LinkedDocument) -> dict[str, object]:
    links = [
        {"start": each.mention.start, "end": each.mention.end, "concept_id": each.concept_id, "type": each.mention.type}
        for each in linked.links
        if each.concept_id is not None
    ]
    return {"id": linked.document.id, "links": links}
