"""What became of the ids of an old release in a new one: kept, moved, several or suggested successors, dead, or unknown.

The new release's own statements decide: a retired id moves only to the one id that surely means the same. Where a release
says nothing about an id (MeSH states no successors), the id moves only if its preferred name is the preferred name of exactly
one new concept of the same vocabulary. All other candidates are suggestions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import polars as pl

from onym.text.normal import normal_name
from onym.types import Successor, style_id

if TYPE_CHECKING:
    from onym.kb.knowledge_base import KnowledgeBase
    from onym.kb.retired import Resolution

Change = Literal["kept", "moved", "several", "suggested", "dead", "unknown"]
"""What became of an id: it is still current; one id surely replaces it; several may; one may; none does; it is in neither
release."""

SAME_NAME = "same preferred name"
SHARED_NAME = "shared name"
_STILL = frozenset({"joined", "alternative"})  # ids of other vocabularies, which a knowledge base knows beside its own
_MAX_SUGGESTED = 50


@dataclass(frozen=True, slots=True)
class Replacement:
    """What became of an id. `targets` are ids of the new release, the most likely first; a kept id has none.

    `why` says what the answer rests on: a statement of a release such as `merged into`, or names. `is_stated` is true if a
    release states the targets.
    """

    id: str
    change: Change
    targets: tuple[str, ...] = ()
    why: str = ""
    is_stated: bool = False

    @property
    def new_id(self) -> str | None:
        """The id to use in the new release; None if it is not certain.

        >>> Replacement("mesh:C000001", "suggested", ("mesh:D000001",), "shared name").new_id is None
        True
        """
        return self.id if self.change == "kept" else self.targets[0] if self.change == "moved" else None


class Replacements:
    """Finds what became of ids, from the knowledge bases of two releases.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> found = Replacements(kb, kb)
    >>> found.of("mesh:D009203").change, found.of("mesh:D999999").change
    ('kept', 'unknown')
    """

    def __init__(self, old: KnowledgeBase, new: KnowledgeBase) -> None:
        self.old, self.new = old, new
        self._found: dict[str, Replacement] = {}

    def of(self, concept_id: str) -> Replacement:
        """Return what became of an id, which may be a concept of the old release or one of its aliases."""
        found = self._found.get(concept_id)
        if found is None:
            found = self._found[concept_id] = self._decide(concept_id)
        return found

    def iter_gone(self) -> Iterator[Replacement]:
        """Yield what became of each concept of the old release whose id is not the id of a concept in the new one."""
        old, new = (pl.Series("id", kb.concept_ids.to_arrow()).to_frame() for kb in (self.old, self.new))
        return map(self.of, old.join(new, on="id", how="anti", maintain_order="left")["id"])

    def _decide(self, concept_id: str) -> Replacement:
        now, before = self.new.resolve(concept_id), self.old.resolve(concept_id)
        if now.how == "id" or (now and now.how in _STILL and before.how != "id"):
            return Replacement(concept_id, "kept")
        if now:
            why = self._describe(now.matched, now.how)
            targets = [self.new.concept_ids[row] for row in now]
            return _choose(concept_id, targets, why, is_certain=len(now) == 1)
        if now.how == "retired":
            return self._by_statement(concept_id, self.new.successors(now.matched)) or self._by_name(
                concept_id, before, "retired"
            )
        if before.how == "unknown":
            return Replacement(concept_id, "unknown", why="in neither release")
        return self._through_old(concept_id, before) or self._by_name(concept_id, before, "not in the new release")

    def _through_old(self, concept_id: str, before: Resolution) -> Replacement | None:
        """Follow what the old release says about an id that it had retired already; None if that leads nowhere."""
        if before.how == "id":
            return None
        if before.how == "retired":
            return self._by_statement(concept_id, self.old.successors(before.matched))
        heirs = {self.old.concept_ids[row]: None for row in before}
        found = self.of(next(iter(heirs))) if len(heirs) == 1 else None
        if found is None:
            targets = [target for heir in heirs for target in self._current(heir)]
            return _choose(concept_id, targets, "several concepts of the old release", is_certain=False) if targets else None
        if found.change == "kept":
            return Replacement(
                concept_id, "moved", (found.id,), self._describe(before.matched, before.how, self.old), is_stated=True
            )
        return replace(found, id=concept_id)

    def _by_statement(self, concept_id: str, successors: Iterable[Successor]) -> Replacement | None:
        """Return the successors that a release names without being certain; None if none of them is current."""
        found = {target: each.kind for each in successors for target in self._current(each.target)}
        why = " or ".join(dict.fromkeys(kind.label for kind in found.values()))
        return _choose(concept_id, list(found), why, is_certain=False) if found else None

    def _current(self, concept_id: str) -> list[str]:
        return [self.new.concept_ids[row] for row in self.new.resolve(concept_id)]

    def _describe(self, matched: str, how: str, kb: KnowledgeBase | None = None) -> str:
        """Return the words of the most certain statement behind a resolved id, such as `merged into`."""
        stated = (kb or self.new).successors(matched) if how == "replaced" else ()
        return stated[0].kind.label if stated else {"joined": "joined with", "alternative": "alternative id of"}.get(how, how)

    def _by_name(self, concept_id: str, before: tuple[int, ...], state: str) -> Replacement:
        """Compare names; only an id about which the new release says nothing can move by its preferred name."""
        prefix = concept_id.partition(":")[0]
        preferred = Counter[str]()
        shared = Counter[str]()
        for row in before:
            own = normal_name(self.old.preferred_form(row))
            for name in (self.old.names[int(each)] for each in self.old.names_of(row)):
                for target, is_preferred in self._bearers(name, prefix):
                    shared[target] += 1
                    preferred[target] += is_preferred and name == own
        same = [target for target, count in preferred.items() if count]
        if len(same) == 1 and state != "retired":
            return Replacement(concept_id, "moved", (same[0],), SAME_NAME)
        ranked = sorted(shared, key=lambda target: (-preferred[target], -shared[target], target))[:_MAX_SUGGESTED]
        if not ranked:
            return Replacement(concept_id, "dead", why=f"{state}, and no concept has its names", is_stated=state == "retired")
        why = SAME_NAME if same else SHARED_NAME
        return Replacement(concept_id, "several" if len(ranked) > 1 else "suggested", tuple(ranked), why)

    def _bearers(self, name: str, prefix: str) -> Iterator[tuple[str, bool]]:
        """Yield the new concepts of a vocabulary that have a name, and whether it is their preferred name."""
        at = self.new.names.find(name)
        for row in self.new.name_concepts[at].tolist() if at >= 0 else ():
            target = self.new.concept_ids[row]
            if target.partition(":")[0] == prefix:
                yield target, normal_name(self.new.preferred_form(row)) == name


def _choose(concept_id: str, targets: list[str], why: str, *, is_certain: bool) -> Replacement:
    """Return a replacement by targets that a release states."""
    targets = list(dict.fromkeys(targets))
    change: Change = "moved" if is_certain else "several" if len(targets) > 1 else "suggested"
    return Replacement(concept_id, change, tuple(targets), why, is_stated=True)


REPLACEMENT_COLUMNS = ("old", "old_name", "new", "new_name", "suggested", "change", "why")
"""Columns of the table of replacements. `new` is filled only if it is certain; `suggested` has the other candidates."""


def replacement_rows(found: Replacements, *, suggest: bool = True) -> Iterator[tuple[str, ...]]:
    """Yield a row for each concept of the old release that is not in the new one; `--replacements` of a build can read them.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> list(replacement_rows(Replacements(kb, kb)))
    []
    """
    for each in found.iter_gone():
        new = each.new_id or ""
        others = "|".join(map(style_id, each.targets)) if suggest and not new else ""
        cells = (style_id(each.id), name_of(found.old, each.id), new and style_id(new), name_of(found.new, new))
        yield (*cells, others, each.change, each.why)


def name_of(kb: KnowledgeBase, concept_id: str) -> str:
    """Return the preferred name of a concept, or an empty string if no concept has this id.

    >>> from onym.kb import KnowledgeBase
    >>> name_of(KnowledgeBase.open(getfixture("tiny_kb")), "mesh:D005334")
    'Fever'
    """
    row = kb.concept_ids.find(concept_id)
    return kb.preferred_form(row) if row >= 0 else ""


def is_split(found: Replacement) -> bool:
    """Return whether a release names several current ids in place of one."""
    return found.change == "several" and found.is_stated
