"""Applies corrections: removes and adds mentions before linking, and replaces answers after it.

Of several rules for a mention, that of its place holds, then that of the document, then that of the expansion, then "always".
A rule for "always" never holds for an abbreviation that the document defines. Linkers see the mentions that are left, but not
what the rules say that they mean.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from onym.corrections.rules import CASE_SENSITIVE_BELOW, NOT_A_MENTION, Rule, RuleScope, surface_key
from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.text.analysis import analyse, analysis_of
from onym.text.normal import normal_name
from onym.types import Candidate, Document, Link, Mention

STAGE = "correction"
"""The stage of a corrected link."""
_WORD = re.compile(r"\w+")
_CACHE_SIZE = 100_000
_DIGITS = 16  # of a digest that are compared
_SHOWN = 5  # maximum number of lines named in an error
_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A mention to link. `score` is the detector's; None if the mention was annotated or added by a rule.

    `rule` is the rule of the corrections that holds for the mention, if there is one.
    """

    mention: Mention
    score: float | None = None
    rule: Rule | None = None

    def at(self, text: str) -> Found:
        """Return a copy whose mention has the characters of another text of the same length."""
        mention = self.mention
        surface = text[mention.start : mention.end]
        return self if surface == mention.surface else replace(self, mention=replace(mention, surface=surface))


