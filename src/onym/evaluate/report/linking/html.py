"""The page of a linking report: figures by protocol, results by subgroup, the most frequent errors, and random examples."""

from __future__ import annotations

from collections.abc import Sequence

from onym.evaluate.report.linking.content import ExampleRow, Headline, MistakeRow, NeighbourRow, ReportContent, SliceRow
from onym.evaluate.report.linking.plots import confidence_plot, recall_plot, similarity_plot
from onym.evaluate.report.page import (
    concept_cell,
    coverage_fact,
    details,
    escaped,
    figure,
    header,
    heads,
    left_out,
    manifest,
    name_and_ids,
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
from onym.evaluate.report.published import published_section
from onym.evaluate.report.values import Bar, interval, percent


def linking_page(content: ReportContent) -> str:
    """Return the page.

    >>> made = linking_page(ReportContent("exact", "<b>", "test", "strict", "MeSH", ()))
    >>> "&lt;b&gt;" in made, "<b>" in made
    (True, False)
    """
    facts = (("Protocol", content.protocol), ("Knowledge base", content.kb), *coverage_fact(content.coverage))
    sections = (
        header(content.linker, content.dataset, content.split, facts, _tiles(content)),
        _headline(content),
        published_section(content.published),
        left_out(content.left_out),
        _recall(content),
        _confidence(content),
        _slices(content),
        _similarity(content),
        mistakes_section("Most frequent errors", "mistakes", content.mistakes),
        _examples(content),
        manifest(content.manifest),
    )
    return page(content.title, sections)


def _tiles(content: ReportContent) -> str:
    main = content.main
    if main is None:
        return ""
    width = interval(main.low, main.high)
    return tiles(
        (
            ("recall@1", percent(main.recall_at_1), with_coverage(f"95 % CI {width}" if width else "", content.coverage)),
            ("recall@5", percent(main.recall_at_5), ""),
            ("MAP", percent(main.mean_average_precision), ""),
            ("recall@1, gold id in the KB", percent(main.in_kb_recall_at_1), f"{main.in_kb:,} of {main.cases:,} cases"),
        )
    )


def _headline(content: ReportContent) -> str:
    names = ("Protocol", "recall@1", "95 % CI", "recall@5", "MAP", "n", "recall@1", "recall@5", "n")
    rows = [_headline_row(row, content) for row in content.headline]
    table = (
        '<table><thead><tr><td></td><th colspan="5" scope="colgroup" class="group">all cases</th>'
        '<th colspan="3" scope="colgroup" class="group">gold id in the KB</th></tr>'
        f"<tr>{heads(names, words=1)}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    definition = f"<p>{escaped(content.definition)}</p>" if content.definition else ""
    note = (
        '<p class="note">Figures in percent. 95 % CI: 95 % confidence interval, bootstrap over documents. The rest of this '
        "page uses the main protocol.</p>"
    )
    return section("Figures", "figures", definition + scrolled(table, "Figures by protocol") + note)


def _headline_row(row: Headline, content: ReportContent) -> str:
    cells = (
        percent(row.recall_at_1),
        interval(row.low, row.high),
        percent(row.recall_at_5),
        percent(row.mean_average_precision),
        f"{row.cases:,}",
        percent(row.in_kb_recall_at_1),
        percent(row.in_kb_recall_at_5),
        f"{row.in_kb:,}",
    )
    first = protocol_cell(row.protocol, is_main=row.protocol == content.protocol, coverage=content.coverage)
    return f"{first}{numbers(cells)}</tr>"


def _recall(content: ReportContent) -> str:
    if len(content.recall_curve) < 2:
        return ""
    return section("Recall among the first answers", "recall", figure(recall_plot(content.recall_curve)))


def _confidence(content: ReportContent) -> str:
    found = content.confidence
    if found is None:
        return ""
    area = "" if found.auroc is None else f", area under the ROC curve {found.auroc:.3f}"
    note = (
        f'<p class="note">{found.answers:,} answers with a confidence. Expected calibration error {found.ece:.3f}{area}. Left: '
        "ten bins of equally many answers; on the line, a confidence says how often its answers are right. Right: the share of "
        "wrong answers, if only the surest are kept.</p>"
    )
    return section("Confidence", "confidence", figure(confidence_plot(found)) + note)


def _slices(content: ReportContent) -> str:
    if not content.slices:
        return ""
    rows = "".join(map(_slice_row, content.slices))
    columns = heads(("Subgroup", "Definition", "n", "recall@1", "95 % CI"), words=2)
    table = f"<table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"
    absent = "".join(f"<li>{escaped(title)}: {escaped(reason)}</li>" for title, reason in content.without_slices)
    without = f'<p class="note">Subgroups left out:</p><ul class="note">{absent}</ul>' if absent else ""
    bars = [Bar(row.title, row.cases, row.recall, row.low, row.high) for row in content.slices if row.cases]
    title = "Recall@1 by subgroup, with 95 % confidence intervals"
    drawn = figure(interval_plot("slices", title, bars, "recall@1")) if bars else ""
    return section("Results by subgroup", "slices", drawn + details("The subgroups as a table", table) + without)


def _slice_row(row: SliceRow) -> str:
    cells = (f"{row.cases:,}", percent(row.recall), interval(row.low, row.high)) if row.cases else ("0", "–", "–")
    words = f'<th scope="row">{escaped(row.title)}</th><td class="words">{escaped(row.definition)}</td>'
    return f"<tr>{words}{numbers(cells)}</tr>"


def _similarity(content: ReportContent) -> str:
    if not any(row.cases for row in content.bins):
        return ""
    text = (
        "<p>The TF-IDF similarity (character 3-grams) of a mention to the most similar name of its gold concept. "
        "At a low similarity, spelling does not help: the system has to know the synonym.</p>"
    )
    return section("By string similarity to the gold concept", "similarity", text + figure(similarity_plot(content.bins)))


def mistakes_section(title: str, name: str, mistakes: Sequence[MistakeRow]) -> str:
    """Return a section with a table of errors; nothing where there are none."""
    if not mistakes:
        return ""
    columns = heads(("n", "Mention", "Gold", "Answered", "Runner-up", "Rank of gold"), words=0)
    rows = "".join(map(_mistake_row, mistakes))
    table = f'<table class="mistakes"><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>'
    text = "Rank of gold: the best rank of the gold concept among the answers, and in how many of the cases it was among them."
    note = f'<p class="note">{text}</p>'
    return section(title, name, scrolled(table, title) + note)


def _mistake_row(row: MistakeRow) -> str:
    rank = "none" if row.gold_rank is None else f"{row.gold_rank}"
    often = f' <span class="ids">({row.found:,} of {row.count:,})</span>' if row.gold_rank is not None else ""
    return (
        f'<tr>{numbers((f"{row.count:,}",))}<th scope="row">{escaped(shortened(row.surface))}</th>'
        f"{concept_cell(row.gold, row.gold_ids)}{concept_cell(row.answered, row.answered_ids)}"
        f"{concept_cell(row.runner_up, row.runner_up_ids)}<td>{rank}{often}</td></tr>"
    )


def _examples(content: ReportContent) -> str:
    if not content.examples:
        return ""
    columns = "".join(
        f'<th scope="col">{name}</th>' for name in ("Mention", "Gold", "Rank of gold", "Best candidates, with scores")
    )
    rows = "".join(map(_example_row, content.examples))
    table = f'<table class="examples"><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>'
    text = "<p>Random mentions with their best candidates: first some that are right, then some that are wrong.</p>"
    note = (
        '<p class="note">A score is the output of the linker; compare it only with scores of the same linker. Mentions without '
        "candidates, and those split into parts, are not drawn. The rank is counted as the protocol counts it.</p>"
    )
    return section("Examples", "examples", text + scrolled(table, "Examples") + note)


def _example_row(row: ExampleRow) -> str:
    verdict = "right" if row.gold_rank == 1 else "wrong"
    none = "none" if row.is_in_kb else 'none <span class="ids">(not in the KB)</span>'
    near = "".join(map(_neighbour, row.neighbours))
    return (
        f'<tr><th scope="row">{escaped(shortened(row.surface))}<br><span class="verdict {verdict}">{verdict}</span></th>'
        f"{concept_cell(row.gold, row.gold_ids)}<td>{none if row.gold_rank is None else row.gold_rank}</td>"
        f'<td><ol class="near">{near}</ol></td></tr>'
    )


def _neighbour(row: NeighbourRow) -> str:
    """Return one candidate: its name, ids and score; a gold one is marked in words, not by colour alone."""
    mark = ' <span class="mark">gold</span>' if row.is_gold else ""
    kind = ' class="gold"' if row.is_gold else ""
    return (
        f'<li value="{row.rank}"{kind}><div class="pair"><span>{name_and_ids(row.name, row.ids, " ")}{mark}</span>'
        f'<span class="number">{row.score:.3f}</span></div></li>'
    )
