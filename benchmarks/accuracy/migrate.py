"""Migrate every name of every concept of an old release as an annotated mention, and the gold ids of BC5CDR.

HPO 2025-01-16 to 2026-02-16 is checked against the statements in the OBO file itself, which this module reads on its own;
MONDO (`--mondo-old`, an older file of the package cellxgene-ontology-guide) likewise. MeSH 2020 to 2024, and 2014 to 2024, are
migrated by id. Their moves are compared with the successors that gold mention strings of BC5CDR suggest for retired ids
(`compared`, `agree`). None can be compared: all of these (`mesh_suggested`) are supplementary records; the file of MeSH 2014
has no such records, and MeSH 2020 has retired these (`suggested_known`).

`--splits` measures only how mentions are linked again after a split, see `benchmarks/accuracy/migrate_splits.py`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from benchmarks.accuracy.migrate_splits import measure_splits
from benchmarks.report import data_folder
from onym.corpora import documents_of, read_corpus
from onym.corpora.formats.jsonl import iter_segments
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.kb.replacements import Replacements
from onym.migrate import migrate
from onym.migrate.links import LinkMigrator, Outcome
from onym.store.files.source import InputFile

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_MESH = {
    "2014": ("d2014.en_gb.bin.gz",),
    "2020": ("indra1.18_mesh_id_label_mappings.tsv.gz", "indra1.18_mesh_supp_id_label_mappings.tsv.gz"),
    "2024": ("mesh_id_label_mappings.tsv.gz", "mesh_supp_id_label_mappings.tsv.gz"),
}
UPPER_BOUNDS = {"hpo_contradictions": 0, "hpo_unexplained": 0, "hpo_changed_bytes": 0, "mondo_contradictions": 0}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mondo-old", type=Path, help="MONDO in an earlier version of cellxgene-ontology-guide")
    parser.add_argument("--splits", action="store_true", help="measure only how mentions are linked again after a split")


def run(options: argparse.Namespace) -> dict[str, object]:
    if options.splits:
        return measure_splits(is_quick=options.quick)
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [f"ontologies/hp-{release}.obo.gz" for release in ("2025-01-16", "2026-02-16")]
        figures |= _measure("hpo", files, _read_obo(data_folder() / files[1]), folder, is_quick=options.quick)
        if options.mondo_old:
            new = data_folder() / "ontologies/MONDO-ontology-v2026-05-05.json.zst"
            files = [str(options.mondo_old.resolve()), str(new)]
            figures |= _measure("mondo", files, _read_keyed_json(new), folder, is_quick=options.quick)
        if not options.quick:
            figures |= _measure_mesh(folder)
    return figures


def _build(paths: list[str], dest: Path) -> KnowledgeBase:
    build_kb(Recipe(sources=tuple(SourceConfig(path=each) for each in paths)), dest, root=data_folder())
    return KnowledgeBase.open(dest)


def _measure(name: str, files: list[str], stated: dict[str, set[str]], folder: Path, *, is_quick: bool) -> dict[str, object]:
    """Migrate a corpus with a document for each concept, there and back."""
    old, new = (_build([file], folder / f"{name}-{number}") for number, file in enumerate(files))
    source, there, back = (folder / f"{name}-{each}.jsonl" for each in ("source", "there", "back"))
    mentions = _write_names(old, source, step=20 if is_quick else 1)
    result = migrate(source, old, new, there)
    rows = _read_audit(there)
    migrate(there, new, old, back)
    figures: dict[str, object] = {outcome: result.links[outcome] for outcome in OUTCOMES}
    figures |= {
        "mentions": mentions,
        "unexplained": mentions - sum(1 for row in rows if row["why"]),
        "changed_bytes": _count_changed_bytes(source, there),
        "back_pct": _share_of_same(source, back),
        "contradictions": _count_contradictions(rows, stated),
    }
    return {f"{name}_{key}": value for key, value in figures.items()}


def _write_names(kb: KnowledgeBase, path: Path, step: int) -> int:
    """Write a document for each concept, whose text is its names; return the number of mentions."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in range(0, len(kb), step):
            concept = kb.concept(row)
            text, mentions = "", []
            for term in concept.terms:
                mentions.append({"start": len(text), "end": len(text) + len(term.form), "concept_ids": [concept.id]})
                text += f"{term.form}\n"
            count += len(mentions)
            file.write(json.dumps({"id": str(row), "text": text, "mentions": mentions}, ensure_ascii=False) + "\n")
    return count


