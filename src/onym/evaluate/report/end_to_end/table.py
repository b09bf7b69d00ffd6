"""An end-to-end report for the terminal: figures by protocol, recall by mention type, errors by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym.evaluate.end_to_end.evaluation import EndToEndEvaluation
from onym.evaluate.report.published import published_for, published_tables
from onym.evaluate.report.tables import plain, starred, table_of, with_note
from onym.evaluate.report.values import interval, percent, share_cells

if TYPE_CHECKING:
    from rich.table import Table


def end_to_end_tables(evaluation: EndToEndEvaluation) -> list[Table]:
    """Return the tables in order."""
    published = published_tables(published_for(evaluation.manifest, evaluation.protocol))
    return [_protocols(evaluation), *published, _counts(evaluation), _types(evaluation), _errors(evaluation)]


def _protocols(evaluation: EndToEndEvaluation) -> Table:
    """Return precision, recall and F1 with their intervals, in columns narrow enough for a terminal of 80 characters."""
    table = table_of(evaluation.title, ("protocol",), ("P", "95 % CI", "R", "95 % CI", "F1", "95 % CI"))
    table.padding = (0, 1, 0, 0)
    for name, result in evaluation.results.items():
        is_main = name == evaluation.protocol
        cells = (
            starred(f"→ {name}" if is_main else name, evaluation.coverage.note),
            *share_cells(result.shares.values()),
        )
        table.add_row(*map(plain, cells), style="bold" if is_main else "")
    return with_note(table, evaluation.coverage.note)


def _counts(evaluation: EndToEndEvaluation) -> Table:
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


def _types(evaluation: EndToEndEvaluation) -> Table:
    table = table_of(f"Recall by mention type, {evaluation.protocol}", ("type",), ("gold", "recall", "95 % CI"))
    for score in evaluation.by_type:
        cells = (score.type or "(no type)", f"{score.gold:,}", percent(score.recall), interval(score.low, score.high))
        table.add_row(*map(plain, cells))
    return table


def _errors(evaluation: EndToEndEvaluation) -> Table:
    table = table_of("Errors", ("kind",), ("mentions",))
    for kind, count in evaluation.mistakes.counts.items():
        table.add_row(*map(plain, (kind, f"{count:,}")))
    return table
