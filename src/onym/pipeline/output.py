"""Linking a corpus to a file: all candidates as predictions, or the best one in any corpus format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from onym.corpora.base import Facet, Item, Problem
from onym.corpora.corpus import LEFT_OUT, write_corpus
from onym.linkers.base import ConceptMask, Linked, Linker, are_tied
from onym.predictions.file import predictions_of, source_of, write_predictions
from onym.store.output import whole_file
from onym.types import Document

PREDICTIONS = "predictions"


@dataclass
class LinkCounts:
    """What became of the mentions. A tie has several concepts at the best score; the first of them is written."""

    documents: int = 0
    mentions: int = 0
    linked: int = 0
    tied: int = 0
    left_out: int = 0
    lost: Counter[Facet] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, int]:
        """Return the counts; what a format could not hold stands in `lost`, by document.

        Of a cascade there is also `by_exact` and so on: how many mentions each part answered.
        """
        counts = asdict(self)
        del counts["lost"], counts["stages"]
        return counts | {f"by_{stage}": count for stage, count in sorted(self.stages.items())}


def write_links(
    items: Iterable[Item],
    linker: Linker,
    path: Path,
    format: str = PREDICTIONS,  # noqa: A002
    *,
    top_k: int = 10,
    only: ConceptMask | None = None,
    force: bool = False,
) -> LinkCounts:
    """Link every mention and write the answers; the file or folder appears when it is complete."""
    limited = {} if only is None else {"concepts_allowed": int(only.sum())}
    source = source_of(linker, top_k, **limited)
    return write_linked(items, lambda docs: linker.link(docs, top_k=top_k, only=only), source, path, format, force=force)


def write_linked(
    items: Iterable[Item],
    link: Callable[[Iterable[Document]], Iterable[Linked]],
    source: dict[str, Any],
    path: Path,
    format: str = PREDICTIONS,  # noqa: A002
    *,
    force: bool = False,
) -> LinkCounts:
    """Write what `link` makes of documents. `source` is what the answers depend on, for the first line of predictions."""
    counts = LinkCounts()
    linked = _counted(link(_documents(items, counts)), counts)
    if format == PREDICTIONS:
        with whole_file(path, force=force) as file:
            write_predictions(predictions_of(linked), source, file)
    else:
        written = write_corpus(map(with_best, linked), path, format, force=force)
        counts.left_out += len(written.left_out)
        counts.lost = written.lost
    return counts


def with_best(linked: Linked) -> Document:
    """Return a document whose mentions mean what the linker found, or nothing.

    >>> from onym.types import Candidate, Link, Mention
    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D000001",)),))
    >>> link = Link(doc.mentions[0], (Candidate("mesh:D005334", "fever", 1.0),))
    >>> with_best(Linked(doc, (link,))).mentions[0].concept_ids
    ('mesh:D005334',)
    """
    best = [link.candidates[:1] for link in linked.links]
    mentions = (
        replace(link.mention, concept_ids=tuple(candidate.concept_id for candidate in first))
        for link, first in zip(linked.links, best, strict=True)
    )
    return replace(linked.document, mentions=tuple(mentions))


def _documents(items: Iterable[Item], counts: LinkCounts) -> Iterator[Document]:
    for item in items:
        if isinstance(item, Problem):
            counts.left_out += item.code in LEFT_OUT
        else:
            yield item


def _counted(linked: Iterable[Linked], counts: LinkCounts) -> Iterator[Linked]:
    for item in linked:
        counts.documents += 1
        counts.mentions += len(item.links)
        counts.linked += sum(bool(link.candidates) for link in item.links)
        counts.tied += sum(are_tied(link.candidates) for link in item.links)
        counts.stages.update(item.stages)
        yield item
