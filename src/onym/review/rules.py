"""Turns the decisions of a desk into rules of corrections.

A decision for a cluster becomes a rule for always, or for an expansion, if all links with that surface (and expansion) that the
desk has are decided alike. Otherwise the rules are narrower: one for a document whose links are decided alike, and else one for
each place. So no rule changes a link that nobody has decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from onym.corrections.rules import NO_CONCEPT, NOT_A_MENTION, Rule
from onym.review.decisions import WITH_CONCEPT, Decision, Standing
from onym.review.desk import Desk, DeskDocument, DeskLink

_FIXED = {"not-a-mention": NOT_A_MENTION, "no-concept": NO_CONCEPT, "span": NOT_A_MENTION}
_DIGITS = 16


@dataclass(slots=True)
class _DecidedLink:
    """A link with the decision that holds, and what it means; the meaning is empty if it is undecided or unsure."""

    link: DeskLink
    decision: Decision | None
    meaning: str


@dataclass(slots=True)
class _Surface:
    """All links of a desk with one surface and expansion."""

    expansion: str
    links: list[_DecidedLink] = field(default_factory=list)

    @property
    def common(self) -> _DecidedLink | None:
        """A link whose meaning all others share that have no decision for themselves or their document; else None."""
        everywhere = [each for each in self.links if each.decision is None or each.decision.scope == "everywhere"]
        is_common = len({each.meaning for each in everywhere}) == 1 and everywhere[0].meaning
        return everywhere[0] if is_common else None


def meaning_of(decision: Decision | None, link: DeskLink) -> str:
    """Return the meaning of a rule for a link: the id of a concept, `NOT_A_MENTION` or `NO_CONCEPT`; empty if undecided."""
    if decision is None:
        return ""
    if decision.verdict in _FIXED:
        return _FIXED[decision.verdict]
    return decision.concept_id or link.concept_id or "" if decision.verdict in WITH_CONCEPT else ""


def export_rules(desk: Desk) -> Iterator[Rule]:
    """Yield the rules of all decisions that hold: first those of surfaces, then those of missed mentions."""
    standing = Standing(desk.decisions())
    documents = {document.number: document for document in desk.documents()}
    clusters = {cluster.number: (cluster.surface, cluster.expansion) for cluster in desk.clusters()}
    surfaces: dict[tuple[str, str], _Surface] = {}
    for link in desk.links():
        decision = standing.of(link.number, link.document, link.cluster)
        key = clusters[link.cluster]
        meaning = meaning_of(decision, link)
        surfaces.setdefault(key, _Surface(key[1])).links.append(_DecidedLink(link, decision, meaning))
    for surface in surfaces.values():
        if any(each.meaning for each in surface.links):
            yield from _rules_of(surface, documents)
    for missed in standing.list_missed():
        yield from _iter_span_rule(missed, documents[missed.document or 0], missed.concept_id or "")


def _rules_of(surface: _Surface, documents: dict[int, DeskDocument]) -> Iterator[Rule]:
    common = surface.common
    if common is not None:
        yield _rule(common, expansion=surface.expansion)
    by_document: dict[int, list[_DecidedLink]] = {}
    for each in surface.links:
        by_document.setdefault(each.link.document, []).append(each)
    for number, links in by_document.items():
        yield from _rules_in(links, documents[number], common.meaning if common else "")
    for each in surface.links:
        decision = each.decision
        if decision is not None and decision.verdict == "span":
            meaning = decision.concept_id or each.link.concept_id or ""
            yield from _iter_span_rule(decision, documents[each.link.document], meaning)


def _rules_in(links: Sequence[_DecidedLink], document: DeskDocument, common: str) -> Iterator[Rule]:
    """Yield the rules for a document whose links differ from the common meaning."""
    meanings = {each.meaning for each in links}
    if meanings <= {common}:
        return
    digest = document.digest[:_DIGITS]
    is_whole = len(meanings) == 1 and not any(each.decision and each.decision.verdict == "span" for each in links)
    if is_whole:
        yield _rule(links[0], document=document.id, digest=digest)
        return
    for each in links:
        if each.meaning and each.meaning != common:
            yield _rule(each, document=document.id, digest=digest, start=each.link.start, end=each.link.end)


def _rule(
    each: _DecidedLink,
    *,
    document: str = "",
    expansion: str = "",
    digest: str = "",
    start: int | None = None,
    end: int | None = None,
) -> Rule:
    decision = each.decision
    return Rule(
        each.link.surface,
        each.meaning,
        document=document,
        expansion=expansion,
        start=start,
        end=end,
        digest=digest,
        author=decision.reviewer if decision else "",
        comment=decision.verdict if decision else "",
    )


def _iter_span_rule(decision: Decision, document: DeskDocument, meaning: str) -> Iterator[Rule]:
    """Yield the rule for a mention with other bounds, or for one that was missed, if the desk has its text."""
    surface = (document.text or "")[decision.start : decision.end]
    if surface.strip():
        yield Rule(
            surface,
            meaning or NO_CONCEPT,
            document=document.id,
            start=decision.start,
            end=decision.end,
            digest=document.digest[:_DIGITS],
            add=True,
            author=decision.reviewer,
            comment=decision.verdict,
        )
