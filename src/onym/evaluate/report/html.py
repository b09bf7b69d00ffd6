"""A report as one HTML file that needs nothing else: no scripts, no fonts, nothing fetched. Light or dark, as the reader likes.

Surfaces, names and ids come from anywhere: every one is escaped, control characters too, and the page forbids itself scripts
and the network by its own content security policy.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from onym.errors import printable
from onym.evaluate.report.content import (
    ExampleRow,
    Headline,
    MistakeRow,
    NeighbourRow,
    ReportContent,
    SliceRow,
    interval,
    percent,
)
from onym.evaluate.report.plots import recall_plot, similarity_plot, slices_plot
from onym.evaluate.report.style import STYLE

_LONGEST = 160  # code points of a surface or a name that are shown
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html_report(content: ReportContent) -> str:
    """Return the page.

    >>> page = html_report(ReportContent("exact", "<b>", "test", "strict", "MeSH", ()))
    >>> "&lt;b&gt;" in page, "<b>" in page
    (True, False)
    """
    title = escaped(content.title)
    sections = (
        _header(content),
        _headline(content),
        _left_out(content),
        _recall(content),
        _slices(content),
        _similarity(content),
        _mistakes(content),
        _examples(content),
        _manifest(content),
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}: Onym</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + "\n</main>\n</body>\n</html>\n"
    )


def escaped(text: str) -> str:
    r"""Return text that means itself in HTML, between tags and in attributes; control characters are shown, not sent.

    >>> escaped('<i onclick="x">\x1b')
    '&lt;i onclick=&quot;x&quot;&gt;\\x1b'
    """
    return html.escape(printable(text), quote=True)


def _header(content: ReportContent) -> str:
    facts = (("Protocol", content.protocol), ("Knowledge base", content.kb))
    listed = "".join(f"<div><dt>{name}</dt><dd>{escaped(value)}</dd></div>" for name, value in facts)
    return (
        f'<header>\n<h1>{escaped(content.linker)} <span class="on">on</span> {escaped(content.benchmark)} '
        f'<span class="on">({escaped(content.split)})</span></h1>\n'
        f'<dl class="facts">{listed}</dl>\n{_tiles(content)}\n</header>'
    )


def _tiles(content: ReportContent) -> str:
    chosen = content.chosen
    if chosen is None:
        return ""
    sure = interval(chosen.low, chosen.high)
    tiles = (
        ("recall@1", percent(chosen.recall_at_1), f"95 % interval {sure}" if sure else ""),
        ("recall@5", percent(chosen.recall_at_5), ""),
        ("MAP", percent(chosen.mean_average_precision), ""),
        ("recall@1 within reach", percent(chosen.reachable_recall_at_1), f"{chosen.reachable:,} of {chosen.cases:,} cases"),
    )
    return (
        '<div class="tiles">'
        + "".join(
            f'<div class="tile"><div class="name">{name}</div><div class="figure">{figure}<span class="unit">%</span></div>'
            f'<div class="note">{note}</div></div>'
            for name, figure, note in tiles
        )
        + "</div>"
    )


def _headline(content: ReportContent) -> str:
    heads = ("Protocol", "recall@1", "95 % interval", "recall@5", "MAP", "n", "recall@1", "recall@5", "n")
    rows = [_headline_row(row, is_chosen=row.protocol == content.protocol) for row in content.headline]
    table = (
        '<table><thead><tr><td></td><th colspan="5" scope="colgroup" class="group">all cases</th>'
        '<th colspan="3" scope="colgroup" class="group">within reach</th></tr>'
        f"<tr>{_heads(heads, words=1)}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    means = f"<p>{escaped(content.means)}</p>" if content.means else ""
    note = (
        '<p class="note">Figures in percent. <em>Within reach</em> are the cases whose gold concepts are all in the knowledge '
        "base. The marked protocol is the one that the rest of this page uses.</p>"
    )
    return _section("Figures", "figures", means + _scrolled(table, "Figures by protocol") + note)


def _headline_row(row: Headline, *, is_chosen: bool) -> str:
    cells = (
        percent(row.recall_at_1),
        interval(row.low, row.high),
        percent(row.recall_at_5),
        percent(row.mean_average_precision),
        f"{row.cases:,}",
        percent(row.reachable_recall_at_1),
        percent(row.reachable_recall_at_5),
        f"{row.reachable:,}",
    )
    mark = ' <span class="mark">chosen</span>' if is_chosen else ""
    kind = ' class="chosen"' if is_chosen else ""
    return f'<tr{kind}><th scope="row"><code>{escaped(row.protocol)}</code>{mark}</th>{_numbers(cells)}</tr>'


def _left_out(content: ReportContent) -> str:
    if not content.left_out:
        return _section("Left out", "left-out", "<p>Nothing was left out.</p>")
    rows = "".join(
        f'<tr><th scope="row">{escaped(reason)}</th>{_numbers((f"{count:,}",))}</tr>' for reason, count in content.left_out
    )
    table = f'<table class="narrow"><thead><tr>{_heads(("Reason", "n"), words=1)}</tr></thead><tbody>{rows}</tbody></table>'
    return _section("Left out", "left-out", "<p>Not among the cases that were judged.</p>" + table)


def _recall(content: ReportContent) -> str:
    if len(content.recall_curve) < 2:
        return ""
    return _section("Recall among the first answers", "recall", _figure(recall_plot(content.recall_curve)))


def _slices(content: ReportContent) -> str:
    if not content.slices:
        return ""
    rows = "".join(map(_slice_row, content.slices))
    heads = _heads(("Slice", "Definition", "n", "recall@1", "95 % interval"), words=2)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    absent = "".join(f"<li>{escaped(title)}: {escaped(reason)}</li>" for title, reason in content.without_slices)
    without = f'<p class="note">Slices left out:</p><ul class="note">{absent}</ul>' if absent else ""
    drawn = _figure(slices_plot(content.slices)) if any(row.cases for row in content.slices) else ""
    return _section("Where it is good, and where not", "slices", drawn + _details("The slices as a table", table) + without)


def _slice_row(row: SliceRow) -> str:
    cells = (f"{row.cases:,}", percent(row.recall), interval(row.low, row.high)) if row.cases else ("0", "–", "–")
    words = f'<th scope="row">{escaped(row.title)}</th><td class="words">{escaped(row.definition)}</td>'
    return f"<tr>{words}{_numbers(cells)}</tr>"


def _similarity(content: ReportContent) -> str:
    if not any(row.cases for row in content.bins):
        return ""
    text = (
        "<p>The likeness of a mention to the most similar name of its gold concept, by the 3-grams that they share. "
        "Where they have little in common, a system has to know more than spelling.</p>"
    )
    return _section("By likeness to the gold concept", "similarity", text + _figure(similarity_plot(content.bins)))


def _mistakes(content: ReportContent) -> str:
    if not content.mistakes:
        return ""
    heads = _heads(("n", "Mention", "Gold", "Answered", "Runner-up", "Place of gold"), words=0)
    rows = "".join(map(_mistake_row, content.mistakes))
    table = f'<table class="mistakes"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    text = "The place of gold is its best place among the answers, and in how many of the cases it was among them."
    note = f'<p class="note">{text}</p>'
    return _section("The most frequent errors", "mistakes", _scrolled(table, "The most frequent errors") + note)


def _mistake_row(row: MistakeRow) -> str:
    place = "none" if row.place is None else f"{row.place}"
    often = f' <span class="ids">({row.found:,} of {row.count:,})</span>' if row.place is not None else ""
    return (
        f'<tr>{_numbers((f"{row.count:,}",))}<th scope="row">{escaped(_short(row.surface))}</th>'
        f"{_named(row.gold, row.gold_ids)}"
        f"{_named(row.answered, row.answered_ids)}{_named(row.runner_up, row.runner_up_ids)}<td>{place}{often}</td></tr>"
    )


def _examples(content: ReportContent) -> str:
    if not content.examples:
        return ""
    heads = "".join(
        f'<th scope="col">{name}</th>' for name in ("Mention", "Gold", "Place of gold", "Nearest concepts, with scores")
    )
    rows = "".join(map(_example_row, content.examples))
    table = f'<table class="examples"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    text = "<p>Mentions drawn by chance, some that are right, then some that are wrong, and the concepts nearest to them.</p>"
    note = (
        '<p class="note">A score is what the linker says, and can be compared with scores of the same linker alone. Mentions '
        "without any candidate, and those cut into parts, are not drawn. The place is counted as the protocol counts it.</p>"
    )
    return _section("Examples", "examples", text + _scrolled(table, "Examples") + note)


def _example_row(row: ExampleRow) -> str:
    verdict = "right" if row.place == 1 else "wrong"
    none = "none" if row.is_reachable else 'none <span class="ids">(not in the knowledge base)</span>'
    near = "".join(map(_neighbour, row.neighbours))
    return (
        f'<tr><th scope="row">{escaped(_short(row.surface))}<br><span class="verdict {verdict}">{verdict}</span></th>'
        f"{_named(row.gold, row.gold_ids)}<td>{none if row.place is None else row.place}</td>"
        f'<td><ol class="near">{near}</ol></td></tr>'
    )


def _neighbour(row: NeighbourRow) -> str:
    """Return one candidate: its name and ids, and its score beside them; that it is gold is said in words too."""
    mark = ' <span class="mark">gold</span>' if row.is_gold else ""
    kind = ' class="gold"' if row.is_gold else ""
    return (
        f'<li value="{row.number}"{kind}><div class="pair"><span>{_name_and_ids(row.name, row.ids, " ")}{mark}</span>'
        f'<span class="number">{row.score:.3f}</span></div></li>'
    )


def _named(name: str, ids: str) -> str:
    return f"<td>{_name_and_ids(name, ids, '<br>')}</td>" if ids else '<td class="none">nothing</td>'


def _name_and_ids(name: str, ids: str, between: str) -> str:
    shown = f'{between}<span class="ids">{escaped(_short(ids))}</span>' if ids != name else ""
    return f"{escaped(_short(name))}{shown}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _manifest(content: ReportContent) -> str:
    if not content.manifest:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td><code>{escaped(value)}</code></td></tr>'
        for name, value in content.manifest
    )
    table = f'<table class="manifest"><thead><tr>{_heads(("What", "Which"), words=2)}</tr></thead><tbody>{rows}</tbody></table>'
    return _section("What these figures depend on", "manifest", _scrolled(table, "What these figures depend on"))


def _section(title: str, name: str, body: str) -> str:
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>\n{body}\n</section>'


def _figure(svg: str) -> str:
    return _scrolled(f"<figure>{svg}</figure>", "Figure")


def _scrolled(body: str, name: str) -> str:
    """Let something wide be scrolled on a narrow screen, with keys too."""
    return f'<div class="scrolled" role="region" aria-label="{name}" tabindex="0">{body}</div>'


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>{_scrolled(body, title)}</details>"


def _heads(names: Sequence[str], words: int) -> str:
    """Return the heads of columns; those after the first `words` are over numbers."""
    kinds = [""] * words + [' class="number"'] * (len(names) - words) if words else ['class="number"', *[""] * (len(names) - 1)]
    return "".join(f'<th scope="col" {kind.strip()}>{name}</th>' for name, kind in zip(names, kinds, strict=True))


def _numbers(cells: Iterable[str]) -> str:
    return "".join(f'<td class="number">{cell}</td>' for cell in cells)
