"""Linking a shard: a pure function of its inputs and the pipeline. The same ones give the same bytes, wherever it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from onym._version import __version__
from onym.batch.inputs import read_group
from onym.batch.plan import BatchPlan, InputGroup, Shard
from onym.batch.receipt import FileReceipt, Receipt
from onym.batch.rows import RowWriter
from onym.corpora.base import DELETED, Item
from onym.corpora.corpus import unwritable
from onym.corpora.isolation import INTERNAL
from onym.outputs.links import LinkCounts
from onym.pipeline.pipeline import Pipeline
from onym.store.storage import Storage
from onym.types import Document, Problem


def run_shard(shard: Shard, plan: BatchPlan, pipeline: Pipeline, storage: Storage) -> Receipt:
    """Link a shard and publish its output; an input that is not what it was at planning is refused, and nothing appears."""
    with storage.publish(shard.name) as file:
        return write_shard(shard, pipeline, file, text=plan.settings.text)


def write_shard(shard: Shard, pipeline: Pipeline, file: BinaryIO, *, text: bool = True) -> Receipt:
    """Link a shard and write its rows, with the receipt in the footer."""
    with RowWriter(file, text=text) as rows:
        run = _ShardRun(shard, rows)
        for linked in pipeline.link_many(run.documents()):
            if problem := unwritable(linked.document):
                run.note(problem)
            else:
                run.counts.add(linked)
                run.problems.update(each.code for each in linked.problems)
                rows.add_linked(linked)
        return run.finished()


class _ShardRun:
    """A shard while it is linked."""

    def __init__(self, shard: Shard, rows: RowWriter) -> None:
        self.rows, self.counts, self.problems = rows, LinkCounts(), Counter[str]()
        self._shard, self._deleted = shard, 0
        self._files: list[FileReceipt] = []

    def documents(self) -> Iterator[Document]:
        """Yield the documents of all groups; what is wrong with others is noted."""
        for group in self._shard.groups:
            for item in self._read(group):
                if isinstance(item, Problem):
                    self.note(item)
                else:
                    yield item

    def note(self, problem: Problem) -> None:
        """Note a problem, or a deletion."""
        if problem.code == DELETED:
            self._deleted += 1
        else:
            self.problems[problem.code] += 1
            self.counts.bugs += problem.code == INTERNAL
        self.rows.add_problem(problem)

    def finished(self) -> Receipt:
        """Close the file, and return the receipt."""
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
        files = yield from read_group(group)
        self._files += [FileReceipt(name=file.name, documents=file.documents, code=file.code) for file in files]
