"""Linking a corpus to a file: all candidates as predictions, or the answers in any corpus format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from onym.corpora.base import Facet, Item, iter_items
from onym.corpora.corpus import require_writable, unwritable, write_linked_corpus
from onym.corpora.isolation import INTERNAL
from onym.corpora.problems import ProblemLog
from onym.corpora.reading import is_loss
from onym.detect import with_assertion
from onym.errors import ConfigError
from onym.kb.masks import ConceptMask
from onym.linkers.base import Linker, describe_filter, link_among
from onym.predictions.file import lines_of, source_of, write_predictions
from onym.store.output import whole_file
from onym.types import Document, LinkedDocument, Problem

PREDICTIONS = "predictions"


@dataclass
class LinkCounts:
    """What became of the mentions. `tied` counts those with several concepts at the best score; `onym.kb.order` decides them.

    `left_out` counts documents and mentions that could not be read, `problems` documents that could not be linked, and `bugs`
    what a bug is to blame for.
    """

    documents: int = 0
    mentions: int = 0
    linked: int = 0
    tied: int = 0
    left_out: int = 0
    problems: int = 0
    bugs: int = 0
    lost: Counter[Facet] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, int]:
        """Return the counts; of a cascade there is also `by_exact` and so on: how many mentions each part answered."""
        counts = asdict(self)
        del counts["lost"], counts["stages"], counts["bugs"]
        return counts | {f"by_{stage}": count for stage, count in sorted(self.stages.items())}

    def add(self, linked: LinkedDocument) -> None:
        """Count a document."""
        self.documents += 1
        self.mentions += len(linked.links)
        self.linked += sum(link.concept_id is not None for link in linked.links)
        self.tied += sum(link.tied > 0 for link in linked.links)
        self.problems += not linked.is_complete
        self.bugs += any(problem.code == INTERNAL for problem in linked.problems)
        self.stages.update(link.stage for link in linked.links if link.stage)


def write_links(
    items: Iterable[Item],
    linker: Linker,
    path: Path,
    format: str = PREDICTIONS,  # noqa: A002
    *,
    top_k: int = 10,
    only: ConceptMask | None = None,
    restrict: bool = False,
    assertion: bool = False,
    force: bool = False,
    log: ProblemLog | None = None,
) -> LinkCounts:
    """Link every annotated mention and write the answers; the output appears only when complete. `log` notes the problems.

    With `only`, other concepts compete, unless `restrict` is set: see `link_among`. With `assertion`, links say what the text
    asserts of their mentions; `require_assertion` refuses formats that cannot store it.
    """
    said = {"assertion": True} if assertion else {}
    source = source_of(linker, top_k, **said, **describe_filter(only, restrict=restrict))

    def link(docs: Iterable[Document]) -> Iterable[LinkedDocument]:
        linked = link_among(linker, docs, top_k=top_k, only=only, restrict=restrict)
        return map(with_assertion, linked) if assertion else linked

    return write_linked(items, link, source, path, format, force=force, log=log)


def require_assertion(format: str) -> None:  # noqa: A002
    """Refuse a format that cannot store what a text asserts of its mentions."""
    if format != PREDICTIONS and not hasattr(require_writable(format), "write_linked"):
        fix = "write predictions, jsonl or parquet"
        raise ConfigError("config-invalid", f"{format} cannot store assertion marks", fix=fix)


def write_linked(
    items: Iterable[Item],
    link: Callable[[Iterable[Document]], Iterable[LinkedDocument]],
    source: dict[str, Any],
    path: Path,
    format: str = PREDICTIONS,  # noqa: A002
    *,
    force: bool = False,
    log: ProblemLog | None = None,
) -> LinkCounts:
    """Write what `link` makes of documents. `source` is what the answers depend on, for the first line of predictions."""
    counts = LinkCounts()
    linked = link(_documents(log.watch(items) if log else items, counts))
    linked = _counted(log.watch_linked(linked) if log else linked, counts)
    if format == PREDICTIONS:
        with whole_file(path, force=force) as file:
            write_predictions(lines_of(_writable(linked, counts, log)), source, file)
    else:
        written = write_linked_corpus(linked, path, format, force=force)
        counts.left_out += len(written.left_out)
        if log:
            for problem in written.problems:
                log.add(problem)
        counts.lost = written.lost
    return counts


def _writable(linked: Iterable[LinkedDocument], counts: LinkCounts, log: ProblemLog | None) -> Iterator[LinkedDocument]:
    """Leave out what no file can hold, such as an id from a file name that is no UTF-8."""
    for each in linked:
        if problem := unwritable(each.document):
            counts.left_out += 1
            if log:
                log.add(problem)
        else:
            yield each


def _documents(items: Iterable[Item], counts: LinkCounts) -> Iterator[Document]:
    for item in iter_items(items):
        if isinstance(item, Problem):
            counts.left_out += is_loss(item)
            counts.bugs += item.code == INTERNAL
        else:
            yield item


def _counted(linked: Iterable[LinkedDocument], counts: LinkCounts) -> Iterator[LinkedDocument]:
    for each in linked:
        counts.add(each)
        yield each
