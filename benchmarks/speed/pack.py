"""Measure packs (pipelines in one file): size, time to the first answer, accuracy loss, and rejection of hostile packs.

lite                      the dictionary with its classifier and the reranker over the open, joined knowledge base, trained here
                          on the train splits of three corpora (half an hour, once; kept in the cache directory)
full                      the same with a dense stage, MiniLM: packed with its encoder in int8 and an index of codes, and
                          compared with the source pipeline, whose vectors are fp32
  mb, unpacked_mb         size of the file, packed and unpacked
  unpack_s                CPU seconds of checking and unpacking: the first load minus a later one
  first_answer_s          CPU seconds of a fresh process, from its start to the links of one abstract; the minimum of three runs
  torch_import_s          CPU seconds of `import torch`, not included in first_answer_s; absent if torch is not imported
  documents_per_s_one_core  dev abstracts of BC5CDR per CPU second
  strict_f1, f1_loss      strict F1 from raw text on the dev splits of BC5CDR, NCBI disease and BioRED, and the largest loss
                          of F1 against the source pipeline
  deterministic           1 if two builds have the same bytes
hostile_packs, refused    number of malicious packs, and of those that were rejected with an error code and left nothing in the
                          cache directory; the benchmark fails if any was accepted, or if the valid pack that they were
                          derived from is rejected

With `--quick` the pipeline is the starter, on few documents, and every fifth hostile pack is tried.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from tests.robustness.packs.hostile_packs import count_refused, hostile_packs, small_pack

import onym
from benchmarks.commands.starter import CORPORA, documents_of
from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.results.e2e_tasks import JOINED, KINDS, end_to_end_task
from benchmarks.results.tasks import open_kb_joined
from onym.corpora.plain import with_answers
from onym.evaluate.cases import ConceptResolver
from onym.evaluate.end_to_end import score_end_to_end
from onym.packs import build_pack, open_pack
from onym.pipeline import Pipeline
from onym.store.cache import cache_folder
from onym.train.pipeline import PipelineTrainingConfig, train_pipeline
from onym.types import Document

LOWER_BOUNDS = {"hostile_packs": 100}
_CORPORA = ("bc5cdr", "ncbi_disease", "biored")
_QUICK, _EACH = 40, 5


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only-hostile", action="store_true", help="measure no pack, only hostile packs")
    parser.add_argument("--only", choices=("lite", "full"), help="measure only this pack")


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {} if options.only_hostile else _packs(folder, options)
        good = small_pack(folder / "good")
        cases = hostile_packs(good)[:: _EACH if options.quick else 1]
        count = count_refused(cases, good, folder / "hostile")
    if count != len(cases):
        sys.exit(f"{len(cases) - count} of {len(cases)} hostile packs were not refused")
    return {**figures, "hostile_packs": len(cases), "refused": count}


def _packs(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    if options.quick:
        return {"lite": _starter(folder)}
    found: dict[str, object] = {}
    if options.only != "full":
        found["lite"] = _measure_trained(lite_pipeline(), folder, "lite")
    if options.only != "lite":
        found["full"] = _measure_trained(full_pipeline(), folder, "full")
    return found


def _measure_trained(pipeline: Path, folder: Path, name: str) -> dict[str, object]:
    corpora = {key: end_to_end_task(key, "dev", JOINED).documents for key in _CORPORA}

    def narrow_to_types(pipeline: Pipeline, key: str) -> Pipeline:
        return pipeline.with_types(KINDS[key].groups)

    return measure_pack(pipeline, folder, name, corpora, narrowed=narrow_to_types, compress=name == "full")


def _starter(folder: Path) -> dict[str, object]:
    docs = documents_of(CORPORA["bc5cdr"], "dev")[:_QUICK]
    return measure_pack("starter", folder, "starter", {"bc5cdr": docs}, narrowed=lambda pipeline, _: pipeline)


# The pipelines to pack: trained once by one command, and kept in the cache directory.

DATASETS = ("ncbi-disease", "bc5cdr", "biored")
EXCLUDE = ("nlm-chem", "hpo-gsc")
DISEASES = ("Disease", "SpecificDisease", "DiseaseClass", "CompositeMention", "Modifier")
TYPES = {**dict.fromkeys(DISEASES, "Disease"), "Chemical": "Chemical"}


def lite_pipeline() -> Path:
    """Return the folder of `lite`; train it first if it is not in the cache."""
    return _train("pack-lite")


def full_pipeline() -> Path:
    """Return the folder of `full`, trained in the same way as `lite`."""
    return _train("pack-full", dense_encoder=str(model_folder("minilm")))


def _train(name: str, dense_encoder: str | None = None) -> Path:
    folder, kb = cache_folder() / "benchmarks" / name, str(open_kb_joined().folder.parent)
    config = PipelineTrainingConfig(kb=kb, datasets=DATASETS, exclude=EXCLUDE, types=TYPES, dense_encoder=dense_encoder)
    train_pipeline(config, folder, data_folder())
    return folder


# Measurements of one pack: size, time to the first answer, speed, and loss against its source pipeline.

_TURNS = 3
_FIRST = """
import json, sys, time
began = time.process_time()
torch_s = 0.0
if sys.argv[3] == "torch":
    import torch
    torch_s = time.process_time() - began
