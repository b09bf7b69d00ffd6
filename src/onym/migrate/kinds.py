"""The kinds of annotations that can be migrated: each is recognised by its file, and yields what became of every link.

To add a kind, write its class here or in a module of its own, and list it in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from onym.batch.plan import FILE, read_plan
from onym.corpora.formats import format_of
from onym.migrate.audit import Migrated
from onym.migrate.batches import iter_undecided, migrate_batch
from onym.migrate.corpora import iter_corpus_records, require_corpus_output
from onym.migrate.desks import is_database, iter_desk_records
from onym.migrate.links import LinkMigrator, LinkRecord
from onym.migrate.predictions import iter_prediction_records
from onym.migrate.tables import TableMigration, find_columns, is_table_of_links, require_table
from onym.outputs.predictions import are_predictions
from onym.outputs.sssom import is_sssom
from onym.store.files.source import InputFile, Source
from onym.store.output import require_file
from onym.store.storage import Storage, is_address, open_storage
from onym.types import Progress, silent


@dataclass(frozen=True)
class MigrationJob:
    """What to migrate, where to, and how; `result` collects the counts."""

    source: str
    out: str
    migrator: LinkMigrator
    format: str = ""
    column: str = ""
    documents: Source | None = None
    force: bool = False
    progress: Progress = silent
    result: Migrated = field(default_factory=Migrated)

    @property
    def path(self) -> Path:
        """The path of the annotations."""
        return Path(self.source)

    @property
    def out_path(self) -> Path:
        """The path of the output."""
        return Path(self.out)

    @cached_property
    def storage(self) -> Storage:
        """The annotations as a folder of a run."""
        return open_storage(self.source)

    @property
    def is_file(self) -> bool:
        """True if the annotations are one file."""
        return not is_address(self.source) and self.path.is_file()


class Kind(Protocol):
    """A kind of annotations. `OPTIONS` are the options that it takes, besides those of every kind.

    `HAS_AUDIT` is true if its output holds the audit table, `HAS_TEXT` if its links are mentions of texts, and `IS_DESK` if its
    output queues what a person must decide.
    """

    OPTIONS: frozenset[str]
    HAS_AUDIT: bool
    HAS_TEXT: bool
    IS_DESK: bool

    def matches(self, job: MigrationJob) -> bool:
        """Return whether the annotations are of this kind."""
        ...

    def require_output(self, job: MigrationJob) -> None:
        """Raise ConfigError, before any work, if the output cannot be written."""
        ...

    def iter_records(self, job: MigrationJob) -> Iterator[LinkRecord]:
        """Migrate the annotations, and yield what became of every link, or of the undecided ones if `HAS_AUDIT` is true."""
        ...


class BatchOutputs:
    """The output of `onym batch`: a folder, or a URL of an object store."""

    OPTIONS = frozenset[str]()
    HAS_AUDIT = HAS_TEXT = True
    IS_DESK = False

    def matches(self, job: MigrationJob) -> bool:
        """Return whether the folder has a plan."""
        return is_address(job.source) or (job.path / FILE).is_file()

    def require_output(self, job: MigrationJob) -> None:
        """Do nothing: the output may be unfinished, and a folder with another plan is refused when the plan is written."""

    def iter_records(self, job: MigrationJob) -> Iterator[LinkRecord]:
        """Migrate the shards that are not migrated yet, and yield the undecided links."""
        out = open_storage(job.out)
        migrate_batch(job.storage, out, job.migrator, job.result, progress=job.progress)
        yield from iter_undecided(out, read_plan(out))


class PredictionFiles:
    """Predictions of `onym link`."""

    OPTIONS = frozenset({"pipeline", "documents"})
    HAS_AUDIT, HAS_TEXT, IS_DESK = False, True, False

    def matches(self, job: MigrationJob) -> bool:
        """Return whether the file starts like a predictions file."""
        return job.is_file and not job.format and are_predictions(job.path)

    def require_output(self, job: MigrationJob) -> None:
        """Raise ConfigError if the file cannot be written."""
        require_file(job.out_path, force=job.force)

    def iter_records(self, job: MigrationJob) -> Iterator[LinkRecord]:
        """Migrate the file."""
        return iter_prediction_records(
            job.path, job.out_path, job.migrator, job.result, documents=job.documents, force=job.force
        )


class Desks:
    """Review desks."""

    OPTIONS = frozenset[str]()
    HAS_AUDIT, HAS_TEXT, IS_DESK = False, True, True

    def matches(self, job: MigrationJob) -> bool:
        """Return whether the file is an SQLite database."""
        return job.is_file and not job.format and is_database(job.path)

    def require_output(self, job: MigrationJob) -> None:
        """Raise ConfigError if the output exists: decisions are never overwritten, even with `force`."""
        require_file(job.out_path)

    def iter_records(self, job: MigrationJob) -> Iterator[LinkRecord]:
        """Migrate the desk."""
        return iter_desk_records(job.path, job.out_path, job.migrator, job.result, progress=job.progress)


class Tables:
    """Tables with a column of ids, SSSOM mapping sets, and files of corrections."""

    OPTIONS = frozenset({"column"})
    HAS_AUDIT = HAS_TEXT = IS_DESK = False

    def matches(self, job: MigrationJob) -> bool:
        """Return whether the file is a table: by its name or `--column`, or because no corpus format matches."""
        if not job.is_file or job.format:
            return False
        if job.column or is_sssom(job.path) or job.path.suffix.lower() in (".xlsx", ".csv"):
            return True
        return is_table_of_links(job.path) or (job.path.suffix == ".tsv" and not format_of(InputFile.from_path(job.path)))

    def require_output(self, job: MigrationJob) -> None:
        """Raise ConfigError if the table cannot be written, or has no column of ids."""
        require_file(job.out_path, force=job.force)
        require_table(job.path, job.out_path)
        find_columns(job.path, job.column)

    def iter_records(self, job: MigrationJob) -> Iterator[LinkRecord]:
        """Migrate the table."""
        table = TableMigration.of(job.path, job.out_path, job.column, job.migrator, job.result, force=job.force)
        return table.iter_records()


class Corpora:
    """Annotated corpora in any format: a file, a folder or an archive."""

    OPTIONS = frozenset({"pipeline", "format"})
    HAS_AUDIT, HAS_TEXT, IS_DESK = False, True, False

    def matches(self, job: MigrationJob) -> bool:  # noqa: ARG002 - of the protocol
        """Return True: everything else is a corpus."""
        return True

    def require_output(self, job: MigrationJob) -> None:
        """Raise ConfigError if the output cannot be written."""
        require_corpus_output(Source.open(job.path), job.out_path, force=job.force)

    def iter_records(self, job: MigrationJob) -> Iterator[LinkRecord]:
        """Migrate the corpus."""
        source = Source.open(job.path)
        return iter_corpus_records(source, job.format, job.out_path, job.migrator, job.result, force=job.force)


KINDS: tuple[Kind, ...] = (BatchOutputs(), Desks(), PredictionFiles(), Tables(), Corpora())
"""The kinds in the order in which they are tried."""
