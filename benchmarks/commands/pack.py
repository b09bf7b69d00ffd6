"""Packs: pipelines in one file. How large, how soon they answer, what is lost, and whether hostile ones are refused.

lite                      the dictionary with its classifier and the reranker over the open, joined knowledge base, trained here
                          on the train splits of three corpora (half an hour, once; kept in the cache directory)
full                      the same with a dense stage, MiniLM: packed with its encoder in int8 and an index of codes, and
                          compared with the pipeline in fp32 and its own index
  mb, unpacked_mb         of the file, and of what is in it
  unpack_s                CPU seconds of the first load more than of later ones: checking and unpacking, once on a machine
  first_answer_s          CPU seconds of a fresh process, from its start to the links of one abstract; the least of three
  torch_import_s          of `import torch`, which is not in first_answer_s; absent where nothing imports it
  documents_per_s_one_core  dev abstracts of BC5CDR in a second of CPU
  strict_f1, f1_loss      on dev of BC5CDR, NCBI disease and BioRED, from raw text; the most that the pack is below its pipeline
  deterministic           1 where two builds have the same bytes
hostile_packs, refused    packs made to do harm, and those that were refused by a code and left nothing in the cache directory;
                          it fails if that is not all of them, or if the sound pack that they were made of is refused

With `--quick` the pipeline is the starter, on few documents, and each fifth hostile pack is judged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.commands.starter import diseases_of
from benchmarks.pack.hostile import hostile_packs, small_pack
from benchmarks.pack.judged import refused
from benchmarks.pack.measured import measured
from benchmarks.pack.trained import full_pipeline, lite_pipeline
from benchmarks.report import data_folder
from benchmarks.results.e2e_tasks import JOINED, KINDS, end_to_end_task
from onym.datasets.prepared import open_dataset
from onym.pipeline import Pipeline
from onym.types import Document

LOWER_BOUNDS = {"hostile_packs": 100}
_CORPORA = ("bc5cdr", "ncbi_disease", "biored")
_QUICK, _EACH = 40, 5
_MESH = "mesh:"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only-hostile", action="store_true", help="measure no pack")
    parser.add_argument("--only", choices=("lite", "full"), help="measure one of the packs")


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {} if options.only_hostile else _packs(folder, options)
        good = small_pack(folder / "good")
        cases = hostile_packs(good)[:: _EACH if options.quick else 1]
        count = refused(cases, good, folder / "hostile")
    if count != len(cases):
        sys.exit(f"{len(cases) - count} of {len(cases)} hostile packs were not refused")
    return {**figures, "hostile_packs": len(cases), "refused": count}


def _packs(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    if options.quick:
        return {"lite": _starter(folder)}
    found: dict[str, object] = {}
    if options.only != "full":
        found["lite"] = _trained(lite_pipeline(), folder, "lite")
    if options.only != "lite":
        found["full"] = _trained(full_pipeline(), folder, "full")
    return found


def _trained(pipeline: Path, folder: Path, name: str) -> dict[str, object]:
    corpora = {key: end_to_end_task(key, "dev", JOINED).documents for key in _CORPORA}

    def narrowed(pipeline: Pipeline, key: str) -> Pipeline:
        return pipeline.with_types(KINDS[key].groups)

    return measured(pipeline, folder, name, corpora, narrowed=narrowed, compress=name == "full")


def _starter(folder: Path) -> dict[str, object]:
    documents = open_dataset("bc5cdr", data=data_folder()).documents("dev")
    docs: Sequence[Document] = diseases_of(documents)[:_QUICK]
    return measured("starter", folder, "starter", {"bc5cdr": docs}, narrowed=lambda pipeline, _: pipeline, canonical=_by_mesh)


def _by_mesh(pipeline: Pipeline) -> Callable[[str], str]:
    """Return how a concept of MONDO is compared with MeSH: as the first record that it refers to."""
    kb = pipeline.kb

    def canonical(concept_id: str) -> str:
        row = kb.concept_ids.find(concept_id)
        xrefs = [kb.xrefs[int(number)] for number in kb.concept_xrefs[row]] if row >= 0 else []
        return min((each for each in xrefs if each.startswith(_MESH)), default=concept_id)

    return canonical