import onym
linked = onym.load(sys.argv[1]).link(sys.argv[2])
found = {"seconds": time.process_time() - torch_s, "torch_s": torch_s, "torch": "torch" in sys.modules}
print(json.dumps({**found, "links": len(linked.links)}))
"""


def measure_pack(
    pipeline: Path | str,
    folder: Path,
    name: str,
    corpora: Mapping[str, Sequence[Document]],
    *,
    narrowed: Callable[[Pipeline, str], Pipeline],
    compress: bool = False,
) -> dict[str, object]:
    """Build the pack of a pipeline twice, and measure it with an empty cache directory.

    `narrowed` restricts the pipeline to what a corpus annotates.
    """
    path, again = folder / f"{name}.onymp", folder / f"{name}-again.onymp"
    build_pack(pipeline, path, compress=compress)
    build_pack(pipeline, again, name=name, compress=compress)
    is_same = path.read_bytes() == again.read_bytes()
    again.unlink()
    record = open_pack(path).record
    text = next(iter(corpora.values()))[0].text
    before = onym.load(pipeline)
    with patch.dict(os.environ, ONYM_CACHE=str(folder / f"{name}-cache")):
        first, *later = (_first_answer(path, text) for _ in range(_TURNS + 1))
        fastest = min(later, key=lambda each: float(str(each["seconds"])))
        after = onym.load(path)
        speed = _speed(after, next(iter(corpora.values())))
        f1 = {key: (_f1(narrowed(before, key), docs), _f1(narrowed(after, key), docs)) for key, docs in corpora.items()}
    with_torch = {"torch_import_s": round(float(str(fastest["torch_s"])), 2)} if fastest["torch"] else {}
    return {
        "pipeline": name,
        "mb": round(path.stat().st_size / 1e6, 1),
        "unpacked_mb": round(sum(each.bytes for each in record.files.values()) / 1e6, 1),
        "unpack_s": round(float(str(first["seconds"])) - float(str(fastest["seconds"])), 2),
        "first_answer_s": round(float(str(fastest["seconds"])), 2),
        **with_torch,
        "documents_per_s_one_core": round(speed, 1),
        "strict_f1": {key: round(100 * new, 1) for key, (_, new) in f1.items()},
        "f1_loss": round(max(100 * (old - new) for old, new in f1.values()), 2),
        "deterministic": int(is_same),
    }


def _first_answer(path: Path, text: str) -> dict[str, object]:
    """Return the CPU seconds of a fresh process from start to first answer, and separately those of importing torch."""
    for torch in ("", "torch"):
        command = [sys.executable, "-c", _FIRST, str(path), text, torch]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
        found: dict[str, object] = json.loads(done.stdout)
        if not found["torch"] or torch:
            return found
    raise AssertionError


def _speed(pipeline: Pipeline, docs: Sequence[Document]) -> float:
    """Return documents per CPU second, after a warm-up."""
    plain = [replace(doc, mentions=(), relations=()) for doc in docs]
    _link(pipeline, plain[:20])
    began = time.process_time()
    _link(pipeline, plain[20:])
    return len(plain[20:]) / (time.process_time() - began)


def _link(pipeline: Pipeline, docs: Sequence[Document]) -> None:
    for _ in pipeline.link_many(docs):
        pass


def _f1(pipeline: Pipeline, docs: Sequence[Document]) -> float:
    linked = pipeline.link_many(replace(doc, mentions=(), relations=()) for doc in docs)
    return score_end_to_end(docs, map(with_answers, linked), canonical=ConceptResolver(pipeline.kb).canonical).f1
