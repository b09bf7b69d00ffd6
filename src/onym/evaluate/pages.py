"""HTML reports, rendered from the templates in `templates/`: of a linker, of a pipeline end to end, and of a comparison.

Surfaces, names and ids may come from anywhere. Jinja2 escapes every value, control characters become visible, and a content
security policy forbids the page scripts and network access. Only the plots, which are SVG of our own, are not escaped again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from onym.errors import printable
from onym.evaluate.content import Bar, MistakeRow, ReportContent, flat, interval, percent, share_cells
from onym.evaluate.end_to_end import EndToEndEvaluation
from onym.evaluate.evaluation import Comparison, Evaluation, hits
from onym.evaluate.mistakes import common_mistakes
from onym.evaluate.plots import confidence_plot, interval_plot, recall_plot, similarity_plot
from onym.evaluate.published import PUBLISHED_NOTE, PUBLISHED_TITLE, published_for
from onym.evaluate.tables import difference_rows, slice_rows
from onym.kb import KnowledgeBase

if TYPE_CHECKING:
    from jinja2 import Environment

PROTOCOL_DEFINITIONS = {
    "bhowmik-strict": "same start, same end, same concept",
    "bhowmik-partial": "same concept at an overlapping span",
    "neleval-overlap-maxmax": "same concept; the credit is the share of characters that overlap",
    "document": "same concept in the document, wherever it is mentioned",
}
ERROR_DEFINITIONS = {
    "missed": "Gold mentions that no predicted mention overlaps.",
    "unlinked": "Gold mentions that were found, but left without a concept.",
    "wrong concept": "Gold mentions that were found and linked to another concept.",
    "wrong span": "Gold mentions whose concept was predicted at another, overlapping span.",
    "spurious": "Linked mentions that overlap no gold mention.",
}
_MAX_LENGTH = 160  # code points of a surface or a name
_MISTAKES = 25  # of a comparison, for each system
Pair = tuple[str, str]
Tile = tuple[str, str, str]
"""The name of a figure, a share in percent, and a note."""


def linking_page(content: ReportContent) -> str:
    """Render the report of a linker on annotated mentions.

    >>> made = linking_page(ReportContent("exact", "<b>", "test", "strict", "MeSH", ()))
    >>> "&lt;b&gt;" in made, "<b>" in made
    (True, False)
    """
    facts = (("Protocol", content.protocol), ("Knowledge base", content.kb), *_coverage_fact(content.coverage))
    values = {"content": content, "facts": facts, "tiles": _linking_tiles(content), "plots": _safe(_linking_plots(content))}
    return _render("linking.html.j2", content.title, values)


def _linking_tiles(content: ReportContent) -> list[Tile]:
    main = content.main
    if main is None:
        return []
    bounds = interval(main.low, main.high)
    return [
        ("recall@1", percent(main.recall_at_1), _notes(f"95 % CI {bounds}" if bounds else "", content.coverage)),
        ("recall@5", percent(main.recall_at_5), ""),
        ("MAP", percent(main.mean_average_precision), ""),
        ("recall@1, gold id in the KB", percent(main.in_kb_recall_at_1), f"{main.in_kb:,} of {main.cases:,} cases"),
    ]


def _linking_plots(content: ReportContent) -> dict[str, str]:
    """Draw the plots of a report; one whose values are missing is empty."""
    bars = [Bar(row.title, row.cases, row.recall, row.low, row.high) for row in content.slices if row.cases]
    title = "Recall@1 by subgroup, with 95 % confidence intervals"
    return {
        "recall": recall_plot(content.recall_curve) if len(content.recall_curve) > 1 else "",
        "confidence": confidence_plot(content.confidence) if content.confidence else "",
        "slices": interval_plot("slices", title, bars, "recall@1") if bars else "",
        "similarity": similarity_plot(content.bins) if any(row.cases for row in content.bins) else "",
    }


def end_to_end_page(found: EndToEndEvaluation) -> str:
    """Render the report of a pipeline that finds the mentions itself."""
    kb = found.manifest["kb"]
    facts = (
        ("Protocol", found.protocol),
        ("Knowledge base", f"{kb['concepts']:,} concepts, {kb['names']:,} names"),
        ("Documents", f"{found.documents:,}"),
        ("Gold mentions", f"{found.mentions:,}, gold id in the KB: {found.in_kb:,}"),
        *_coverage_fact(found.coverage.note),
    )
    values = {
        "found": found,
        "dataset": found.manifest["dataset"],
        "facts": facts,
        "tiles": _end_to_end_tiles(found),
        "protocols": PROTOCOL_DEFINITIONS,
        "errors": ERROR_DEFINITIONS,
        "published": published_for(found.manifest, found.protocol),
        "manifest": flat(found.manifest),
    }
    return _render("end_to_end.html.j2", found.title, values | _safe({"types_plot": _types_plot(found)}))


def _end_to_end_tiles(found: EndToEndEvaluation) -> list[Tile]:
    main = found.results[found.protocol]
    figures = ((name, *share_cells([main.shares[name]])) for name in ("F1", "precision", "recall"))
    return [(name, share, _notes(f"95 % CI {bounds}", found.coverage.note)) for name, share, bounds in figures]


def _types_plot(found: EndToEndEvaluation) -> str:
    if not found.by_type:
        return ""
    main = found.results[found.protocol]
    bars = [Bar("All types", main.scores.gold, main.scores.recall, *main.recall)]
    bars += [Bar(each.type or "(no type)", each.gold, each.recall, each.low, each.high) for each in found.by_type]
    return interval_plot("types", "Recall by mention type, with 95 % confidence intervals", bars, "recall")


def comparison_page(found: Comparison, evaluations: tuple[Evaluation, Evaluation], names: Pair, kb: KnowledgeBase) -> str:
    """Render the report of a comparison; `evaluations` are those that were compared, `names` what the systems are called."""
    manifest = evaluations[0].manifest
    values = {
        "names": names,
        "dataset": manifest["dataset"],
        "facts": (("Protocol", found.protocol), ("Mentions", f"{found.cases:,}")),
        "tiles": _comparison_tiles(found, names),
        "difference": difference_rows(found, *names),
        "published": published_for(manifest, found.protocol),
        "slices": slice_rows(found),
        "only_right": [_mistakes_of(evaluations[1 - right], evaluations[right], kb) for right in (0, 1)],
        "manifests": [flat(each.manifest) for each in evaluations],
    }
    return _render("comparison.html.j2", f"{names[0]} against {names[1]}", values)


def _comparison_tiles(found: Comparison, names: Pair) -> list[Tile]:
    both = zip(names, (found.first, found.second), found.coverage, strict=True)
    bounds = f"95 % CI {100 * found.bootstrap.low:+.1f} to {100 * found.bootstrap.high:+.1f}"
    return [
        *((f"{name}, recall@1", percent(share), coverage.note) for name, share, coverage in both),
        ("difference", f"{100 * found.bootstrap.difference:+.1f}", bounds),
    ]


def _mistakes_of(own: Evaluation, other: Evaluation, kb: KnowledgeBase) -> list[MistakeRow]:
    """Return the most frequent errors of an evaluation in cases that the other one has right."""
    is_right = hits(other.gold_ranks)
    cases = [case for case, right in zip(own.cases, is_right, strict=True) if right]
    ranks = [rank for rank, right in zip(own.gold_ranks, is_right, strict=True) if right]
    return list(map(MistakeRow.of, common_mistakes(cases, ranks, kb, _MISTAKES)))


def _coverage_fact(coverage: str) -> tuple[tuple[str, str], ...]:
    """Return the note on what the predictions do not cover, or repeat, as a fact of the header; nothing without one."""
    return (("Predictions", coverage),) if coverage else ()


def _notes(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _safe(plots: Mapping[str, str]) -> dict[str, Any]:
    """Mark our own SVG as safe: it is the only text that is not escaped."""
    from markupsafe import Markup

    return {name: Markup(svg) for name, svg in plots.items()}  # noqa: S704 - drawn by onym.evaluate.plots, text escaped there


def _render(template: str, title: str, values: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(values, title=title)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("onym.evaluate"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_show_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(percent=percent, thousands="{:,}".format, shorten=shorten)
    made.globals.update(interval=interval, share_cells=share_cells)
    made.globals.update(PUBLISHED_TITLE=PUBLISHED_TITLE, PUBLISHED_NOTE=PUBLISHED_NOTE)
    return made


def _show_controls(value: object) -> object:
    """Make the control characters of a text visible; what is HTML already stays as it is."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def shorten(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "…"
