"""Link two real PubMed files from XML to Parquet with `onym batch`, and extrapolate to PubMed's 38 million citations.

`rows` has two pipelines: dictionary and exact match over the open knowledge base (diseases and chemicals), and the starter,
with classifier, reranker and calibrated confidence. `--quick` reads few citations and uses HPO as the dictionary.

documents             linked citations
documents_per_core_s  documents per CPU second of all worker processes, including start-up, reading and writing
core_hours_38m        core hours for 38 million citations
peak_gb               peak memory of a worker
output_gb_38m         size of the output for 38 million citations
versions_kept         documents of the current view that are later versions of a citation
tombstones            documents deleted by the update file
bc5cdr_strict_f1      strict F1 of the same pipeline on the test split of BC5CDR, from raw text; for the starter, diseases only

compact_files    synthetic update files made of real citations
compact_wrong    documents in which the current view after these updates differs from a simple reference implementation
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl

from benchmarks.batch import citations_of, cut, measure_run, real_files, update_files
from benchmarks.commands.starter import strict_f1_of
from benchmarks.results.e2e_predict import predict_with
from benchmarks.results.e2e_tasks import KINDS, end_to_end_task, judge_found
from benchmarks.results.tasks import hpo_kb, open_kb
from onym.batch.exporting import compact
from onym.batch.planning import plan_batch
from onym.packs.locate import load
from onym.pipeline.config import PipelineOptions
from onym.pipeline.folder import build_pipeline

ALL = 38_000_000
_QUICK = 150  # citations per file with --quick
_FILES, _QUICK_FILES, _CITATIONS, _QUICK_CITATIONS = 100, 12, 2_000, 80
_WORKERS = 2


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--citations", type=int, default=0, help="citations per file; all by default")
    parser.add_argument("--only", choices=("dictionary", "starter"), default="", help="run only this row")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.citations or (_QUICK if options.quick else 0)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "pubmed").mkdir()
        for path in real_files():
            if count:
                cut(path, base / "pubmed", count)
            else:
                (base / "pubmed" / path.name).symlink_to(path)
        sources = sorted((base / "pubmed").iterdir())
        bare = _dictionary(base / "dictionary", is_quick=options.quick)
        pipelines: dict[str, Path | str] = {"dictionary": bare, "starter": "starter"}
        wanted = {name: pipeline for name, pipeline in pipelines.items() if options.only in ("", name)}
        rows = [_row(name, pipeline, sources, base / f"out-{name}") for name, pipeline in wanted.items()]
        for row in rows if not options.quick else ():
            row["bc5cdr_strict_f1"] = _f1(str(row["pipeline"]), bare)
        wrong = _wrong(base, bare, is_quick=options.quick)
    figures: dict[str, object] = {
        "rows": rows,
        "compact_files": _QUICK_FILES if options.quick else _FILES,
        "compact_wrong": wrong,
    }
    if wrong:
        sys.exit(f"{figures}; no document of the current view may be wrong")
    return figures


def _dictionary(folder: Path, *, is_quick: bool) -> Path:
    kb = hpo_kb() if is_quick else open_kb()
    types = [] if is_quick else [each for each in KINDS["bc5cdr"].concepts if kb.types.find(each) >= 0]
    options = PipelineOptions(types=tuple(types), restrict=not is_quick)
    build_pipeline(kb.folder.parent, folder, options=options)
    return folder


def _row(name: str, pipeline: Path | str, sources: list[Path], out: Path) -> dict[str, object]:
    plan_batch(sources, pipeline, out)
    ledger, used = measure_run(out, _WORKERS)
    documents = ledger.counts()["documents"]
    size = sum(path.stat().st_size for path in (out / "shards").iterdir())
    current = compact(out, out.parent / f"{name}.parquet")
    return {
        "pipeline": name,
        "documents": documents,
        "mentions": ledger.counts()["mentions"],
        "documents_per_core_s": round(documents / used.cpu_s, 1),
        "core_hours_38m": round(ALL / documents * used.cpu_s / 3600, 1),
        "peak_gb": round(used.peak_gb, 2),
        "output_gb_38m": round(size / documents * ALL / 1e9, 1),
        "versions_kept": current.later_versions,
        "tombstones": current.tombstones,
    }


def _f1(name: str, bare: Path) -> float:
    if name == "starter":
        return strict_f1_of("starter", "bc5cdr")
    task = end_to_end_task("bc5cdr", "test")
    return float(judge_found(task, predict_with(load(bare), task))["strict_f1"])


def _wrong(base: Path, pipeline: Path, *, is_quick: bool) -> int:
    """Return the number of documents in which the current view of synthetic update files differs from a simple reference."""
    citations = citations_of(real_files()[1], _QUICK_CITATIONS if is_quick else _CITATIONS)
    expected = update_files(base / "updates", citations, _QUICK_FILES if is_quick else _FILES)
    plan_batch([base / "updates"], pipeline, base / "out-updates")
    measure_run(base / "out-updates", _WORKERS)
    compact(base / "out-updates", base / "current.parquet")
    rows = pl.read_parquet(base / "current.parquet", columns=["document", "source"]).unique()
    found = set(rows.iter_rows())
    return len(found ^ set(expected.items()))
