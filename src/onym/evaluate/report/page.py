"""The parts of an HTML report: one file that needs nothing else. No scripts, no fonts, nothing fetched; light or dark scheme.

Surfaces, names and ids may come from anywhere: every one is escaped, control characters too, and a content security policy
forbids the page scripts and network access.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from onym.errors import printable
from onym.evaluate.report.style import STYLE

_MAX_LENGTH = 160  # code points of a surface or a name
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, sections: Iterable[str]) -> str:
    """Return a whole page; empty sections are left out.

    >>> "<title>&lt;b&gt;: Onym</title>" in page("<b>", ["<p>text</p>", ""])
    True
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(title)}: Onym</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + "\n</main>\n</body>\n</html>\n"
    )


def escaped(text: str) -> str:
    r"""Return text as it has to be written in HTML, between tags and in attributes; control characters become visible.

    >>> escaped('<i onclick="x">\x1b')
    '&lt;i onclick=&quot;x&quot;&gt;\\x1b'
    """
    return html.escape(printable(text), quote=True)


def header(system: str, dataset: str, split: str, facts: Sequence[tuple[str, str]], tiles: str) -> str:
    """Return the head of the page: the system, the dataset, some facts, and the main figures."""
    listed = "".join(f"<div><dt>{name}</dt><dd>{escaped(value)}</dd></div>" for name, value in facts)
    return (
        f'<header>\n<h1>{escaped(system)} <span class="on">on</span> {escaped(dataset)} '
        f'<span class="on">({escaped(split)})</span></h1>\n'
        f'<dl class="facts">{listed}</dl>\n{tiles}\n</header>'
    )


def coverage_fact(coverage: str) -> tuple[tuple[str, str], ...]:
    """Return the note on what the predictions do not cover, or repeat, as a fact of the header; nothing without one."""
    return (("Predictions", coverage),) if coverage else ()


def with_coverage(note: str, coverage: str) -> str:
    """Return the note of a figure, and what the predictions do not cover.

    >>> with_coverage("95 % CI 1.0–2.0", "1 of 960 mentions predicted")
    '95 % CI 1.0–2.0; 1 of 960 mentions predicted'
    """
    return "; ".join(filter(None, (note, escaped(coverage))))


def protocol_cell(name: str, *, is_main: bool, coverage: str, definition: str = "") -> str:
    """Return the start of a line of figures: its protocol, marked if it is the main one, and what the predictions lack."""
    kind = ' class="main"' if is_main else ""
    mark = ' <span class="mark">main</span>' if is_main else ""
    small = "".join(f'<br><span class="ids">{escaped(each)}</span>' for each in (definition, coverage) if each)
    return f'<tr{kind}><th scope="row"><code>{escaped(name)}</code>{mark}{small}</th>'


def tiles(figures: Iterable[tuple[str, str, str]]) -> str:
    """Return the main figures: a name, a share in percent, and a note for each."""
    return (
        '<div class="tiles">'
        + "".join(
            f'<div class="tile"><div class="name">{name}</div><div class="figure">{figure}<span class="unit">%</span></div>'
            f'<div class="note">{note}</div></div>'
            for name, figure, note in figures
        )
        + "</div>"
    )


def section(title: str, name: str, body: str) -> str:
    """Return a section with its heading."""
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>\n{body}\n</section>'


def left_out(counts: Iterable[tuple[str, int]]) -> str:
    """Return the section that says what was not scored, by reason."""
    rows = "".join(f'<tr><th scope="row">{escaped(reason)}</th>{numbers((f"{count:,}",))}</tr>' for reason, count in counts)
    if not rows:
        return section("Left out", "left-out", "<p>Nothing was left out.</p>")
    head = f"<thead><tr>{heads(('Reason', 'n'), words=1)}</tr></thead>"
    table = f'<table class="narrow">{head}<tbody>{rows}</tbody></table>'
    return section("Left out", "left-out", scrolled(table, "Left out"))


def manifest(values: Iterable[tuple[str, str]], title: str = "What these figures depend on", name: str = "manifest") -> str:
    """Return the section that says what the figures depend on; `name` has to be unique in the page."""
    rows = "".join(
        f'<tr><th scope="row">{escaped(key)}</th><td><code>{escaped(value)}</code></td></tr>' for key, value in values
    )
    if not rows:
        return ""
    head = f"<thead><tr>{heads(('Name', 'Value'), words=2)}</tr></thead>"
    table = f'<table class="manifest">{head}<tbody>{rows}</tbody></table>'
    return section(escaped(title), name, scrolled(table, escaped(title)))


def figure(svg: str) -> str:
    """Return a plot as a part of the page."""
    return scrolled(f"<figure>{svg}</figure>", "Figure")


def scrolled(body: str, name: str) -> str:
    """Make something wide scrollable on a narrow screen, with keys too."""
    return f'<div class="scrolled" role="region" aria-label="{name}" tabindex="0">{body}</div>'


def details(title: str, body: str) -> str:
    """Return something that the reader can open."""
    return f"<details><summary>{title}</summary>{scrolled(body, title)}</details>"


def heads(names: Sequence[str], words: int) -> str:
    """Return column heads: `words` columns of text, then columns of numbers; with 0 only the first column has numbers."""
    kinds = [""] * words + [' class="number"'] * (len(names) - words) if words else ['class="number"', *[""] * (len(names) - 1)]
    return "".join(f'<th scope="col" {kind.strip()}>{name}</th>' for name, kind in zip(names, kinds, strict=True))


def numbers(cells: Iterable[str]) -> str:
    """Return cells of numbers."""
    return "".join(f'<td class="number">{cell}</td>' for cell in cells)


def concept_cell(name: str, ids: str) -> str:
    """Return a cell with the names and ids of concepts."""
    return f"<td>{name_and_ids(name, ids, '<br>')}</td>" if ids else '<td class="none">nothing</td>'


def name_and_ids(name: str, ids: str, between: str) -> str:
    """Return names, and ids in small print where they differ."""
    shown = f'{between}<span class="ids">{escaped(shortened(ids))}</span>' if ids != name else ""
    return f"{escaped(shortened(name))}{shown}"


def shortened(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "…"
