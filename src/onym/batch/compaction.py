"""The current view of baseline and update files: of each document what the latest file says, without those that were deleted.

PubMed's update files hold new versions of citations and the ids of deleted ones. A document is a PMID with its version; files
are ordered by their names, as PubMed numbers them, and documents by their number in a file. A deletion holds until a later file
has the document again. A document that could not be linked replaces its earlier state, too: that is no longer what it
says.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from onym.batch.ledger import Ledger, finished
from onym.store.output import require_file, whole_path
from onym.store.storage import open_storage

_ORDER, _VERSION = "order", "version"
_VERSIONED = r"^([0-9]+)\.([0-9]+)$"


@dataclass(frozen=True, slots=True)
class Compacted:
    """What the current view holds: documents and rows; versions other than the first; and what is not in it."""

    documents: int
    rows: int
    later_versions: int
    tombstones: int
    superseded: int


def compact(out: str | Path, dest: Path, *, latest: bool = False, force: bool = False) -> Compacted:
    """Write the current view of a run that is done as Parquet; with `latest`, the last version of each document alone."""
    require_file(dest, force=force)
    storage = open_storage(out)
    ledger = finished(storage)
    with storage.paths([shard.name for shard in ledger.plan.shards]) as paths:
        return _write_view(_ordered(ledger, paths), dest, latest=latest, force=force)


def _write_view(rows: pl.LazyFrame, dest: Path, *, latest: bool, force: bool) -> Compacted:
    by_document = rows.filter(pl.col("document") != "").group_by("document")
    last = by_document.agg(pl.col(_ORDER).max(), states=pl.col(_ORDER).n_unique()).collect(engine="streaming")
    kept = last.filter(pl.col(_ORDER) % 2 == 0)
    if latest:
        kept = _latest(kept)
    with whole_path(dest, force=force) as new:
        # the order of the rows is that of the files that were read: the same ones give the same bytes
        joined = rows.join(kept.lazy(), on=["document", _ORDER], how="semi", maintain_order="left").drop(_ORDER)
        joined.sink_parquet(new, compression="zstd", engine="streaming", maintain_order=True)
        written = pl.scan_parquet(new).select(pl.len()).collect().item()
    versions = kept.filter(pl.col("document").str.contains(_VERSIONED)).height
    tombstones = last.filter(pl.col(_ORDER) % 2 == 1).height
    return Compacted(kept.height, written, versions, tombstones, int(last["states"].sum()) - last.height)


def _ordered(ledger: Ledger, paths: list[Path]) -> pl.LazyFrame:
    """Return all rows with a number that grows with the file, the document in it, and from a document to its deletion."""
    names = {part.name for shard in ledger.plan.shards for group in shard.groups for part in group.files}
    in_order = sorted(names, key=lambda name: (PurePosixPath(name).name, name))
    ranks = pl.LazyFrame({"source": in_order, "rank": range(len(in_order))}, schema={"source": pl.String, "rank": pl.Int64})
    number = (pl.col("rank") * 2**31 + pl.col("ordinal")) * 2 + (pl.col("row") == "deleted").cast(pl.Int64)
    rows = pl.scan_parquet(paths).join(ranks, on="source", how="left", maintain_order="left")
    return rows.with_columns(number.alias(_ORDER)).drop("rank")


def _latest(kept: pl.DataFrame) -> pl.DataFrame:
    """Keep the highest version of each document."""
    base = pl.col("document").str.replace(_VERSIONED, "$1")
    version = pl.col("document").str.extract(_VERSIONED, 2).cast(pl.Int64).fill_null(1)
    return (
        kept.with_columns(base.alias("base"), version.alias(_VERSION))
        .sort(_VERSION)
        .unique("base", keep="last")
        .select("document", _ORDER)
    )