def _read_audit(path: Path) -> list[dict[str, str]]:
    with path.with_name(f"{path.name}.audit.tsv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def _count_changed_bytes(before: Path, after: Path) -> int:
    """Return the number of bytes of documents that differ although the document kept all its ids."""
    pairs = zip(*(iter_segments(InputFile.from_path(path)) for path in (before, after)), strict=True)
    ids = zip(_iter_ids(before), _iter_ids(after), strict=True)
    return sum(len(a.data) for (a, b), (old, new) in zip(pairs, ids, strict=True) if old == new and a.data != b.data)


def _iter_ids(path: Path) -> Iterator[list[tuple[str, ...]]]:
    return ([mention.concept_ids for mention in doc.mentions] for doc in documents_of(read_corpus(path)))


def _share_of_same(before: Path, after: Path) -> float:
    """Return the percentage of mentions that have their first id again."""
    pairs = [pair for each in zip(_iter_ids(before), _iter_ids(after), strict=True) for pair in zip(*each, strict=True)]
    return round(100 * sum(old == new for old, new in pairs) / len(pairs), 2)


def _read_obo(path: Path) -> dict[str, set[str]]:
    """Return the certain successors that an OBO file states for each id, none for a current one; read without Onym."""
    found: dict[str, set[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for stanza in lines.read().split("\n[Term]\n")[1:]:
            clauses = [line.partition(": ")[::2] for line in stanza.partition("\n[")[0].split("\n")]
            own = next(value for tag, value in clauses if tag == "id")
            if ("is_obsolete", "true") not in clauses:
                found[own] = set()  # a current id
            for tag, value in clauses:
                if tag == "alt_id":
                    found.setdefault(value.split()[0], set()).add(own)
                if tag == "replaced_by":
                    found.setdefault(own, set()).add(value.split()[0])
    return found


def _read_keyed_json(path: Path) -> dict[str, set[str]]:
    """Return the certain successors that MONDO's file states for each id; none for a current one."""
    with InputFile.from_path(path).open() as stream:
        terms = json.loads(stream.read())
    current: dict[str, set[str]] = {key: set() for key, term in terms.items() if not term.get("deprecated")}
    return current | {
        key: {term["replaced_by"]} for key, term in terms.items() if key not in current and term.get("replaced_by")
    }


def _count_contradictions(rows: list[dict[str, str]], stated: dict[str, set[str]]) -> int:
    """Count moves to an id that the release does not state, and links left alone although it states exactly one id."""
    wrong = 0
    for old, new, outcome in {(row["old"], row["new"], row["outcome"]) for row in rows}:
        ends = _follow(old, stated)
        wrong += outcome == "moved" and bool(ends) and new not in ends
        wrong += outcome in ("suggested", "dead") and len(ends) == 1
    return wrong


def _follow(concept_id: str, stated: dict[str, set[str]]) -> set[str]:
    """Return the current ids at the ends of the chains of successors."""
    seen, ends, waiting = {concept_id}, set(), list(stated.get(concept_id, ()))
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += stated.get(each, ())
            ends |= {each} if stated.get(each) == set() else set()
    return ends


def _measure_mesh(folder: Path) -> dict[str, object]:
    kbs = {year: _build([f"mesh/{file}" for file in files], folder / f"mesh-{year}") for year, files in _MESH.items()}
    suggested = _read_suggested()
    supplementary = sum(each.startswith("mesh:C") for each in suggested)
    figures: dict[str, Any] = {"mesh_suggested": len(suggested), "mesh_suggested_supplementary": supplementary}
    for year in ("2014", "2020"):
        migrator = LinkMigrator(Replacements(kbs[year], kbs["2024"]))
        fates = [migrator.decide(kbs[year].concept_ids[row]) for row in range(len(kbs[year]))]
        counts = Counter(fate.outcome for fate in fates)
        moves = {fate.old: fate.new for fate in fates if fate.outcome == "moved"}
        both = moves.keys() & suggested.keys()
        figures |= {f"mesh_{year}_{outcome}": counts[outcome] for outcome in OUTCOMES}
        figures[f"mesh_{year}_suggested_known"] = sum(bool(kbs[year].resolve(each)) for each in suggested)
        figures[f"mesh_{year}_compared"] = len(both)
        figures[f"mesh_{year}_agree"] = sum(moves[each] in suggested[each] for each in both)
    return figures | _measure_gold(kbs)


def _read_suggested() -> dict[str, set[str]]:
    with (data_folder() / "bc5cdr/retired_mesh_ids_candidates.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t"))[1:]
    return {f"mesh:{row[0]}": {f"mesh:{each}" for each in row[2].split("|")} for row in rows if row[2]}


def _measure_gold(kbs: dict[str, KnowledgeBase]) -> dict[str, object]:
    """Count what becomes of the gold mentions of BC5CDR, from MeSH 2020 to 2024."""
    migrator = LinkMigrator(Replacements(kbs["2020"], kbs["2024"]))
    counts = Counter[Outcome]()
    for part in ("Training", "Development", "Test"):
        for doc in documents_of(read_corpus(data_folder() / f"bc5cdr/CDR_{part}Set.PubTator.txt.gz")):
            counts.update(migrator.decide(each).outcome for mention in doc.mentions for each in mention.concept_ids)
    return {f"bc5cdr_{outcome}": counts[outcome] for outcome in OUTCOMES}