class Corrections:
    """Rules that were checked against a knowledge base. `made_with` is the digest of the one that they were made with.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> corrections = Corrections([Rule("MI", "mesh:D006973")], kb)
    >>> doc = Document("1", "No MI.", (Mention(3, 5, "MI"),))
    >>> corrections.find(doc, doc.mentions[0]).meaning
    'mesh:D006973'
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        kb: KnowledgeBase,
        *,
        case_sensitive_below: int = CASE_SENSITIVE_BELOW,
        made_with: str = "",
        where: str = "",
    ) -> None:
        self.kb, self.made_with, self.case_sensitive_below = kb, made_with, case_sensitive_below
        self._key = lru_cache(_CACHE_SIZE)(lambda surface: surface_key(surface, case_sensitive_below))
        self.rules = _resolve(rules, kb, where)
        self._by_key: dict[_Key, Rule] = {}
        for rule in self.rules:
            self._add(rule, where)
        self._surfaces = {key for _, key, *_ in self._by_key}
        self._bound = {rule.document for rule in self.rules if rule.digest}
        self._added = _AddedPhrases([rule for rule in self._by_key.values() if rule.add and rule.scope is not RuleScope.SPAN])
        self._by_document: dict[str, list[Rule]] = {}
        for rule in self._by_key.values():
            if rule.add and rule.scope is RuleScope.SPAN:
                self._by_document.setdefault(rule.document, []).append(rule)

    @property
    def digest(self) -> str:
        """Digest of what the rules say, whatever their order, authors and comments are."""
        said = sorted(repr([getattr(rule, name) for name in _SAID]) for rule in self._by_key.values())
        return hashlib.sha256("\n".join([str(self.case_sensitive_below), *said]).encode()).hexdigest()[:16]

    @property
    def warning(self) -> str | None:
        """A warning if the rules were made with another knowledge base; else None."""
        if self.made_with in ("", self.kb.digest):
            return None
        return "the corrections were made with another knowledge base; ids may mean something else in this one"

    def describe(self) -> dict[str, Any]:
        """Return the record of the corrections in the source of links."""
        return {"rules": len(self._by_key), "digest": self.digest}

    def find(self, document: Document, mention: Mention) -> Rule | None:
        """Return the rule that holds for a mention, or None."""
        key = self._key(mention.surface)
        if key not in self._surfaces:
            return None
        digests = (_digest_of(document.text), "") if document.id in self._bound else ("",)
        for name in (
            *((RuleScope.SPAN, key, document.id, digest, mention.start, mention.end) for digest in digests),
            *((RuleScope.DOCUMENT, key, document.id, digest) for digest in digests),
        ):
            if rule := self._by_key.get(name):
                return rule
        long = analysis_of(document).abbreviations.expand(mention.surface)
        if long is None:
            return self._by_key.get((RuleScope.ALWAYS, key))
        return self._by_key.get((RuleScope.EXPANSION, key, normal_name(long)))

    def correct_mentions(self, document: Document, found: Sequence[Found], *, is_detected: bool) -> list[Found]:
        """Return mentions with their rules. If they were detected, mentions are removed and added as the rules say."""
        document = analyse(document)  # once for all rules about abbreviations
        kept = [replace(each, rule=self.find(document, each.mention)) for each in found]
        if not is_detected:
            return kept
        kept = [each for each in kept if each.rule is None or each.rule.meaning != NOT_A_MENTION]
        return self._add_missed(document, kept)

    def correct_link(self, link: Link, rule: Rule, only: ConceptMask | None = None) -> Link:
        """Return a link with the answer of a rule; with `only`, other concepts are left unlinked as with any answer."""
        if not rule.is_concept:
            return replace(link, stage=STAGE, confidence=None, nil_reason="corrected")
        row = self.kb.concept_ids.find(rule.meaning)
        preferred, group = self.kb.label_of(row)
        candidate = Candidate(rule.meaning, normal_name(link.mention.surface), 1.0, preferred, group)
        reason = None if only is None or only[row] else "filtered-out"
        return replace(link, candidates=(candidate,), tied=0, stage=STAGE, confidence=None, nil_reason=reason)  # type: ignore[arg-type]

    def explain_rule(self, rule: Rule) -> str:
        """Say which rule gave the answer for a mention."""
        line = f", line {rule.line} of the corrections" if rule.line else ""
        return f"a correction ({rule.scope.label}{line})"

    def _add(self, rule: Rule, where: str) -> None:
        """Add a rule to the index; raise InputError if it contradicts another one."""
        key = self._key(rule.surface)
        digest = rule.digest[:_DIGITS]
        name: _Key = {
            RuleScope.SPAN: (RuleScope.SPAN, key, rule.document, digest, rule.start, rule.end),
            RuleScope.DOCUMENT: (RuleScope.DOCUMENT, key, rule.document, digest),
            RuleScope.EXPANSION: (RuleScope.EXPANSION, key, normal_name(rule.expansion)),
            RuleScope.ALWAYS: (RuleScope.ALWAYS, key),
        }[rule.scope]
        other = self._by_key.setdefault(name, rule)
        if other.meaning != rule.meaning:
            what = f"two rules contradict each other, in lines {other.line} and {rule.line}"
            raise InputError("corrections-contradict", what, where=where, fix="remove one of them, or narrow it to a document")
        if rule.add and not other.add:
            self._by_key[name] = rule

    def _add_missed(self, document: Document, kept: list[Found]) -> list[Found]:
        """Add the mentions of rules that say so. A longer mention replaces those inside it; other overlaps are left."""
        added: list[Found] = []
        free = _FreePlaces(len(document.text), [each.mention for each in kept])
        for mention, rule in sorted(self._find_missed(document), key=lambda each: each[0].start - each[0].end):
            if free.take(mention):
                added.append(Found(mention, rule=rule))
        if not added:
            return kept
        left = [each for each in kept if not free.is_taken(each.mention)]
        return sorted([*left, *added], key=lambda each: (each.mention.start, each.mention.end))

    def _find_missed(self, document: Document) -> Iterator[tuple[Mention, Rule]]:
        """Yield the mentions that rules may add, with the rule that holds for each."""
        spans = [(rule.start or 0, rule.end or 0) for rule in self._by_document.get(document.id, ())]
        for start, end in dict.fromkeys([*spans, *self._added.find(document.text)]):
            surface = document.text[start:end]
            if len(surface) == end - start:
                mention = Mention(start, end, surface)
                rule = self.find(document, mention)
                if rule is not None and rule.add:
                    yield mention, rule


class _FreePlaces:
    """The places of a text where a mention can be added: it may replace shorter mentions inside it, but cross none.

    Marks characters, so that each mention is looked at once, however many there are.
    """

    def __init__(self, length: int, mentions: Iterable[Mention]) -> None:
        self._taken, self._inside = bytearray(length), bytearray(length + 1)  # by added mentions; offsets inside a mention
        self._spans = set()
        for mention in mentions:
            self._spans.add((mention.start, mention.end))
            self._inside[mention.start + 1 : mention.end] = b"\1" * (mention.end - mention.start - 1)

    def take(self, mention: Mention) -> bool:
        """Add a mention if its place is free, and return whether it was."""
        start, end = mention.start, mention.end
        if self._inside[start] or self._inside[end] or (start, end) in self._spans or self._taken.find(1, start, end) >= 0:
            return False
        self._taken[start:end] = b"\1" * (end - start)
        return True

    def is_taken(self, mention: Mention) -> bool:
        """Return whether an added mention replaces a mention."""
        return bool(self._taken[mention.start])


class _AddedPhrases:
    """Finds the places in a text that may have the surface of a rule, by its words in lower case."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._phrases = {tuple(word.lower() for word in _WORD.findall(rule.surface)) for rule in rules} - {()}
        self._lengths: dict[str, set[int]] = {}  # of the phrases that begin with a word
        for words in self._phrases:
            self._lengths.setdefault(words[0], set()).add(len(words))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each place."""
        words = [word.lower() for word in _WORD.findall(text)] if self._phrases else []
        if self._lengths.keys().isdisjoint(words):
            return
        found = list(_WORD.finditer(text))
        for at, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                if at + length <= len(words) and tuple(words[at : at + length]) in self._phrases:
                    yield found[at].start(), found[at + length - 1].end()


_SAID = [each.name for each in fields(Rule) if each.name not in ("author", "comment", "line")]


@lru_cache(64)
def _digest_of(text: str) -> str:
    """Return the start of the SHA-256 of a text, to which a rule can be bound."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _resolve(rules: Iterable[Rule], kb: KnowledgeBase, where: str) -> tuple[Rule, ...]:
    """Return the rules with the ids of the knowledge base; raise InputError if it does not have one of them."""
    found, unknown = [], []
    for rule in rules:
        if not rule.is_concept:
            found.append(rule)
            continue
        rows = kb.resolve(rule.meaning)
        if len(rows) == 1:
            found.append(replace(rule, meaning=kb.concept_ids[rows[0]]))
        else:
            unknown.append(rule.line)
    if unknown:
        more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
        what = f"no concept, or several, have the ids in lines {', '.join(map(str, unknown[:_SHOWN]))}{more}"
        raise InputError("corrections-unknown", what, where=where, fix="find the ids with onym kb search, or drop these rules")
    return tuple(found)
