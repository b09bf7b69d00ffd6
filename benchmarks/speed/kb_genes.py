"""Measure knowledge bases built from NCBI's gene_info: chosen species of a file of all species, and all genes of a large one.

genuine         for each genuine file: genes, and names of other columns than the symbol, as the file has them and as the reader
                reads them, which must be equal
rows            rows of the generated gene_info of all species, in which the genes of human and mouse are genuine
chosen_s        seconds of a build of human and mouse from it; chosen_peak_gb: its peak memory; chosen_genes: genes in it, which
                must be as many as the genuine files have of these two taxon ids
full_rows       rows of a generated gene_info of which all genes are built; full_s, full_peak_gb: time and memory of the build
full_kb_gb      size of its knowledge base
lookup_us       microseconds of a look-up of a name in the full knowledge base; open_s: seconds to open it

Half of the generated genes are named by their number (LOC...), as most genes in gene_info are; the others have the names of
genuine genes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import polars as pl

from benchmarks.report import data_folder
from benchmarks.speed.kb_umls import build_release, open_in_process
from onym.kb import KnowledgeBase, readers
from onym.store.files.source import Source

UPPER_BOUNDS = {"unequal_counts": 0, "chosen_peak_gb": 1.0, "full_peak_gb": 8.0}
_FILES = {"9606": "Homo_sapiens", "10090": "Mus_musculus", "7955": "Danio_rerio", "7227": "Drosophila_melanogaster"}
_CHOSEN = ("9606", "10090")
_ROWS, _QUICK_ROWS = 45_000_000, 300_000
_FULL_ROWS, _QUICK_FULL_ROWS = 4_200_000, 100_000
_LOOKUPS = 200_000
_CHUNK = 500_000
_NEW = "NEWENTRY"
_NAME_COLUMNS = (
    "LocusTag", "Symbol_from_nomenclature_authority", "Full_name_from_nomenclature_authority", "description", "Synonyms",
    "Other_designations",
)  # fmt: skip
_LISTS = ("Synonyms", "Other_designations")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=0, help=f"rows of the file of all species; {_ROWS:,} without --quick")
    parser.add_argument(
        "--full-rows", type=int, default=0, help=f"rows of the file built in full; {_FULL_ROWS:,} without --quick"
    )
    parser.add_argument("--folder", type=Path, help="folder of the generated files; a temporary folder by default")


def run(options: argparse.Namespace) -> dict[str, object]:
    rows = options.rows or (_QUICK_ROWS if options.quick else _ROWS)
    full_rows = options.full_rows or (_QUICK_FULL_ROWS if options.quick else _FULL_ROWS)
    genuine = {name: count_genuine(_path(name)) for name in list(_FILES.values())[2 if options.quick else 0 :]}
    unequal = sum(own != read for counts in genuine.values() for own, read in (counts["genes"], counts["names"]))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        base = Path(folder)
        chosen = measure_chosen(base, rows)
        full = measure_full(base, full_rows)
    unequal += chosen["chosen_genes"] != chosen["chosen_genes_of_files"]
    return {"genuine": genuine, "rows": rows, **chosen, "full_rows": full_rows, **full, "unequal_counts": unequal}


def _path(name: str) -> Path:
    return data_folder() / "genes" / f"{name}.gene_info.gz"


def _lines(path: Path) -> Iterator[list[str]]:
    """Yield the fields of each row without the header, by plain Python, as the independent count."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from (line.rstrip("\n").split("\t") for line in file)


def count_genuine(path: Path) -> dict[str, tuple[int, int]]:
    """Return the genes and the names of a file: as the file has them, and as the reader reads them."""
    rows = _lines(path)
    columns = [name.lstrip("#") for name in next(rows)]
    genes, names = set(), 0
    for row in rows:
        cells = dict(zip(columns, row, strict=True))
        genes.add(cells["GeneID"])
        for column in _NAME_COLUMNS:
            values = cells[column].split("|") if column in _LISTS else [cells[column]]
            names += sum(value.strip() not in ("", "-", cells["Symbol"]) for value in values)
    read_genes, read_names = set[str](), 0
    for batch in readers.read(Source.open(path), "ncbi_gene"):
        frame = pl.DataFrame(batch).filter(pl.col("name").is_not_null())
        read_genes.update(frame["concept_id"].to_list())
        read_names += frame.height
    return {"genes": (len(genes), len(read_genes)), "names": (names, read_names - len(read_genes))}


