"""The page of an end-to-end report: figures by protocol, recall by mention type, and the most frequent errors of each kind."""

from __future__ import annotations

from onym.evaluate.end_to_end.evaluation import EndToEndEvaluation
from onym.evaluate.end_to_end.intervals import ScoresWithIntervals
from onym.evaluate.end_to_end.mistakes import EndToEndMistake
from onym.evaluate.mistakes import NamedConcepts
from onym.evaluate.report.page import (
    concept_cell,
    coverage_fact,
    escaped,
    figure,
    header,
    heads,
    left_out,
    manifest,
    numbers,
    page,
    protocol_cell,
    scrolled,
    section,
    shortened,
    tiles,
    with_coverage,
)
from onym.evaluate.report.plots import interval_plot
from onym.evaluate.report.published import published_for, published_section
from onym.evaluate.report.values import Bar, flat, share_cells

PROTOCOLS = {
    "bhowmik-strict": "same start, same end, same concept",
    "bhowmik-partial": "same concept at an overlapping span",
    "neleval-overlap-maxmax": "same concept; the credit is the share of characters that overlap",
    "document": "same concept in the document, wherever it is mentioned",
}
ERRORS = {
    "missed": "Gold mentions that no predicted mention overlaps.",
    "unlinked": "Gold mentions that were found, but left without a concept.",
    "wrong concept": "Gold mentions that were found and linked to another concept.",
    "wrong span": "Gold mentions whose concept was predicted at another, overlapping span.",
    "spurious": "Linked mentions that overlap no gold mention.",
}


def end_to_end_page(evaluation: EndToEndEvaluation) -> str:
    """Return the page."""
    dataset, kb = evaluation.manifest["dataset"], evaluation.manifest["kb"]
    facts = (
        ("Protocol", evaluation.protocol),
        ("Knowledge base", f"{kb['concepts']:,} concepts, {kb['names']:,} names"),
        ("Documents", f"{evaluation.documents:,}"),
        ("Gold mentions", f"{evaluation.mentions:,}, gold id in the KB: {evaluation.in_kb:,}"),
        *coverage_fact(evaluation.coverage.note),
    )
    sections = (
        header(evaluation.system, dataset["name"], dataset["split"], facts, _tiles(evaluation)),
        _protocols(evaluation),
        published_section(published_for(evaluation.manifest, evaluation.protocol)),
        left_out(evaluation.left_out.items()),
        _types(evaluation),
        _errors(evaluation),
        *(_mistakes(evaluation, kind) for kind in ERRORS),
        manifest(flat(evaluation.manifest)),
    )
    return page(evaluation.title, sections)


def _tiles(evaluation: EndToEndEvaluation) -> str:
    main = evaluation.results[evaluation.protocol]
    figures = ((name, *share_cells([main.shares[name]])) for name in ("F1", "precision", "recall"))
    return tiles((name, share, with_coverage(f"95 % CI {bounds}", evaluation.coverage.note)) for name, share, bounds in figures)


def _protocols(evaluation: EndToEndEvaluation) -> str:
    names = ("Protocol", "precision", "95 % CI", "recall", "95 % CI", "F1", "95 % CI", "predicted", "gold")
    rows = "".join(_protocol_row(name, result, evaluation) for name, result in evaluation.results.items())
    table = f"<table><thead><tr>{heads(names, words=1)}</tr></thead><tbody>{rows}</tbody></table>"
    note = (
        '<p class="note">Figures in percent. 95 % CI: 95 % confidence interval, bootstrap over documents. Predicted and gold '
        "are counts of items: a span and one concept.</p>"
    )
    return section("Figures by protocol", "figures", scrolled(table, "Figures by protocol") + note)


def _protocol_row(name: str, result: ScoresWithIntervals, evaluation: EndToEndEvaluation) -> str:
    counts = (f"{result.scores.predicted:,}", f"{result.scores.gold:,}")
    is_main, coverage = name == evaluation.protocol, evaluation.coverage.note
    first = protocol_cell(name, is_main=is_main, coverage=coverage, definition=PROTOCOLS[name])
    return f"{first}{numbers((*share_cells(result.shares.values()), *counts))}</tr>"


def _types(evaluation: EndToEndEvaluation) -> str:
    if not evaluation.by_type:
        return ""
    main = evaluation.results[evaluation.protocol]
    bars = [Bar("All types", main.scores.gold, main.scores.recall, *main.recall)]
    bars += [Bar(each.type or "(no type)", each.gold, each.recall, each.low, each.high) for each in evaluation.by_type]
    text = (
        f"<p>Recall of the gold mentions of each type, by <code>{evaluation.protocol}</code>. There is no precision by type: "
        "a predicted mention has no gold type.</p>"
    )
    title = "Recall by mention type, with 95 % confidence intervals"
    return section("Recall by mention type", "types", text + figure(interval_plot("types", title, bars, "recall")))


def _errors(evaluation: EndToEndEvaluation) -> str:
    rows = "".join(
        f'<tr><th scope="row">{kind}</th><td class="words">{ERRORS[kind]}</td>{numbers((f"{count:,}",))}</tr>'
        for kind, count in evaluation.mistakes.counts.items()
    )
    head = f"<thead><tr>{heads(('Kind', 'Definition', 'mentions'), words=2)}</tr></thead>"
    return section("Errors", "errors", scrolled(f"<table>{head}<tbody>{rows}</tbody></table>", "Errors"))


def _mistakes(evaluation: EndToEndEvaluation, kind: str) -> str:
    mistakes = evaluation.mistakes.of_kind(kind)
    if not mistakes:
        return ""
    names = _columns(kind)
    rows = "".join(_mistake_row(mistake) for mistake in mistakes)
    table = f'<table class="errors"><thead><tr>{heads(names, words=0)}</tr></thead><tbody>{rows}</tbody></table>'
    title = f"Most frequent: {kind}"
    return section(title, kind.replace(" ", "-"), scrolled(table, title))


def _columns(kind: str) -> tuple[str, ...]:
    if kind in ("missed", "unlinked"):
        return ("n", "Gold mention", "Gold concept")
    if kind == "spurious":
        return ("n", "Predicted mention", "Predicted concept")
    return ("n", "Gold mention", "Gold concept", "Predicted mention", "Predicted concept")


def _mistake_row(mistake: EndToEndMistake) -> str:
    gold = _linked(mistake.surface, mistake.gold) if mistake.kind != "spurious" else ""
    has_predicted = mistake.kind not in ("missed", "unlinked")
    predicted = _linked(mistake.predicted_surface, mistake.predicted) if has_predicted else ""
    return f"<tr>{numbers((f'{mistake.count:,}',))}{gold}{predicted}</tr>"


def _linked(surface: str, concepts: NamedConcepts) -> str:
    cell = concept_cell("; ".join(concepts.names), ", ".join(concepts.ids))
    return f'<th scope="row">{escaped(shortened(surface))}</th>{cell}'
