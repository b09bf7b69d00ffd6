"""Links a corpus and writes the links in any output format or corpus format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from onym.corpora.base import Item, Style, iter_items
from onym.corpora.corpus import EXTRA, require_output, require_writable, unwritable, write_linked_corpus
from onym.corpora.formats import formats_to_write
from onym.corpora.problems import INTERNAL, ProblemLog
from onym.corpora.reading import is_loss
from onym.errors import ConfigError
from onym.outputs.base import (
    NO_OPTIONS,
    PREDICTIONS,
    TABLE,
    ExportOptions,
    OutputContext,
    check_output,
    format_of_path,
    list_extensions,
    refuse_options,
    write_output,
)
from onym.pipeline.pipeline import Pipeline
from onym.registry import OUTPUTS
from onym.store.output import STDOUT, require_file
from onym.types import Document, LinkedDocument, Problem

STORES_EXTRA = frozenset({PREDICTIONS, "jsonl"})
"""Formats that store what components say about a link."""
Sink = Callable[[Iterable[LinkedDocument]], None]
"""Callback that consumes linked documents, instead of an output file."""
Watch = Callable[[Iterable[LinkedDocument]], Iterable[LinkedDocument]]
"""Passes linked documents on unchanged, such as `DriftWatch.watch`."""


@dataclass
class LinkCounts:
    """Counts of a linking run. `tied` counts mentions for which several concepts have the best score.

    `left_out` counts documents and mentions that could not be read or written; `problems` counts documents that could not be
    linked, and `bugs` those with an unexpected error. `lost` maps each kind of information that the output format cannot store
    to the number of documents that have it.
    """

    documents: int = 0
    mentions: int = 0
    linked: int = 0
    tied: int = 0
    left_out: int = 0
    problems: int = 0
    bugs: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, int]:
        """Return the counts; for a cascade also the mentions linked by each stage, such as `by_exact`."""
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


def format_of(path: Path | None) -> str:
    """Return the output format or corpus format for the extension of a file; `table` for the terminal (None) and stdout.

    The format of names without an extension is `predictions`. Unknown extensions raise ConfigError.

    >>> [format_of(path) for path in (None, Path("links.csv"), Path("links.jsonl"), Path("linked.pubtator"), Path("-"))]
    ['table', 'table', 'predictions', 'pubtator', 'table']
    >>> format_of(Path("links.json"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [config-invalid] no format writes files with the extension .json...
    """
    if path is None or path == STDOUT:
        return TABLE
    if found := format_of_path(path, prefer=PREDICTIONS):
        return found
    if not path.suffix:
        return PREDICTIONS
    corpora = formats_to_write()
    if path.suffix in corpora:
        return corpora[path.suffix]
    fix = f"use one of {', '.join(dict.fromkeys([*list_extensions(), *corpora]))}; or choose a format with --format"
    what = f"no format writes files with the extension {path.suffix}"
    raise ConfigError("config-invalid", what, where=str(path), fix=fix)


def require_linked_output(
    path: Path,
    format: str,  # noqa: A002
    *,
    force: bool = False,
    options: ExportOptions = NO_OPTIONS,
) -> None:
    """Before any work, raise an error if the output cannot be written in this format."""
    if format in OUTPUTS:
        check_output(format, OutputContext(path, options=options, force=force))
        require_file(path, force=force, may_stream=True)
    else:
        refuse_options(options)
        require_output(path, require_writable(format), force=force)


def write_links(
    items: Iterable[Item],
    pipeline: Pipeline,
    path: Path,
    format: str = "",  # noqa: A002
    *,
    text: bool = True,
    style: Style = "",
    options: ExportOptions = NO_OPTIONS,
    force: bool = False,
    log: ProblemLog | None = None,
    sink: Sink | None = None,
    watch: Watch | None = None,
) -> LinkCounts:
    """Link documents and write the links; the output appears only when complete. Problems go to `log`.

    The extension sets the default of `format` (see `format_of`). Without `text`, tables have no column with the text of
    mentions. `options` are for FHIR and OMOP. If a `sink` is given, it gets the linked documents and no file is written;
    `watch` sees the linked documents on their way.
    """
    format, counts = format or format_of(path), LinkCounts()  # noqa: A001
    linked: Iterable[LinkedDocument] = pipeline.link_many(_documents(log.watch(items) if log else items, counts))
    linked = watch(linked) if watch else linked
    has_extra = sink is not None or format in STORES_EXTRA
    linked = _count_documents(log.watch_linked(linked) if log else linked, counts, has_extra=has_extra)
    if sink is not None:
        sink(linked)
    elif format in OUTPUTS:
        context = OutputContext(path, pipeline.source(), text, style, options, force)
        write_output(_writable(linked, counts, log), format, context)
    else:
        written = write_linked_corpus(linked, path, format, force=force, style=style)
        counts.left_out += len(written.skipping_problems)
        if log:
            for problem in written.problems:
                log.add(problem)
        counts.lost.update(written.lost)
    return counts


def _writable(linked: Iterable[LinkedDocument], counts: LinkCounts, log: ProblemLog | None) -> Iterator[LinkedDocument]:
    """Yield the documents that can be written. Others are skipped, such as those whose id is not valid UTF-8."""
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


def _count_documents(linked: Iterable[LinkedDocument], counts: LinkCounts, *, has_extra: bool) -> Iterator[LinkedDocument]:
    for each in linked:
        counts.add(each)
        if not has_extra and any(link.extra for link in each.links):
            counts.lost[EXTRA] += 1
        yield each
