"""Link a batch of PubMed abstracts again with a new release (`onym batch relink`), and compare it with a full run.

The batch was linked with the dictionary and exact match over HPO 2025-01-16, and is linked again over HPO 2026-02-16; likewise
with MONDO (`--mondo-old`, an older file of the package cellxgene-ontology-guide). `--quick` uses few abstracts.

linked_again_pct    share of documents that were linked again; the rows of the others are reused
changed_names       names for which the two pipelines differ
rows_equal          true if every shard has the rows of the full run
links_changed       rows of mentions that differ between the old release and the new one
plan_cpu_s          CPU seconds of comparing the pipelines, which does not depend on the number of documents
relink_cpu_s        CPU seconds of linking again with one worker, without the comparison
full_cpu_s          CPU seconds of the full run with one worker
speedup             full_cpu_s divided by plan_cpu_s and relink_cpu_s together
speedup_of_run      full_cpu_s divided by relink_cpu_s: what the speedup tends to on larger corpora
inexact_why         what a pipeline that is not exact (TF-IDF) says
inexact_reused      documents that it reuses
inexact_rows_equal  true if its rows are those of a full run
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.batch import cut, measure_run, real_files
from benchmarks.report import data_folder, percent
from onym.batch.ledger import Ledger
from onym.batch.planning import plan_batch
from onym.batch.relinking import plan_relink
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.pipeline.folder import build_pipeline

LOWER_BOUNDS = {"hpo_rows_equal": 1, "mondo_rows_equal": 1, "inexact_rows_equal": 1}
UPPER_BOUNDS = {"inexact_reused": 0}
_QUICK, _INEXACT = 300, 200  # citations
_HPO = ("hp-2025-01-16.obo.gz", "hp-2026-02-16.obo.gz")
_MONDO = "MONDO-ontology-v2026-05-05.json.zst"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--citations", type=int, default=0, help="number of citations; by default a whole PubMed file")
    parser.add_argument("--mondo-old", type=Path, help="MONDO in an earlier version of cellxgene-ontology-guide")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.citations or (_QUICK if options.quick else 0)
    ontologies = data_folder() / "ontologies"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = real_files()[1]
        few = cut(file, folder, _INEXACT).rename(folder / "few.xml")
        file = cut(file, folder, count) if count else file
        hpo = _build_kbs("hpo", [ontologies / each for each in _HPO], folder)
        figures = _relink("hpo", hpo, file, folder)
        if options.mondo_old:
            mondo = _build_kbs("mondo", [options.mondo_old.resolve(), ontologies / _MONDO], folder)
            figures |= _relink("mondo", mondo, file, folder)
        return figures | _relink_inexact(hpo, few, folder)


def _build_kbs(name: str, sources: list[Path], folder: Path) -> list[Path]:
    found = [folder / f"{name}-kb-{number}" for number in range(len(sources))]
    for source, dest in zip(sources, found, strict=True):
        build_kb(Recipe(sources=(SourceConfig(path=str(source)),)), dest, root=folder)
    return found


def _relink(name: str, kbs: list[Path], file: Path, folder: Path) -> dict[str, Any]:
    """Link a file with the old release, then with the new one in full and again."""
    old, new, linked, full, again = (folder / f"{name}-{each}" for each in ("old", "new", "linked", "full", "again"))
    for kb, pipeline, out in ((kbs[0], old, linked), (kbs[1], new, full)):
        build_pipeline(kb, pipeline)
        plan_batch([file], pipeline, out)
    measure_run(linked, 1)
    all_of_it, used = measure_run(full, 1)
    began = time.process_time()
    relinking = plan_relink(linked, new, again)
    plan_s = time.process_time() - began
    ledger, own = measure_run(again, 1)
    documents, reused = ledger.counts()["documents"], ledger.counts()["reused"]
    figures = {
        "documents": documents,
        "changed_names": relinking.changed_names,
        "linked_again_pct": percent(documents - reused, documents),
        "rows_equal": _have_equal_rows(ledger, all_of_it),
        "links_changed": _count_changed_links(linked, full),
        "plan_cpu_s": round(plan_s, 1),
        "relink_cpu_s": round(own.cpu_s, 1),
        "full_cpu_s": round(used.cpu_s, 1),
        "speedup": round(used.cpu_s / (plan_s + own.cpu_s), 2),
        "speedup_of_run": round(used.cpu_s / own.cpu_s, 2),
    }
    return {f"{name}_{key}": value for key, value in figures.items()}


def _relink_inexact(kbs: list[Path], file: Path, folder: Path) -> dict[str, Any]:
    """Link a file again with a pipeline that depends on the whole knowledge base."""
    old, new, linked, full, again = (folder / f"tfidf-{each}" for each in ("old", "new", "linked", "full", "again"))
    for kb, pipeline, out in ((kbs[0], old, linked), (kbs[1], new, full)):
        build_pipeline(kb, pipeline, linker="tfidf")
        plan_batch([file], pipeline, out)
        all_of_it = measure_run(out, 1)[0]
    relinking = plan_relink(linked, new, again)
    ledger = measure_run(again, 1)[0]
    equal = _have_equal_rows(ledger, all_of_it)
    return {"inexact_why": relinking.why_all, "inexact_reused": ledger.counts()["reused"], "inexact_rows_equal": equal}


def _have_equal_rows(ledger: Ledger, full: Ledger) -> bool:
    """Return whether two runs have the same rows: their receipts have a digest of each shard's rows."""
    ours, theirs = ({number: (each.rows, each.digest) for number, each in one.receipts.items()} for one in (ledger, full))
    return ours == theirs


def _count_changed_links(before: Path, after: Path) -> int:
    """Count the rows of mentions that only one of two runs has, in the run that has more of them."""
    ours, theirs = (_links_of(out) for out in (before, after))
    return max(len(ours - theirs), len(theirs - ours))


def _links_of(out: Path) -> set[tuple[Any, ...]]:
    columns = ["source", "ordinal", "start", "end", "concept_id"]
    rows: set[tuple[Any, ...]] = set()
    for path in sorted((out / "shards").glob("*.parquet")):
        rows.update(zip(*(column.to_pylist() for column in pq.read_table(path, columns=columns).columns), strict=True))
    return rows
