"""Check that the reconciliation service conforms to its specification, and measure its accuracy in OpenRefine.

schema_cases              checked requests to the starter's service and examples of the Reconciliation Service API 0.2
violations                violations of the JSON schemas or of the text of the specification
rows                      distinct mentions of diseases and chemicals in the test splits of BC5CDR, NCBI disease and BioRED
junk                      number of other values: random letters, dates, units, people, cities
gold_in_kb                share of rows whose gold id is in the knowledge base; others count as wrong
top1                      share of rows whose first candidate is right
matches, matched_pct      rows that were matched automatically, at `--precision` (0.95), and their share in percent
match_precision           share of these matches that are right; `wrong_match_share` is the share of wrong ones
junk_matched              junk values that were matched
rows_per_s                rows per second of wall time, sent ten at a time as OpenRefine does

Names mean MeSH concepts first, as in the corpora. The rows go through the real OpenRefine, headless and in a network namespace
that it shares with the service. With `--quick`, a few rows are sent directly, in OpenRefine's format. Use `--split dev` to tune
the service.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import string
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
from benchmarks.commands.starter import CORPORA, documents_of
from benchmarks.serve.running import Running

from onym.kb import KnowledgeBase
from onym.packs import load
from onym.packs.locate import locate
from onym.pipeline.config import FILE
from onym.types import style_id
from tests.robustness.own_network import enter
from tests.robustness.serve.openrefine import OpenRefine
from tests.robustness.serve.reconcile_cases import ReconcileCases, reconcile_schemas

UPPER_BOUNDS = {"violations": 0, "junk_matched": 0}
FULL_BOUNDS = {"wrong_match_share": 0.055}
_PIPELINE = "starter"
_FULL, _QUICK, _AT_ONCE = 1_000, 100, 10
_TERMS, _IDS = 20, 20


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--split", default="test", help="dataset split; use dev for tuning")
    parser.add_argument("--precision", type=float, default=0.95, help="target precision of matches (default: 0.95)")
    parser.add_argument("--plain", action="store_true", help="send all rows directly, without OpenRefine")


def run(options: argparse.Namespace) -> dict[str, object]:
    kb = load(_PIPELINE).kb
    gold = mentions(options.split, _QUICK if options.quick else _FULL)
    values = [*gold, *junk()]
    is_plain = options.quick or options.plain
    if not is_plain:
        enter()  # isolate the network, because OpenRefine has no password
    with tempfile.TemporaryDirectory() as folder:
        service = Running(
            _prefer_mesh(Path(folder) / "starter"), Path(folder) / "log.txt", "--match-precision", str(options.precision)
        )
        try:
            service.wait_until_ready()
            base = f"{service.url}/reconcile"
            ids = [style_id(kb.concept_ids[row]) for row in range(0, len(kb), len(kb) // _IDS)]
            schemas = reconcile_schemas()
            cases = [*schemas.own_cases(), *ReconcileCases(base, schemas, list(gold)[:_TERMS], ids, ["Disease"]).run()]
            rows, seconds, by = _plain(base, values) if is_plain else _by_openrefine(base, values, Path(folder))
        finally:
            service.stop()
    wrong = [f"{name}: {problem}" for name, problems in cases for problem in problems]
    print("".join(f"{each}\n" for each in wrong[:10]), end="", file=sys.stderr)
    figures: dict[str, object] = {"schema_cases": len(cases), "violations": len(wrong)}
    return figures | judge_candidates(rows, gold, kb) | {"rows_per_s": round(len(values) / seconds, 1), "by": by}


def _prefer_mesh(folder: Path) -> Path:
    """Copy the starter, and let names mean MeSH concepts first, because the corpora are annotated with MeSH."""
    shutil.copytree(locate(_PIPELINE), folder)
    config = json.loads((folder / FILE).read_bytes())
    (folder / FILE).write_text(json.dumps(config | {"prefer": ["mesh"]}))
    return folder


def _by_openrefine(base: str, values: Sequence[str], folder: Path) -> tuple[list[ReconciledRow], float, str]:
    with OpenRefine(folder) as openrefine:
        project = openrefine.project_of(values)
        seconds = openrefine.reconcile(project, base)
        found = openrefine.rows(project)
        version = openrefine.version()
    if [row["value"] for row in found] != list(values) or any(row["error"] for row in found):
        sys.exit("OpenRefine returned other rows, or rows with errors")
    rows = [ReconciledRow(row["value"], row["matched"] or next(iter(row["candidates"]), None), row["matched"]) for row in found]
    return rows, seconds, f"OpenRefine {version}"


def _plain(base: str, values: Sequence[str]) -> tuple[list[ReconciledRow], float, str]:
    """Send values as OpenRefine does, ten per form. A value is matched with the first candidate that is marked as a match."""
    rows, began = [], time.perf_counter()
    with httpx.Client(timeout=60.0) as client:
        for first in range(0, len(values), _AT_ONCE):
            several = values[first : first + _AT_ONCE]
            queries = {f"q{row}": {"query": value} for row, value in enumerate(several)}
            found = client.post(base, data={"queries": json.dumps(queries)}).raise_for_status().json()
            for row, value in enumerate(several):
                candidates = found[f"q{row}"]["result"]
                best = next(iter(candidates), None)
                matched = next((each["id"] for each in candidates if each["match"]), None)
                rows.append(ReconciledRow(value, best and best["id"], matched))
    return rows, time.perf_counter() - began, "HTTP"


# Rows for a reconciliation service: distinct annotated mentions with their gold ids, and values to reject.

_SEED = 21
_WORDS = 20
_DATES = (
    "2021-03-04",
    "12/05/1998",
    "3 May 2010",
    "1999",
    "Q2 2020",
    "14:35",
    "Monday",
    "2020-01-01T00:00:00Z",
    "Jan-17",
    "31.12.2004",
)
_UNITS = ("mg/dl", "mmol/L", "2.5 mg", "kg", "75 %", "10 ml", "n = 12", "37.5 °C", "p < 0.05", "120/80 mmHg")
_PEOPLE = ("John Smith", "Maria Garcia", "Wei Chen", "Anna Kowalska", "Dr. Peter Miller")
_CITIES = ("Paris", "Tokyo", "New York", "Nairobi", "Buenos Aires")
Gold = Mapping[str, frozenset[str]]


def junk() -> list[str]:
    """Return 50 values that are neither diseases nor chemicals: random letters, dates, units, people and cities."""
    rng = random.Random(_SEED)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randrange(4, 13))) for _ in range(_WORDS)]
    return [*words, *_DATES, *_UNITS, *_PEOPLE, *_CITIES]


def mentions(split: str, count: int) -> dict[str, frozenset[str]]:
    """Return the distinct surfaces of the corpora, with the gold ids of their mentions that have a single id.

    A surface whose mentions are all composites has no gold id: no single concept is right.
    """
    found: dict[str, set[str]] = {}
    for corpus in CORPORA.values():
        for doc in documents_of(corpus, split):
            for mention in doc.mentions:
                if mention.concept_ids and mention.surface == mention.surface.strip() and mention.surface.isprintable():
                    found.setdefault(mention.surface, set()).update(
                        mention.concept_ids if len(mention.concept_ids) == 1 else ()
                    )
    sample = random.Random(_SEED).sample(sorted(found), min(count, len(found)))
    return {surface: frozenset(found[surface]) for surface in sample}


@dataclass(frozen=True)
class ReconciledRow:
    """A value, its first candidate, and the concept it was automatically matched with."""

    value: str
    first: str | None
    matched: str | None


def judge_candidates(rows: Iterable[ReconciledRow], gold: Gold, kb: KnowledgeBase) -> dict[str, object]:
    """Count right first candidates and matches. A concept is right if it has a gold id."""
    values = {row.value: row for row in rows}
    right = {value: {concept for each in ids for concept in kb.concepts_with_id(each)} for value, ids in gold.items()}

    def is_right(value: str, concept_id: str | None) -> bool:
        return concept_id is not None and not right[value].isdisjoint(kb.resolve(concept_id))

    matches = [row for value in gold if (row := values[value]).matched]
    wrong = sum(not is_right(row.value, row.matched) for row in matches)
    return {
        "rows": len(gold),
        "gold_in_kb": round(sum(map(bool, right.values())) / len(gold), 3),
        "top1": round(sum(is_right(value, values[value].first) for value in gold) / len(gold), 3),
        "matches": len(matches),
        "matched_pct": round(100 * len(matches) / len(gold), 1),
        "match_precision": round(1 - wrong / len(matches), 3) if matches else None,
        "wrong_match_share": round(wrong / len(matches), 3) if matches else 0.0,
        "junk": len(values) - len(gold),
        "junk_matched": sum(bool(row.matched) for value, row in values.items() if value not in gold),
    }
