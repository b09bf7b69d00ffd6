"""Report tables for the terminal: of a linker, of an end-to-end pipeline, and of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onym.errors import printable
from onym.evaluate.content import ReportContent, interval, percent, share_cells
from onym.evaluate.coverage import Coverage
from onym.evaluate.end_to_end import EndToEndComparison, EndToEndEvaluation
from onym.evaluate.evaluation import Comparison
from onym.evaluate.near_misses import NearMisses
from onym.evaluate.published import PUBLISHED_NOTE, PUBLISHED_TITLE, PublishedFigure, find_published_for
from onym.evaluate.significance import PairedBootstrap
from onym.evaluate.slices import SLICES

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

NO_TYPE = "(no type)"
NEAR_MISSES, NEAR_CONCEPTS = "Errors by relation to the gold concept", "Wrong concepts by relation to the gold concept"


def linking_tables(content: ReportContent) -> list[Table]:
    """Return the tables of a linking report, in order.

    >>> [table.title.plain for table in linking_tables(ReportContent("exact", "bc5cdr", "test", "strict", "MeSH", ()))]
    ['exact on bc5cdr (test)']
    """
    slices = [slices_table(content)] if content.slices else []
    near = tabulate_near_misses(content.near_misses, NEAR_MISSES)
    return [headline_table(content), *tabulate_published(content.published), *slices, *near]


def headline_table(content: ReportContent) -> Table:
    """Return the scores under every protocol; the main protocol is bold and marked by an arrow."""
    table = table_of(
        content.title, ("", "protocol"), ("recall@1", "95 % CI", "recall@5", "MAP", "n", "gold in KB: recall@1", "n")
    )
    for row in content.headline:
        is_main = row.protocol == content.protocol
        cells = (
            "→" if is_main else "",
            mark_footnote(row.protocol, content.coverage),
            percent(row.recall_at_1),
            interval(row.low, row.high),
            percent(row.recall_at_5),
            percent(row.mean_average_precision),
            f"{row.cases:,}",
            percent(row.in_kb_recall_at_1),
            f"{row.in_kb:,}",
        )
        table.add_row(*map(plain, cells), style="bold" if is_main else "")
    return with_note(table, content.coverage)


def slices_table(content: ReportContent) -> Table:
    """Return recall@1 of each slice."""
    table = table_of(f"Results by subgroup, {content.protocol}", ("subgroup",), ("n", "recall@1", "95 % CI"))
    for row in content.slices:
        figures = (percent(row.recall), interval(row.low, row.high)) if row.cases else ("–", "–")
        table.add_row(*map(plain, (row.title, f"{row.cases:,}", *figures)))
    return table


def end_to_end_tables(evaluation: EndToEndEvaluation) -> list[Table]:
    """Return the tables of an end-to-end evaluation, in order."""
    published = tabulate_published(find_published_for(evaluation.manifest, evaluation.protocol))
    return [
        _protocol_table(evaluation),
        *published,
        _count_table(evaluation),
        _type_table(evaluation),
        _error_table(evaluation),
        *tabulate_near_misses(evaluation.mistakes.near_misses, NEAR_CONCEPTS),
    ]


def _protocol_table(evaluation: EndToEndEvaluation) -> Table:
    """Return precision, recall and F1 with their intervals; the table fits a terminal of 80 columns."""
    table = table_of(evaluation.title, ("protocol",), ("P", "95 % CI", "R", "95 % CI", "F1", "95 % CI"))
    table.padding = (0, 1, 0, 0)
    for name, result in evaluation.results.items():
        is_main = name == evaluation.protocol
        cells = (
            mark_footnote(f"→ {name}" if is_main else name, evaluation.coverage.note),
            *share_cells(result.shares.values()),
        )
        table.add_row(*map(plain, cells), style="bold" if is_main else "")
    return with_note(table, evaluation.coverage.note)


def _count_table(evaluation: EndToEndEvaluation) -> Table:
    scores = evaluation.results[evaluation.protocol].scores
    counts = {
        "documents": evaluation.documents,
        "gold mentions": evaluation.mentions,
        "gold id in the KB": evaluation.in_kb,
        "gold items (span and concept)": scores.gold,
        "predicted items": scores.predicted,
    }
    table = table_of("Counts", ("",), ("n",))
    for name, count in (counts | evaluation.left_out).items():
        table.add_row(*map(plain, (name, f"{count:,}")))
    return table


def _type_table(evaluation: EndToEndEvaluation) -> Table:
    table = table_of(f"Recall by mention type, {evaluation.protocol}", ("type",), ("gold", "recall", "95 % CI"))
    for score in evaluation.by_type:
        cells = (score.type or NO_TYPE, f"{score.gold:,}", percent(score.recall), interval(score.low, score.high))
        table.add_row(*map(plain, cells))
    return table


def _error_table(evaluation: EndToEndEvaluation) -> Table:
    table = table_of("Errors", ("kind",), ("mentions",))
    for kind, count in evaluation.mistakes.counts.items():
        table.add_row(*map(plain, (kind, f"{count:,}")))
    return table


def tabulate_near_misses(near: NearMisses | None, title: str) -> list[Table]:
    """Return a table of the relations that occur; an empty list if there are no errors or the KB has no hierarchy."""
    if near is None or not near.total:
        return []
    table = table_of(title, ("the answer is",), ("n", "%"))
    for relation, _, count, share in near.rows:
        table.add_row(*map(plain, (relation, f"{count:,}", percent(share))))
    return [table]


def comparison_tables(found: Comparison | EndToEndComparison, first: str, second: str) -> list[Table]:
    """Return the tables of a comparison, in order; `first` and `second` name the systems."""
    names, title = (first, second), f"{first} against {second}, {found.protocol}"
    types = f" of {', '.join(found.types)}" if found.types else ""
    if isinstance(found, EndToEndComparison):
        groups = _group_table(f"Recall by mention type, {found.protocol}", "type", names, type_rows(found))
        rows = end_to_end_difference_rows(found, *names)
        return [_difference_table(f"{title}, {found.documents:,} documents{types}", rows), groups]
    groups = _group_table(f"Results by subgroup, recall@1, {found.protocol}", "subgroup", names, slice_rows(found))
    return [_difference_table(f"{title}, {found.cases:,} mentions{types}", difference_rows(found, *names)), groups]


def _difference_table(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    table = table_of(title, ("",), ("",))
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def end_to_end_difference_rows(found: EndToEndComparison, first: str, second: str) -> list[tuple[str, str]]:
    """Return (name, value) rows about the difference in F1."""
    rows = []
    for system, (name, coverage) in enumerate(zip((first, second), found.coverage, strict=True)):
        rows += [(f"{name}, {share}", _share_cell(both[system], coverage)) for share, both in found.shares.items()]
    return [*rows, *_bootstrap_rows(found.bootstrap, "difference of F1")]


def _bootstrap_rows(bootstrap: PairedBootstrap, title: str) -> list[tuple[str, str]]:
    return [
        (title, f"{100 * bootstrap.difference:+.1f}"),
        ("95 % CI (paired bootstrap over documents)", f"{100 * bootstrap.low:+.1f} to {100 * bootstrap.high:+.1f}"),
        ("p (paired bootstrap over documents)", f"{bootstrap.p_value:.4f}"),
    ]


def difference_rows(found: Comparison, first: str, second: str) -> list[tuple[str, str]]:
    """Return (name, value) rows about the difference in recall@1."""
    mcnemar = found.mcnemar
    rows = [
        (f"{first}, recall@1", _share_cell(found.first, found.coverage[0])),
        (f"{second}, recall@1", _share_cell(found.second, found.coverage[1])),
        *_bootstrap_rows(found.bootstrap, "difference"),
        (f"right only in {first}", f"{mcnemar.only_a:,}"),
        (f"right only in {second}", f"{mcnemar.only_b:,}"),
        ("p (McNemar, exact)", f"{mcnemar.p_value:.4g}"),
    ]
    if found.t_test:
        rows.append(("p (ANGEL's t-test, as published; statistically invalid)", f"{found.t_test.p_value:.4g}"))
    return rows


def _share_cell(share: float, coverage: Coverage) -> str:
    return f"{percent(share)} ({coverage.note})" if coverage.note else percent(share)


def _group_table(title: str, group: str, names: tuple[str, str], rows: Sequence[tuple[str, ...]]) -> Table:
    table = table_of(title, (group,), ("n", *names, "difference"))
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def type_rows(found: EndToEndComparison) -> list[tuple[str, ...]]:
    """Return a row per annotated type: the number of gold items, both recalls and their difference."""
    return [
        (name or NO_TYPE, f"{gold:,}", percent(one), percent(other), f"{100 * (one - other):+.1f}")
        for name, (gold, one, other) in found.by_type.items()
    ]


def slice_rows(found: Comparison) -> list[tuple[str, ...]]:
    """Return a row per subgroup: its title, the number of mentions, both recalls and their difference."""
    rows: list[tuple[str, ...]] = []
    for name, (cases, one, other) in found.slices.items():
        cells = (percent(one), percent(other), f"{100 * (one - other):+.1f}") if cases else ("–", "–", "–")
        rows.append((SLICES[name].title, f"{cases:,}", *cells))
    return rows


def table_of(title: str, words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    """Return an empty table with text columns, then number columns (right-aligned)."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=plain(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for name in words:
        table.add_column(plain(name), no_wrap=True)
    for name in numbers:
        table.add_column(plain(name), justify="right")
    return table


def with_note(table: Table, note: str) -> Table:
    """Add a footnote to a table if `note` is not empty; `mark_footnote` marks the rows that the footnote refers to."""
    if note:
        table.caption, table.caption_justify = plain(f"* {note}"), "left"
    return table


def mark_footnote(text: str, note: str) -> str:
    """Append a star to the first cell of a row if there is a footnote.

    >>> mark_footnote("strict", "1 of 960 mentions predicted")
    'strict*'
    """
    return f"{text}*" if note else text


def plain(text: str) -> Text:
    """Return text without markup or control characters."""
    from rich.text import Text

    return Text(printable(text))


def tabulate_published(figures: Sequence[PublishedFigure]) -> list[Table]:
    """Return a table of published scores that fits 80 columns; an empty list if there are no scores."""
    if not figures:
        return []
    table = table_of(PUBLISHED_TITLE, ("system", "source"), ("%",))
    for each in figures:
        table.add_row(*map(plain, (each.system, each.source, f"{each.percent:.1f}")))
    table.caption, table.caption_justify = plain(PUBLISHED_NOTE), "left"
    return [table]
