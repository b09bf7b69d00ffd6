"""Links a shard: a pure function of its inputs and the pipeline, so that every machine writes the same bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from onym._version import __version__
from onym.batch.inputs import GroupReading
from onym.batch.plan import BatchPlan, InputGroup, Shard, read_plan
from onym.batch.planning import open_planned, require_planned
from onym.batch.rows import FileReceipt, Receipt, RowWriter
from onym.corpora.base import DELETED, Item
from onym.corpora.corpus import unwritable
from onym.corpora.problems import INTERNAL
from onym.errors import ConfigError, IntegrityError, is_failure, to_onym_error
from onym.outputs.links import LinkCounts
from onym.pipeline.pipeline import Pipeline
from onym.store.hidden import owner_only
from onym.store.storage import Storage, open_storage
from onym.types import Document, Problem

Report = Callable[[int, float], None]
"""Progress callback: the number of linked documents of a shard, and the fraction of its input that was read."""


def _ignore(documents: int, share: float) -> None:
    """No-op progress callback."""


class ShardRunner:
    """Links shards of a plan: holds the open pipeline and the storage of the output."""

    def __init__(self, out: str, pipeline: str | None = None) -> None:
        self._storage = open_storage(out)
        self._plan = read_plan(self._storage)
        self._shards = {shard.number: shard for shard in self._plan.shards}
        self._pipeline = open_planned(self._plan.settings, pipeline)
        require_planned(self._plan, self._pipeline)

    def run(self, number: int, report: Report = _ignore) -> dict[str, Any]:
        """Link a shard and return a `done` or `failed` reply. An error that affects all shards is raised."""
        try:
            with owner_only(self._plan.settings.private):
                receipt = run_shard(self._shards[number], self._plan, self._pipeline, self._storage, report)
        except BaseException as e:  # includes panics of Rust libraries
            if isinstance(e, ConfigError | IntegrityError) or not is_failure(e):
                raise
            ours = to_onym_error(e)
            return {"failed": number, "code": ours.code, "what": ours.what}
        return {"done": number, "documents": receipt.documents}


def run_shard(shard: Shard, plan: BatchPlan, pipeline: Pipeline, storage: Storage, report: Report = _ignore) -> Receipt:
    """Link a shard and write its output atomically. If an input has changed since planning, raise and write nothing."""
    with storage.publish(shard.name) as file:
        return write_shard(shard, pipeline, file, text=plan.settings.text, report=report)


def write_shard(shard: Shard, pipeline: Pipeline, file: BinaryIO, *, text: bool = True, report: Report = _ignore) -> Receipt:
    """Link a shard and write its rows, with a receipt in the footer."""
    with RowWriter(file, text=text) as rows:
        run = _ShardRun(shard, rows)
        for linked in pipeline.link_many(run.documents()):
            if problem := unwritable(linked.document):
                run.note(problem)
            else:
                run.counts.add(linked)
                run.problems.update(each.code for each in linked.problems)
                rows.add_linked(linked)
                report(run.counts.documents, run.share)
        return run.finish()


class _ShardRun:
    """The state of a shard that is being linked."""

    _reading: GroupReading | None

    def __init__(self, shard: Shard, rows: RowWriter) -> None:
        self.rows, self.counts, self.problems = rows, LinkCounts(), Counter[str]()
        self._shard, self._deleted = shard, 0
        self._files: list[FileReceipt] = []
        self._bytes_before, self._reading = 0, None

    @property
    def share(self) -> float:
        """The fraction of the input bytes that was read."""
        now = self._reading.bytes_read if self._reading else 0.0
        return (self._bytes_before + now) / max(1, self._shard.bytes)

    def documents(self) -> Iterator[Document]:
        """Yield the documents of all groups; problems are recorded."""
        for group in self._shard.groups:
            for item in self._read(group):
                if isinstance(item, Problem):
                    self.note(item)
                else:
                    yield item

    def note(self, problem: Problem) -> None:
        """Record a problem or a deletion."""
        if problem.code == DELETED:
            self._deleted += 1
        else:
            self.problems[problem.code] += 1
            self.counts.bugs += problem.code == INTERNAL
        self.rows.add_problem(problem)

    def finish(self) -> Receipt:
        """Close the file and return the receipt."""
        counts = self.counts
        receipt = Receipt(
            key=self._shard.key,
            shard=self._shard.number,
            onym=__version__,
            documents=counts.documents,
            mentions=counts.mentions,
            linked=counts.linked,
            tied=counts.tied,
            deleted=self._deleted,
            problems=dict(sorted(self.problems.items())),
            bugs=counts.bugs,
            files=tuple(self._files),
            rows=self.rows.rows,
            digest=self.rows.digest(),
        )
        self.rows.close(receipt.model_dump_json().encode())
        return receipt

    def _read(self, group: InputGroup) -> Iterator[Item]:
        self._reading = reading = GroupReading(group)
        yield from reading
        self._bytes_before, self._reading = self._bytes_before + group.bytes, None
        self._files += [FileReceipt(name=file.name, documents=file.documents, code=file.code) for file in reading.files]
