"""Migrates the output of `onym batch`, shard by shard: an interrupted migration resumes when it is started again.

The output is a run like the source: its shards have receipts, and `onym batch status`, `verify` and `export` read it. A shard
is done if and only if its file has a receipt with the right key. What became of each link is in `audit/`, one Parquet file for
each shard. Ids with several successors are suggestions.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from onym.batch.ledger import receipts_of, require_finished
from onym.batch.plan import SHARDS, BatchPlan, Shard, write_plan
from onym.batch.rows import CANDIDATES, LIMITS, SCHEMA_VERSION, Receipt, RowWriter, iter_tables
from onym.errors import InputError
from onym.kb.replacements import name_of
from onym.migrate.audit import Migrated, describe_source
from onym.migrate.links import UNDECIDED, Fate, LinkMigrator, LinkRecord, Outcome
from onym.store.files.parquet import ParquetReader, write_parquet
from onym.store.hidden import owner_only
from onym.store.storage import Storage
from onym.types import Progress, silent

AUDIT = "audit"
_WHERE = ("source", "ordinal", "document", "start", "end")
_AUDIT_SCHEMA = pa.schema(
    [
        *((name, pa.int64() if name in ("ordinal", "start", "end") else pa.string()) for name in (*_WHERE, "old")),
        *((name, pa.string()) for name in ("outcome", "new", "suggested", "why")),
    ]
)
_FATES = {"outcome": pl.String, "new": pl.String, "suggested": pl.String, "why": pl.String}
Row = dict[str, Any]


def migrate_batch(
    source: Storage, out: Storage, migrator: LinkMigrator, result: Migrated, *, progress: Progress = silent
) -> None:
    """Migrate the shards of a finished run that are not migrated yet."""
    ledger = require_finished(source)
    if any(receipt.format < SCHEMA_VERSION for receipt in ledger.receipts.values()):
        what, fix = "the run is of an earlier version of Onym", "plan and run it again in a new folder"
        raise InputError("batch-old-rows", what, where=source.url, fix=fix)
    plan = _plan_of(ledger.plan, migrator)
    with owner_only(plan.settings.private):
        write_plan(plan, out)
        for folder in (SHARDS, AUDIT):
            out.clean(folder)
        done = receipts_of(plan.shards, out)
        for number, shard in enumerate(plan.shards, 1):
            if shard.number not in done:
                _migrate_shard(shard, ledger.receipts[shard.number], source, out, migrator, text=plan.settings.text)
            _count(shard, out, result)
            result.documents += ledger.receipts[shard.number].documents
            progress("shards", number)


def iter_undecided(out: Storage, plan: BatchPlan) -> Iterator[LinkRecord]:
    """Yield the links of a migrated run that a person must decide."""
    for shard in plan.shards:
        rows = _read_audit(shard, out).filter(pl.col("outcome").is_in(UNDECIDED))
        for row in rows.iter_rows(named=True):
            suggested = tuple(row["suggested"].split("|")) if row["suggested"] else ()
            fate = Fate(row["old"], row["outcome"], row["old"], suggested, None, row["why"])
            yield LinkRecord(row["source"], row["ordinal"], row["document"], "mention", row["start"], row["end"], fate)


def _plan_of(plan: BatchPlan, migrator: LinkMigrator) -> BatchPlan:
    """Return the plan of the output: the same shards with keys that depend on both releases."""
    moved = {"from": migrator.found.old.digest, "to": migrator.found.new.digest}
    shards = tuple(shard.model_copy(update={"key": _key_of(shard, moved)}) for shard in plan.shards)
    return plan.model_copy(update={"shards": shards, "source": describe_source(plan.source, migrator.found)})


def _key_of(shard: Shard, moved: Mapping[str, str]) -> str:
    return hashlib.sha256(f"{shard.key} {moved['from']} {moved['to']}".encode()).hexdigest()


def _migrate_shard(shard: Shard, old: Receipt, source: Storage, out: Storage, migrator: LinkMigrator, *, text: bool) -> None:
    """Write the audit table of a shard, then its rows: a shard with a receipt has both."""
    audits = []
    with out.publish(shard.name) as new, RowWriter(new, text=text) as rows:
        for table in iter_tables(source, shard.name):
            fates = _decide(table, migrator)
            audits += _audit_table(table, fates).to_batches()
            for batch in _move_rows(table, fates, migrator).combine_chunks().to_batches():
                rows.add_batch(batch)
        with out.publish(_audit_name(shard)) as audit:
            write_parquet(iter(audits), _AUDIT_SCHEMA, audit)
        digest = rows.digest()
        receipt = old.model_copy(update={"key": shard.key, "rows": rows.rows, "digest": digest})
        rows.close(receipt.model_dump_json().encode())


def _decide(rows: pa.Table, migrator: LinkMigrator) -> dict[str, Fate]:
    """Return what becomes of each id of the rows and their candidates."""
    candidates = pa.chunked_array([chunk.flatten().field("concept_id") for chunk in rows.column(CANDIDATES).chunks])
    ids = {*rows.column("concept_id").unique().to_pylist(), *candidates.unique().to_pylist()} - {None}
    return {each: migrator.decide(each) for each in sorted(ids)}


def _audit_table(rows: pa.Table, fates: Mapping[str, Fate]) -> pa.Table:
    """Return the row of the audit table for each link."""
    known = pl.DataFrame(
        [(old, each.outcome, each.new, "|".join(each.suggested), each.why) for old, each in fates.items()],
        schema={"old": pl.String, **_FATES},
        orient="row",
    )
    links = pl.DataFrame(pl.from_arrow(rows.select([*_WHERE, "concept_id"]))).filter(pl.col("concept_id").is_not_null())
    audit = links.rename({"concept_id": "old"}).join(known, on="old", how="left", maintain_order="left")
    return audit.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(_AUDIT_SCHEMA)


def _move_rows(rows: pa.Table, fates: Mapping[str, Fate], migrator: LinkMigrator) -> pa.Table:
    """Return the rows with new ids and preferred names; row groups without a moved id stay as they are."""
    moves = {old: fate.new for old, fate in fates.items() if fate.new != old}
    if not moves:
        return rows
    return pa.Table.from_batches([_move_batch(batch, moves, migrator) for batch in rows.to_batches()], schema=rows.schema)


def _move_batch(batch: pa.RecordBatch, moves: Mapping[str, str], migrator: LinkMigrator) -> pa.RecordBatch:
    rows = batch.to_pylist()
    for row in rows:
        _move_row(row, moves, migrator)
    return pa.RecordBatch.from_pylist(rows, schema=batch.schema)


def _move_row(row: Row, moves: Mapping[str, str], migrator: LinkMigrator) -> None:
    if row["concept_id"] in moves:
        row["concept_id"] = moves[row["concept_id"]]
        row["preferred_name"] = name_of(migrator.found.new, row["concept_id"])
    if any(each["concept_id"] in moves for each in row[CANDIDATES] or ()):
        for each in row[CANDIDATES]:
            if each["concept_id"] in moves:
                each["concept_id"] = moves[each["concept_id"]]
                each["preferred_name"] = name_of(migrator.found.new, each["concept_id"])
        row[CANDIDATES] = list({each["concept_id"]: each for each in reversed(row[CANDIDATES])}.values())[::-1]


def _count(shard: Shard, out: Storage, result: Migrated) -> None:
    audit = _read_audit(shard, out)
    counts: Counter[Outcome] = Counter(dict(audit["outcome"].value_counts().iter_rows()))
    result.links.update(counts)
    result.changed += audit.filter(pl.col("old") != pl.col("new")).select("source", "ordinal").n_unique()


def _read_audit(shard: Shard, out: Storage) -> pl.DataFrame:
    name = _audit_name(shard)
    with out.open(name) as file:
        tables = list(ParquetReader(file, name, LIMITS).tables(_AUDIT_SCHEMA))
    return pl.DataFrame(pl.from_arrow(pa.concat_tables([_AUDIT_SCHEMA.empty_table(), *tables])))


def _audit_name(shard: Shard) -> str:
    return f"{AUDIT}/{shard.number:06d}.parquet"