def measure_chosen(base: Path, rows: int) -> dict[str, float]:
    """Build human and mouse from a file of all species."""
    path = base / "all.gene_info.gz"
    own = write_all_species(path, rows)
    seconds, peak_gb = build_release(path, base / "chosen", *(f"--species={each}" for each in _CHOSEN))
    genes = len(KnowledgeBase.open(base / "chosen"))
    found = {"chosen_s": round(seconds, 1), "chosen_peak_gb": round(peak_gb, 2), "file_gb": _gb(path)}
    path.unlink()
    return found | {"chosen_genes": genes, "chosen_genes_of_files": own}


def write_all_species(path: Path, rows: int) -> int:
    """Write the genes of human and mouse, and of other species up to `rows` rows; return the genes of both with a symbol.

    The other rows repeat, compressed once, because their genes are not read.
    """
    chosen: list[str] = []
    own = 0
    for taxon in _CHOSEN:
        lines = list(_lines(_path(_FILES[taxon])))
        header, chosen = "\t".join(lines[0]), [*chosen, *("\t".join(fields) for fields in lines[1:])]
        own += sum(fields[0] == taxon and fields[2] != _NEW for fields in lines[1:])  # a file has subspecies, too
    others = [
        "\t".join(["4000000", *fields[1:]])
        for name in list(_FILES.values())[2:]
        for number, fields in enumerate(_lines(_path(name)))
        if number
    ]
    block = _compress(others)
    half = len(chosen) // 2
    blocks = max(0, rows - len(chosen)) // len(others)
    rest = max(0, rows - len(chosen)) % len(others)
    with path.open("wb") as file:
        file.write(_compress([header, *chosen[:half]]))
        file.writelines(block for _ in range(blocks))
        file.write(_compress([*others[:rest], *chosen[half:]]))
    return own


def _compress(lines: list[str]) -> bytes:
    return gzip.compress("".join(f"{line}\n" for line in lines).encode(), 6, mtime=0)


def measure_full(base: Path, rows: int) -> dict[str, float]:
    """Build all genes of a large file, and measure the knowledge base."""
    path = base / "full.gene_info.gz"
    write_full(path, rows)
    seconds, peak_gb = build_release(path, base / "full")
    found = {"full_s": round(seconds, 1), "full_peak_gb": round(peak_gb, 2), "full_file_gb": _gb(path)}
    size = sum(each.stat().st_size for each in (base / "full").rglob("*") if each.is_file())
    with open_in_process(base / "full", min(_LOOKUPS, rows)) as process:
        seen = json.loads(process.stdout.readline())  # type: ignore[union-attr]
    speed = {"lookup_us": round(seen["lookup_us"], 1), "open_s": round(seen["open_s"], 3)}
    return found | {"full_kb_gb": round(size / 1e9, 2), "full_genes": len(KnowledgeBase.open(base / "full"))} | speed


def write_full(path: Path, rows: int) -> None:
    """Write `rows` genes of many species, each with its own number."""
    frames = [pl.read_csv(_path(name), separator="\t", quote_char=None, infer_schema=False) for name in _FILES.values()]
    genuine = pl.concat(frames).filter(pl.col("Symbol") != _NEW)
    with gzip.open(path, "wb", compresslevel=1) as file:
        for start in range(0, rows, _CHUNK):
            count = min(_CHUNK, rows - start)
            numbers = pl.int_range(start, start + count, eager=True)
            frame = genuine[numbers % genuine.height].with_columns(
                number=pl.lit(numbers + 100_000_000).cast(pl.String), is_numbered=pl.lit(numbers % 2 == 0)
            )
            is_numbered = pl.col("is_numbered")
            frame = frame.with_columns(
                pl.lit(numbers // genuine.height + 5_000_000).cast(pl.String).alias("#tax_id"),
                GeneID="number",
                Symbol=pl.when(is_numbered).then("LOC" + pl.col("number")).otherwise("Symbol"),
                LocusTag=pl.when(is_numbered).then(pl.lit("-")).otherwise("LocusTag"),
                Synonyms=pl.when(is_numbered).then(pl.lit("-")).otherwise("Synonyms"),
                dbXrefs=pl.lit("-"),
            ).drop("number", "is_numbered")
            frame.write_csv(cast("IO[bytes]", file), separator="\t", quote_style="never", include_header=not start)


def _gb(path: Path) -> float:
    return round(path.stat().st_size / 1e9, 2)
