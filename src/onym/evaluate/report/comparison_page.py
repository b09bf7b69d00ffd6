"""The page of a comparison: both systems, the significance of the difference, subgroups, what only one of them gets right."""

from __future__ import annotations

from onym.evaluate.comparison import Comparison, hits
from onym.evaluate.evaluation import Evaluation
from onym.evaluate.mistakes import common_mistakes
from onym.evaluate.report.comparison import difference_rows, slice_rows
from onym.evaluate.report.linking.content import MistakeRow
from onym.evaluate.report.linking.html import mistakes_section
from onym.evaluate.report.page import escaped, header, heads, manifest, numbers, page, scrolled, section, tiles, with_coverage
from onym.evaluate.report.published import published_for, published_section
from onym.evaluate.report.values import flat, percent
from onym.kb import KnowledgeBase

_SHOWN = 25
Pair = tuple[str, str]


def comparison_page(found: Comparison, evaluations: tuple[Evaluation, Evaluation], names: Pair, kb: KnowledgeBase) -> str:
    """Return the page; `evaluations` are those that were compared, `names` what the systems are called."""
    dataset = evaluations[0].manifest["dataset"]
    facts = (("Protocol", found.protocol), ("Mentions", f"{found.cases:,}"))
    sections = (
        header(f"{names[0]} against {names[1]}", dataset["name"], dataset["split"], facts, _tiles(found, names)),
        _difference(found, names),
        published_section(published_for(evaluations[0].manifest, found.protocol)),
        _subgroups(found, names),
        *(_only_wrong(evaluations, names, which, kb) for which in (1, 0)),
        *(_manifest(each, name, number) for number, (each, name) in enumerate(zip(evaluations, names, strict=True))),
    )
    return page(f"{names[0]} against {names[1]}", sections)


def _manifest(evaluation: Evaluation, name: str, number: int) -> str:
    return manifest(flat(evaluation.manifest), f"What the figures of {name} depend on", f"manifest-{number}")


def _tiles(found: Comparison, names: Pair) -> str:
    shares, notes = (found.first, found.second), [with_coverage("", each.note) for each in found.coverage]
    both = [
        (f"{escaped(name)}, recall@1", percent(share), note) for name, share, note in zip(names, shares, notes, strict=True)
    ]
    between = f"95 % CI {100 * found.bootstrap.low:+.1f} to {100 * found.bootstrap.high:+.1f}"
    return tiles((*both, ("difference", f"{100 * found.bootstrap.difference:+.1f}", between)))


def _difference(found: Comparison, names: Pair) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th>{numbers((escaped(value),))}</tr>'
        for name, value in difference_rows(found, *names)
    )
    table = f'<table class="narrow"><tbody>{rows}</tbody></table>'
    return section("The difference", "difference", scrolled(table, "The difference"))


def _subgroups(found: Comparison, names: Pair) -> str:
    columns = heads(("Subgroup", "n", *map(escaped, names), "difference"), words=1)
    rows = "".join(f'<tr><th scope="row">{escaped(title)}</th>{numbers(cells)}</tr>' for title, *cells in slice_rows(found))
    table = f"<table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"
    return section("Recall@1 by subgroup", "slices", scrolled(table, "Recall@1 by subgroup"))


def _only_wrong(evaluations: tuple[Evaluation, Evaluation], names: Pair, wrong: int, kb: KnowledgeBase) -> str:
    """Return the section of what one of them gets wrong and the other one right."""
    own, other = evaluations[wrong], evaluations[1 - wrong]
    is_right = hits(other.gold_ranks)
    cases = [case for case, right in zip(own.cases, is_right, strict=True) if right]
    ranks = [rank for rank, right in zip(own.gold_ranks, is_right, strict=True) if right]
    rows = tuple(map(MistakeRow.of, common_mistakes(cases, ranks, kb, _SHOWN)))
    return mistakes_section(f"Right in {escaped(names[1 - wrong])} only", f"only-{1 - wrong}", rows)
