"""End-to-end errors by kind, the most frequent first.

| kind | a mention is |
|---|---|
| `missed` | a gold mention that no predicted mention overlaps |
| `unlinked` | a gold mention that was found, but left without a concept |
| `wrong concept` | a gold mention that was found and linked to another concept |
| `wrong span` | a gold mention whose concept was predicted at another, overlapping span; right under the partial protocols |
| `spurious` | a linked mention that overlaps no gold mention |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from onym.evaluate.cases import CanonicalId, Ids
from onym.evaluate.mistakes import NamedConcepts
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name
from onym.types import Document, Mention

KINDS = ("missed", "unlinked", "wrong concept", "wrong span", "spurious")


@dataclass(frozen=True, slots=True)
class EndToEndMistake:
    """An error and how often it was made; `gold` and `predicted` are empty where that side has no mention."""

    kind: str
    count: int
    surface: str = field(repr=False)
    gold: NamedConcepts = field(repr=False)
    predicted_surface: str = field(repr=False)
    predicted: NamedConcepts = field(repr=False)


@dataclass(frozen=True, slots=True)
class EndToEndMistakes:
    """How many errors of each kind were made, and the most frequent ones of each kind."""

    counts: dict[str, int]
    commonest: tuple[EndToEndMistake, ...]

    def of_kind(self, kind: str) -> list[EndToEndMistake]:
        """Return the most frequent errors of a kind."""
        return [mistake for mistake in self.commonest if mistake.kind == kind]


def find_mistakes(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    kb: KnowledgeBase,
    canonical: CanonicalId = str,
    *,
    limit: int = 20,
) -> EndToEndMistakes:
    """Compare predicted documents with the gold ones, in the same order; keep `limit` errors of each kind.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> gold = Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),))
    >>> mistakes = find_mistakes([gold], [Document("1", "high fever")], kb)
    >>> mistakes.counts["missed"], mistakes.commonest[0].gold.names
    (1, ('Fever',))
    """
    groups: dict[_Key, list[_Error]] = {}
    for gold_doc, predicted_doc in zip(gold, predicted, strict=True):
        for error in _errors(_linked(gold_doc.mentions, canonical), _linked(predicted_doc.mentions, canonical)):
            groups.setdefault(error.key, []).append(error)
    counts = dict.fromkeys(KINDS, 0)
    frequent: list[EndToEndMistake] = []
    for kind in KINDS:
        own = sorted(
            ((key, errors) for key, errors in groups.items() if key[0] == kind), key=lambda item: (-len(item[1]), item[0])
        )
        counts[kind] = sum(len(errors) for _, errors in own)
        frequent += [_mistake(errors, kb) for _, errors in own[:limit]]
    return EndToEndMistakes(counts, tuple(frequent))


_Key = tuple[str, str, tuple[str, ...], str, tuple[str, ...]]
_Linked = tuple[Mention, Ids]


@dataclass(frozen=True, slots=True)
class _Error:
    kind: str
    gold: _Linked | None
    predicted: _Linked | None

    @property
    def key(self) -> _Key:
        """What errors have in common that are counted together."""
        gold, predicted = _key(self.gold), _key(self.predicted)
        return self.kind, *gold, *predicted


def _key(linked: _Linked | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if linked is None else (normal_name(linked[0].surface), tuple(sorted(linked[1])))


def _linked(mentions: Iterable[Mention], canonical: CanonicalId) -> list[_Linked]:
    return [(mention, frozenset(map(canonical, mention.concept_ids))) for mention in mentions]


def _errors(gold: list[_Linked], predicted: list[_Linked]) -> Iterator[_Error]:
    gold = [each for each in gold if each[1]]
    for one in gold:
        overlapping = [each for each in predicted if _overlap(one[0], each[0]) > 0]
        if kind := _kind(one, overlapping):
            best = max(overlapping, key=lambda each: (bool(each[1]), _overlap(one[0], each[0])), default=None)
            yield _Error(kind, one, best)
    for each in predicted:
        if each[1] and not any(_overlap(each[0], one[0]) > 0 for one in gold):
            yield _Error("spurious", None, each)


def _kind(gold: _Linked, overlapping: list[_Linked]) -> str:
    """Return the kind of error made with a gold mention; empty where it is strictly right."""
    mention, ids = gold
    at_span = [each for other, each in overlapping if (other.start, other.end) == (mention.start, mention.end)]
    if ids <= frozenset().union(*at_span):
        return ""
    if not overlapping:
        return "missed"
    predicted_ids: Ids = frozenset().union(*(each for _, each in overlapping))
    if not predicted_ids:
        return "unlinked"
    return "wrong span" if ids <= predicted_ids else "wrong concept"


def _overlap(one: Mention, other: Mention) -> int:
    return min(one.end, other.end) - max(one.start, other.start)


def _mistake(errors: list[_Error], kb: KnowledgeBase) -> EndToEndMistake:
    first = errors[0]
    return EndToEndMistake(
        kind=first.kind,
        count=len(errors),
        surface=first.gold[0].surface if first.gold else "",
        gold=NamedConcepts.of(sorted(first.gold[1]) if first.gold else (), kb),
        predicted_surface=first.predicted[0].surface if first.predicted else "",
        predicted=NamedConcepts.of(sorted(first.predicted[1]) if first.predicted else (), kb),
    )
