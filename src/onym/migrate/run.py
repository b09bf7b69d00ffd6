"""Migrates annotations to a new release, with an audit table and, if asked, a queue of links for review."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from onym.batch.plan import read_plan
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.replacements import Replacements
from onym.migrate.audit import AUDIT_COLUMNS, Migrated, audit_row, describe_kb, queue_columns, queue_line, queue_row
from onym.migrate.kinds import KINDS, BatchOutputs, Kind, MigrationJob
from onym.migrate.links import LinkMigrator, LinkRecord
from onym.migrate.relinker import MIN_CONFIDENCE, Relinker
from onym.outputs.predictions import write_header, write_prediction_lines
from onym.outputs.rows import require_rows, write_rows
from onym.pipeline.pipeline import Pipeline
from onym.store.files.source import Source
from onym.store.hidden import owner_only
from onym.store.output import require_distinct, require_file, whole_file, whole_set
from onym.types import Progress, silent


def migrate(
    source: Path | str,
    old: KnowledgeBase,
    new: KnowledgeBase,
    out: Path | str,
    *,
    format: str = "",  # noqa: A002
    column: str = "",
    pipeline: Pipeline | None = None,
    documents: Path | str | None = None,
    min_confidence: float = MIN_CONFIDENCE,
    audit: Path | None = None,
    strict: bool = False,
    force: bool = False,
    progress: Progress = silent,
) -> Migrated:
    """Write annotations with the ids of a new release, and return the counts of what became of their links.

    `source` is a corpus, predictions, the output of a batch, a review desk, corrections, or a table (with ids in `column`).
    With a `pipeline` of the new release, ids with several successors are linked again in context; predictions then need the
    `documents`. The audit table is written to `audit`, by default beside `out`. With `strict`, the links that a person must
    decide are also written to a queue beside `out`; a desk queues them itself.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.pubtator").write_text("1|t|Fever\\n1|a|\\n1\\t0\\t5\\tFever\\tDisease\\tD005334\\n")
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> migrate(folder / "a.pubtator", kb, kb, folder / "b.pubtator").links["kept"]
    1
    """
    relinker = Relinker(pipeline, new, min_confidence) if pipeline else None
    migrator = LinkMigrator(Replacements(old, new), relinker)
    texts = Source.open(documents) if documents else None
    job = MigrationJob(str(source), str(out), migrator, format, column, texts, force, progress)
    kind = next(kind for kind in KINDS if kind.matches(job))
    _require_options(kind, {"format": format, "column": column, "pipeline": pipeline, "documents": documents})
    if not kind.HAS_AUDIT:
        _require_distinct(job, kind, audit, documents)
    kind.require_output(job)
    with owner_only(_is_private(job, kind)):
        if kind.HAS_AUDIT:
            _refuse_audit(audit)
            with Queue(job, kind, queue_path(job.out_path, kind)) if strict else nullcontext() as queue:
                deque(queue.watch(kind.iter_records(job)) if queue else kind.iter_records(job), maxlen=0)
        else:
            _migrate_with_audit(job, kind, audit or audit_path(job.out_path), strict=strict)
    return job.result


def _migrate_with_audit(job: MigrationJob, kind: Kind, audit: Path, *, strict: bool) -> None:
    """Write the annotations, the queue and the audit table, which appears last: without it, a migration was not finished."""
    beside = [queue_path(job.out_path, kind), audit] if strict and not kind.IS_DESK else [audit]
    require_rows(audit)
    for path in beside:
        require_file(path, force=job.force)
    with whole_set(job.out_path, *beside) as (output, *others):
        staged = replace(job, out=str(output))
        with Queue(staged, kind, others[0]) if len(others) > 1 else nullcontext() as queue:
            records = kind.iter_records(staged)
            _write_audit(job, queue.watch(records) if queue else records, others[-1])
        kind.require_output(job)  # again, because the migration took time


def _require_distinct(job: MigrationJob, kind: Kind, audit: Path | None, documents: Path | str | None) -> None:
    """Raise ConfigError if the output, the audit table or the queue would replace another one or an input."""
    inputs = [Path(path) for path in (job.source, documents) if path]
    require_distinct([job.out_path, audit or audit_path(job.out_path), queue_path(job.out_path, kind)], inputs)


def _write_audit(job: MigrationJob, records: Iterable[LinkRecord], path: Path) -> None:
    """Write the audit table. The annotations are migrated while their records are read."""
    rows = (audit_row(record, job.migrator.found) for record in job.result.count(records))
    with whole_file(path) as file:
        write_rows(rows, AUDIT_COLUMNS, path, file)


def audit_path(out: Path) -> Path:
    """Return the usual path of the audit table.

    >>> audit_path(Path("corpus")).name
    'corpus.audit.tsv'
    """
    return out.with_name(f"{out.name}.audit.tsv")


def queue_path(out: Path, kind: Kind) -> Path:
    """Return the path of the queue: predictions if the links are mentions of texts, else a table like that of `onym map`."""
    return out.with_name(f"{out.name}.review.{'jsonl' if kind.HAS_TEXT else 'csv'}")


class Queue:
    """Writes the links that a person must decide; without any, there is no file."""

    def __init__(self, job: MigrationJob, kind: Kind, path: Path) -> None:
        self._found, self._has_text, self._force = job.migrator.found, kind.HAS_TEXT, job.force
        self._path = path
        self._stack, self._rows = ExitStack(), list[LinkRecord]()
        self._file: BinaryIO | None = None
        require_file(path, force=job.force)

    def __enter__(self) -> Self:
        self._stack.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Publish the file, or remove it after an error."""
        if self._rows and error is None:
            rows = (queue_row(record, self._found) for record in self._rows)
            write_rows(rows, queue_columns(self._rows[0]), self._path, self._open())
        self._stack.__exit__(kind, error, trace)

    def watch(self, records: Iterable[LinkRecord]) -> Iterator[LinkRecord]:
        """Yield the records, and write the undecided ones."""
        for record in records:
            if record.is_undecided and not self._has_text:
                self._rows.append(record)
            elif record.is_undecided and record.start is not None:
                if self._file is None:
                    write_header(self._source(), self._open())
                write_prediction_lines([queue_line(record)], self._open())
            yield record

    def _source(self) -> dict[str, object]:
        return {
            "linker": {"linker": "migrate"}, "kb": describe_kb(self._found.new), "migrated": {"from": self._found.old.digest},
        }  # fmt: skip

    def _open(self) -> BinaryIO:
        if self._file is None:
            self._file = self._stack.enter_context(whole_file(self._path, force=self._force))
        return self._file


def _is_private(job: MigrationJob, kind: Kind) -> bool:
    """Return whether the annotations are private, so that the audit table and the queue are too: a desk, or a private run."""
    return kind.IS_DESK or (isinstance(kind, BatchOutputs) and read_plan(job.storage).settings.private)


def _require_options(kind: Kind, given: dict[str, object]) -> None:
    for name, value in given.items():
        if value and name not in kind.OPTIONS:
            what = f"--{name} does not apply to these annotations"
            raise ConfigError("config-invalid", what, fix=f"leave out --{name}")


def _refuse_audit(audit: Path | None) -> None:
    if audit is not None:
        what = "the audit table of a batch is in its output, one file for each shard"
        raise ConfigError("config-invalid", what, fix="leave out --audit")
