"""Decides what becomes of each link of a document in a new release, and records it.

An id that is current stays. An id with one certain successor moves. Where the release names several, the pipeline of the new
release may choose among them in context. Every other id stays as it is, and its candidates are suggestions for a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from onym.corpora.ids import KEY, parse_ids, replace_ids
from onym.kb.replacements import Replacement, Replacements
from onym.migrate.relinker import Choice, Relinker
from onym.types import Document, Mention, Notes, Relation

Outcome = Literal["kept", "moved", "relinked", "suggested", "dead", "unknown"]
"""What became of a link: its id is current; one certain successor replaced it; the context chose one of several; a person must
choose; the release has no successor and no candidate; or its id is in neither release."""
UNDECIDED: tuple[Outcome, ...] = ("suggested", "dead", "unknown")
"""The outcomes that leave the old id in place, for a person to decide."""
OLD_ID = "old_id"
"""The key of the note with the ids that a mention had before it was migrated, in formats that can store it."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one id: `new` is the id to write, which is the old one unless it moved or was linked again."""

    old: str
    outcome: Outcome
    new: str
    suggested: tuple[str, ...] = ()
    confidence: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """One line of the audit table: where a link is, and what became of its id. `part` says what holds it, such as `mention`.

    `start` and `end` are None if the link has no offsets, as in a relation or a table; `ordinal` is then the number of the row,
    and `cells` are the columns and values of that row.
    """

    source: str
    ordinal: int
    document: str
    part: str
    start: int | None
    end: int | None
    fate: Fate
    cells: tuple[tuple[str, str], ...] = ()

    @property
    def is_undecided(self) -> bool:
        """True if a person must decide."""
        return self.fate.outcome in UNDECIDED


class LinkMigrator:
    """Decides what becomes of ids, with a pipeline of the new release also in context.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> migrator = LinkMigrator(Replacements(kb, kb))
    >>> migrator.decide("mesh:D005334").outcome, migrator.decide("mesh:D999999").outcome
    ('kept', 'unknown')
    """

    def __init__(self, found: Replacements, relinker: Relinker | None = None) -> None:
        self.found, self._relinker = found, relinker
        self._fates: dict[str, Fate] = {}

    def decide(self, concept_id: str, surface: str = "") -> Fate:
        """Return what becomes of an id, without context. Suggestions that have the name `surface` come first."""
        fate = self._fates.get(concept_id)
        if fate is None:
            fate = self._fates[concept_id] = _fate_of(self.found.of(concept_id))
        return replace(fate, suggested=self._rank(fate.suggested, surface)) if surface and len(fate.suggested) > 1 else fate

    def decide_mentions(self, document: Document) -> list[tuple[Fate, ...]]:
        """Return what becomes of each id of each mention of a document, in order."""
        fates = [tuple(self.decide(each, mention.surface) for each in mention.concept_ids) for mention in document.mentions]
        asked = {
            (row, at): fate.suggested
            for row, own in enumerate(fates)
            for at, fate in enumerate(own)
            if fate.outcome == "suggested" and len(fate.suggested) > 1
        }
        if not asked or self._relinker is None:
            return fates
        choices = self._relinker.choose(document, [(row, targets) for (row, _), targets in asked.items()])
        chosen = {spot: choice for spot, choice in zip(asked, choices, strict=True) if choice}
        return [
            tuple(_relink(fate, chosen[row, at]) if (row, at) in chosen else fate for at, fate in enumerate(own))
            for row, own in enumerate(fates)
        ]

    def is_concept(self, text: str) -> bool:
        """Return whether a text is a concept id of one of the releases."""
        return ":" in text and self.decide(text).outcome != "unknown"

    def _rank(self, targets: Sequence[str], surface: str) -> tuple[str, ...]:
        named = {self.found.new.concept_ids[row] for row in self.found.new.concepts_named(surface)}
        return tuple(sorted(targets, key=lambda each: each not in named))


def _fate_of(found: Replacement) -> Fate:
    if found.change == "kept":
        return Fate(found.id, "kept", found.id, why="current id")
    if found.change == "moved":
        return Fate(found.id, "moved", found.targets[0], why=found.why)
    outcome: Outcome = "suggested" if found.targets else "unknown" if found.change == "unknown" else "dead"
    return Fate(found.id, outcome, found.id, found.targets, why=found.why)


def _relink(fate: Fate, choice: Choice) -> Fate:
    """Return the fate of an id after the choice among its candidates; an uncertain choice only orders the suggestions."""
    others = tuple(each for each in choice.ranked if each in fate.suggested)
    ranked = (*others, *(each for each in fate.suggested if each not in others))
    if not choice.is_certain:
        return replace(fate, suggested=ranked)
    why = f"{fate.why}; chosen in context"
    return Fate(fate.old, "relinked", ranked[0], ranked[1:], choice.confidence, why)


