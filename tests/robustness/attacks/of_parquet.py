"""Attacks by Parquet files that decode to gigabytes, through every command that reads one."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from onym.batch.plan import SHARDS
from onym.batch.planning import plan_batch
from onym.batch.rows import RECEIPT
from onym.batch.run import run_batch
from onym.types import kinds_of
from tests.batch.runs import InlineEngine, finish_run, pipeline_at
from tests.robustness.attacks.rows import Outcome, Place, attack

MAX_MB = 600
_TEXT, _ROWS = 7_000_000, 512  # bytes of the text that all rows share, and their number: 3.6 GB
_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def forge_rows(schema: pa.Schema, column: str, metadata: dict[bytes, bytes] | None = None) -> bytes:
    """Return a file of some kilobytes, in which all rows share one long text in a column."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * _ROWS, pa.int32()), pa.array(["fever " * (_TEXT // 6)]))
    known = {"row": pa.array(["mention"] * _ROWS), "document": pa.array(["1"] * _ROWS), "surface": pa.array(["x"] * _ROWS)}
    known |= {name: pa.array([number] * _ROWS) for name, number in (("start", 0), ("end", 5), ("ordinal", 0))}
    columns = [{**known, column: text}.get(each.name, pa.nulls(_ROWS, each.type)) for each in schema]
    out = io.BytesIO()
    types = pa.schema(zip(schema.names, [each.type for each in columns], strict=True))
    with pq.ParquetWriter(out, types, compression="zstd", store_schema=False) as writer:
        writer.write_table(pa.table(columns, names=schema.names))
        writer.add_key_value_metadata(metadata or {})
    return out.getvalue()


def forge_links(path: Path) -> Path:
    """Write a table of links, whose texts decode to gigabytes."""
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in kinds_of().items()])
    path.write_bytes(forge_rows(schema, "text"))
    return path


def forge_run(place: Place) -> Path:
    """Finish a run and replace a shard by one of the same key."""
    finish_run(place.kb_path, place.folder)
    shard = sorted((place.folder / "out" / SHARDS).iterdir())[0]
    old = pq.read_metadata(shard)
    receipt = {RECEIPT: old.metadata[RECEIPT]}
    shard.write_bytes(forge_rows(old.schema.to_arrow_schema(), "text", receipt))
    return place.folder / "out"


def require_bounded(done: Outcome) -> None:
    """Raise AssertionError if a command took more memory than a bomb may cost, or ended without a code."""
    done.require_told()
    assert done.mb < MAX_MB, done


@attack("a shard of a run decodes to 3.6 GB: onym batch verify")
def bomb_in_a_run_verified(place: Place) -> None:
    done = place.onym_apart("batch", "verify", forge_run(place))
    assert done.mb < MAX_MB, done
    assert done.status != 0, done


@attack("a shard of a run decodes to 3.6 GB: onym batch export")
def bomb_in_a_run_exported(place: Place) -> None:
    require_bounded(place.onym_apart("batch", "export", forge_run(place), "-o", "links.jsonl").require_refused("limit-"))
    assert not (place.folder / "links.jsonl").exists()


@attack("a shard of a run decodes to 3.6 GB: onym batch compact")
def bomb_in_a_run_compacted(place: Place) -> None:
    require_bounded(place.onym_apart("batch", "compact", forge_run(place), "-o", "now.parquet").require_refused("limit-"))
    assert not (place.folder / "now.parquet").exists()


@attack("a shard of a run decodes to 3.6 GB: onym migrate")
def bomb_in_a_run_migrated(place: Place) -> None:
    kb = place.kb_path
    done = place.onym_apart("migrate", forge_run(place), "--from", kb, "--to", kb, "-o", "new")
    require_bounded(done.require_refused("limit-"))


@attack("a table of links decodes to 3.6 GB: onym review create")
def bomb_as_links_of_a_desk(place: Place) -> None:
    links = forge_links(place.folder / "links.parquet")
    done = place.onym_apart("review", "create", links, "--kb", place.kb_path, "-o", "desk.sqlite")
    require_bounded(done.require_refused("limit-"))
    assert not (place.folder / "desk.sqlite").exists()


@attack("a table of links decodes to 3.6 GB: onym audit plan")
def bomb_as_links_of_an_audit(place: Place) -> None:
    links = forge_links(place.folder / "links.parquet")
    done = place.onym_apart("audit", "plan", links, "--kb", place.kb_path, "-o", "desk.sqlite")
    require_bounded(done.require_refused("limit-"))


@attack("a table of terms decodes to 3.6 GB: onym map, onym migrate", has_succeeded=False)
def bomb_as_terms(place: Place) -> None:
    links, kb = forge_links(place.folder / "links.parquet"), place.kb_path
    done = place.onym_apart("map", links, "--column", "text", "--kb", kb, "-o", "mapped.csv")
    require_bounded(done.require_refused("limit-"))
    done = place.onym_apart("migrate", links, "--column", "concept_id", "--from", kb, "--to", kb, "-o", "new.parquet")
    require_bounded(done.require_refused("limit-"))


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Make each write beyond so many bytes of a file fail, as on a full disk."""
    import resource

    before, writes_bytecode = resource.getrlimit(resource.RLIMIT_FSIZE), not sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python would cache truncated modules, and fail to import them from then on
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = not writes_bytecode


@attack("the disk is full when a run is compacted, exported or migrated")
def outputs_of_a_run_on_a_full_disk(place: Place) -> None:
    finish_run(place.kb_path, place.folder)
    kb = place.kb_path
    commands = (
        ("batch", "compact", "out", "-o", "now.parquet"),
        ("batch", "export", "out", "-o", "links.parquet"),
        ("batch", "export", "out", "-o", "links.xlsx"),
        ("migrate", "out", "--from", kb, "--to", kb, "-o", "new"),
    )
    before = set(place.folder.iterdir())
    for command in commands:
        with full_disk(100):
            done = place.onym(*command)
        done.require_refused("output-failed")
    assert set(place.folder.iterdir()) - before <= {place.folder / "new"}


@attack("ids of documents have versions beyond 2^63")
def versions_beyond_the_largest_integer(place: Place) -> None:
    lines = [f'{{"id": "123.{version}", "text": "High fever."}}\n' for version in (1, 2, "9" * 20, "9" * 400)]
    (place.folder / "notes.jsonl").write_text("".join(lines))
    plan_batch([place.folder / "notes.jsonl"], pipeline_at(place.kb_path, place.folder), place.folder / "out")
    run_batch(place.folder / "out", engine=InlineEngine())
    done = place.onym("batch", "compact", "out", "-o", "now.parquet", "--latest")
    assert done.status == 0, done
    assert len(set(pq.read_table(place.folder / "now.parquet")["document"].to_pylist())) == 3
