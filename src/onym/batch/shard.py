"""Linking a shard: a pure function of its inputs and the pipeline. The same ones give the same bytes, wherever it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

from onym._version import __version__
from onym.batch.inputs import open_group, require_unchanged
from onym.batch.plan import BatchPlan, InputGroup, Shard
from onym.batch.receipt import FileReceipt, Receipt
from onym.batch.rows import RowWriter
from onym.corpora.base import DELETED, Item
from onym.corpora.corpus import unwritable
from onym.corpora.isolation import INTERNAL
from onym.corpora.plan import PlannedFile
from onym.corpora.reading import Reading, is_of_file
from onym.errors import InputError
from onym.pipeline.output import LinkCounts
from onym.pipeline.pipeline import Pipeline
from onym.store.storage import Storage
from onym.types import Document, Problem

_PASSING = frozenset({"input-unreadable", "input-missing", "system-refused", "memory-exhausted"})
"""Codes of files that are no fault of the files."""


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
        self._shard, self._deleted, self._bugs = shard, 0, 0
        self._files: list[FileReceipt] = []

    def documents(self) -> Iterator[Document]:
        """Yield the documents of all groups; what is wrong with others is noted."""
        for group in self._shard.groups:
            for item in self._items(group):
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
            self._bugs += problem.code == INTERNAL
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
            bugs=counts.bugs + self._bugs,
            files=tuple(self._files),
            rows=self.rows.rows,
            digest=self.rows.digest(),
        )
        self.rows.close(receipt.model_dump_json().encode())
        return receipt

    def _items(self, planned: InputGroup) -> Iterator[Item]:
        group = open_group(planned)
        reading = Reading.of_groups([group])
        for item in reading:
            yield _moved(item, planned.files[0].lines_before)
        _require_readable(reading.files)
        self._files += [FileReceipt(name=file.name, documents=file.documents, code=file.code) for file in reading.files]
        require_unchanged(planned, group.files)


def _require_readable(files: Iterable[PlannedFile]) -> None:
    """Refuse what a system could not read just now: it may be read the next time, and an output must not depend on that."""
    for file in files:
        if file.code in _PASSING:
            fix = "mend the disk or the network, and run it again"
            raise InputError(
                "input-unreadable", f"an input could not be read to its end: {file.code}", where=file.name, fix=fix
            )


def _moved(item: Item, ordinals: int) -> Item:
    """Return a document or a problem of a range with its number in the whole file."""
    is_whole = not ordinals or (isinstance(item, Problem) and is_of_file(item))
    return item if is_whole else replace(item, ordinal=item.ordinal + ordinals)