@dataclass(frozen=True)
class MigratedDocument:
    """A document with its new ids, and what became of every link. `moves` maps each replaced id to the new one.

    `moves` is None if two mentions with the same id got different ones.
    """

    document: Document
    records: tuple[LinkRecord, ...]
    moves: Mapping[str, str] | None

    @property
    def is_changed(self) -> bool:
        """True if an id was replaced."""
        return self.moves is None or bool(self.moves)


def migrate_document(document: Document, migrator: LinkMigrator, *, keep_old: bool = False) -> MigratedDocument:
    """Replace the ids of mentions and relations. With `keep_old`, a note of each changed mention has its old ids."""
    fates = migrator.decide_mentions(document)
    found: dict[str, dict[str, Fate]] = {}
    for own in fates:
        for fate in own:
            found.setdefault(fate.old, {}).setdefault(fate.new, fate)
    clear = {old: next(iter(new.values())) for old, new in found.items() if len(new) == 1}
    arguments = [_decide_arguments(relation, migrator, clear, found) for relation in document.relations]
    mentions = tuple(_move(*each, keep_old=keep_old) for each in zip(document.mentions, fates, strict=True))
    relations = tuple(_move_arguments(*each) for each in zip(document.relations, arguments, strict=True))
    pairs = {(fate.old, fate.new) for each in (*fates, *arguments) for fate in each if fate and fate.old != fate.new}
    is_clear = all(len(new) == 1 for new in found.values()) and len(dict(pairs)) == len(pairs)
    changed = replace(document, mentions=mentions, relations=relations) if pairs else document
    return MigratedDocument(changed, tuple(_list_records(document, fates, arguments)), dict(pairs) if is_clear else None)


def hold_back(migrated: MigratedDocument, old: Document, why: str) -> MigratedDocument:
    """Return the migration of a document that cannot be changed: it keeps its ids, and the new ones are suggestions."""
    records = tuple(replace(each, fate=_hold_back(each.fate, why)) for each in migrated.records)
    return MigratedDocument(old, records, {})


def _hold_back(fate: Fate, why: str) -> Fate:
    if fate.new == fate.old:
        return fate
    return Fate(
        fate.old, "suggested", fate.old, (fate.new, *fate.suggested), fate.confidence, f"{fate.why}; not changed: {why}"
    )


def _decide_arguments(
    relation: Relation, migrator: LinkMigrator, clear: Mapping[str, Fate], found: Mapping[str, Mapping[str, Fate]]
) -> tuple[Fate | None, ...]:
    """Return what becomes of each argument of a relation, like the mentions with its id; None if it is no concept id."""
    return tuple(
        clear.get(argument) or (migrator.decide(argument) if argument in found or migrator.is_concept(argument) else None)
        for _, argument in relation.arguments
    )


def _move(mention: Mention, fates: Sequence[Fate], *, keep_old: bool) -> Mention:
    new = tuple(dict.fromkeys(fate.new for fate in fates))
    if new == mention.concept_ids or all(fate.new == fate.old for fate in fates):
        return mention
    notes = _rename_notes(mention.notes, {fate.old: fate.new for fate in fates}, mention.type, new)
    if keep_old:
        notes = (*(note for note in notes if note[0] != OLD_ID), (OLD_ID, "|".join(mention.concept_ids)))
    return replace(mention, concept_ids=new, notes=notes)


def _rename_notes(notes: Notes, moves: Mapping[str, str], kind: str, new: tuple[str, ...]) -> Notes:
    """Replace the ids in the note that keeps an id column as written; drop the note if it then gives other ids."""
    renamed = []
    for key, value in notes:
        text = replace_ids(value, moves) if key == KEY else value
        if key != KEY or parse_ids(text, kind) == new:
            renamed.append((key, text))
    return tuple(renamed)


def _move_arguments(relation: Relation, fates: Sequence[Fate | None]) -> Relation:
    pairs = zip(relation.arguments, fates, strict=True)
    arguments = tuple((role, fate.new if fate else argument) for (role, argument), fate in pairs)
    return relation if arguments == relation.arguments else replace(relation, arguments=arguments)


def _list_records(
    document: Document, fates: Sequence[Sequence[Fate]], arguments: Sequence[Sequence[Fate | None]]
) -> Iterator[LinkRecord]:
    where = (document.source, document.ordinal, document.id)
    for mention, own in zip(document.mentions, fates, strict=True):
        yield from (LinkRecord(*where, "mention", mention.start, mention.end, fate) for fate in own)
    for each in arguments:
        yield from (LinkRecord(*where, "relation", None, None, fate) for fate in each if fate)
