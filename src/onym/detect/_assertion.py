"""What the sentence of a mention says of it: that it is absent, possible, past, conditional, or another person's (ConText).

A phrase such as `no evidence of` marks the mentions after it, one such as `was ruled out` those before it, up to the end of
the sentence, to a phrase that ends its scope (`but`, `because of`), or to a boundary: a semicolon, a list's number, the head
of a section. A longer phrase overrides what is inside it: `no increase` and `gram negative` negate nothing. A phrase inside
a mention is a part of its name.

One pass over the sentences that have mentions; time is linear in their length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import NamedTuple, get_args

from onym.detect._assertion_terms import BACKWARD, FORWARD, NOTHING, STOP
from onym.text.analysis import TextAnalysis, analysis_of
from onym.text.boundaries import words
from onym.types import AssertionMark, Document, LinkedDocument, Mention, Offsets

MARKS: tuple[AssertionMark, ...] = get_args(AssertionMark)
_FORWARD, _BACKWARD, _STOP = "forward", "backward", "stop"
Effect = tuple[AssertionMark, str]

_HEAD = r"(?<!\S)[A-Z][A-Za-z/&()'-]{0,30}+(?: [A-Z(][A-Za-z/&()'-]{0,30}+){0,5}+ ?:"
_BOUNDARY = re.compile(rf";|(?<!\w)[0-9]{{1,2}}\)(?=\s)|{_HEAD}")
_NUMBERS = frozenset(
    ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "several", "few", "couple")
)
_ALTERNATIVES = re.compile(r"\([^)]*\)|\S+")


class Cue(NamedTuple):
    """A phrase in the text, and what it does to mentions on either side; a boundary has no length."""

    start: int
    end: int
    effects: Sequence[Effect]

    def mirrored(self) -> Cue:
        """Return the cue as it stands in the text read backwards."""
        return Cue(-self.end, -self.start, self.effects)


class _Node:
    """The phrases that begin with the same words."""

    __slots__ = ("effects", "following")

    def __init__(self) -> None:
        self.following: dict[str, _Node] = {}
        self.effects: list[Effect] | None = None


_EVERYTHING_STOPS = [(mark, _STOP) for mark in MARKS]


def assertion_marks(document: Document) -> list[tuple[AssertionMark, ...]]:
    """Return the marks of each mention of a document. Of a mention across sentences, the first sentence is looked at.

    >>> text = "No fever, but a history of stroke. Mother had asthma."
    >>> found = [Mention(start, end, text[start:end]) for start, end in ((3, 8), (27, 33), (46, 52))]
    >>> assertion_marks(Document("1", text, tuple(found)))
    [('negated',), ('historical',), ('other-experiencer',)]
    """
    if not document.mentions:
        return []
    analysis = analysis_of(document)
    spans = [_sentence_of(mention, analysis) for mention in document.mentions]
    mentions: dict[Offsets, list[Mention]] = {}
    for span, mention in zip(spans, document.mentions, strict=True):
        mentions.setdefault(span, []).append(mention)
    sentences = {span: _Sentence(document.text, *span, inside) for span, inside in mentions.items()}
    return [sentences[span].marks_of(mention) for span, mention in zip(spans, document.mentions, strict=True)]


def with_assertion(linked: LinkedDocument) -> LinkedDocument:
    """Return a linked document whose links say what the text asserts of their mentions; nothing else changes."""
    mentions = tuple(link.mention for link in linked.links)
    marks = assertion_marks(replace(linked.document, mentions=mentions))
    links = tuple(replace(link, assertion=each) for link, each in zip(linked.links, marks, strict=True))
    return replace(linked, links=links)


def _sentence_of(mention: Mention, analysis: TextAnalysis) -> Offsets:
    """Return the sentence in which a mention begins; for one of white space alone, that may be none."""
    number = bisect_right(analysis.sentence_starts, mention.start) - 1
    return analysis.sentences[number] if number >= 0 else (mention.start, mention.start)


class _Sentence:
    """A sentence, and which parts of it are in the scope of which marks."""

    def __init__(self, text: str, start: int, end: int, mentions: Sequence[Mention]) -> None:
        phrases = _outside(_phrases(text, start, end), mentions)
        boundaries = (Cue(found.start(), found.start(), _EVERYTHING_STOPS) for found in _BOUNDARY.finditer(text, start, end))
        cues = sorted([*phrases, *boundaries])
        self._after = _scopes(cues, _FORWARD, end)
        self._before = _scopes([cue.mirrored() for cue in reversed(cues)], _BACKWARD, -start)

    def marks_of(self, mention: Mention) -> tuple[AssertionMark, ...]:
        """Return the marks of a mention, in the order of `MARKS`."""
        if not self._after and not self._before:
            return ()
        return tuple(
            mark for mark in MARKS if _is_in(self._after, mark, mention.start) or _is_in(self._before, mark, -mention.end)
        )


def _scopes(cues: Iterable[Cue], opening: str, end: int) -> dict[AssertionMark, list[Offsets]]:
    """Return the scopes of each mark, in order and apart from each other: from a phrase that opens one to what ends it."""
    found: dict[AssertionMark, list[Offsets]] = {}
    begun: dict[AssertionMark, int] = {}
    for cue in cues:
        for mark, effect in cue.effects:
            if effect == _STOP and mark in begun:
                found.setdefault(mark, []).append((begun.pop(mark), cue.start))
        for mark, effect in cue.effects:
            if effect == opening:
                begun.setdefault(mark, cue.end)
    for mark, start in begun.items():
        found.setdefault(mark, []).append((start, end))
    return found


def _is_in(scopes: Mapping[AssertionMark, Sequence[Offsets]], mark: AssertionMark, offset: int) -> bool:
    of_mark = scopes.get(mark, ())
    number = bisect_right(of_mark, offset, key=_start) - 1
    return number >= 0 and offset < of_mark[number][1]


def _start(span: Offsets) -> int:
    return span[0]


def _outside(cues: Sequence[Cue], mentions: Iterable[Mention]) -> Iterator[Cue]:
    """Yield the cues that are no part of a longer mention."""
    spans = {(cue.start, cue.end) for cue in cues}
    longer = iter(sorted((each.start, each.end) for each in mentions if (each.start, each.end) not in spans))
    following = next(longer, None)
    furthest = -1
    for cue in cues:
        while following and following[0] <= cue.start:
            furthest = max(furthest, following[1])
            following = next(longer, None)
        if cue.end > furthest:
            yield cue


def _phrases(text: str, start: int, end: int) -> list[Cue]:
    """Return the phrases of a sentence from left to right: at each word the longest, and the next one after its end."""
    spans = [(start + first, start + last) for first, last in words(text[start:end])]
    tokens = [_token(text[first:last]) for first, last in spans]
    cues: list[Cue] = []
    number = 0
    firsts = _lexicon().following
    while number < len(tokens):
        length, effects = _match(tokens, number) if tokens[number] in firsts else (0, ())
        if length:
            cues.append(Cue(spans[number][0], spans[number + length - 1][1], effects))
        number += length or 1
    return cues


def _token(word: str) -> str:
    low = word.lower()
    return "#" if low.isdecimal() or low in _NUMBERS else low


def _match(tokens: Sequence[str], first: int) -> tuple[int, Sequence[Effect]]:
    """Return how many words the longest phrase has that begins there, and what it does; 0 where none begins."""
    node, length = _lexicon(), 0
    effects: Sequence[Effect] = ()
    for count, token in enumerate(tokens[first : first + _MAX_WORDS], 1):
        after = node.following.get(token)
        if after is None:
            break
        node = after
        if node.effects is not None:
            length, effects = count, node.effects
    return length, effects


_MAX_WORDS = 8


@cache
def _lexicon() -> _Node:
    """Return the phrases by their words. A phrase also ends the scopes that shorter phrases inside it end."""
    effects: dict[tuple[str, ...], list[Effect]] = {}
    for effect, table in ((_FORWARD, FORWARD), (_BACKWARD, BACKWARD), (_STOP, STOP)):
        for mark, listed in table.items():
            for phrase in _iter_phrases(listed):
                effects.setdefault(phrase, []).append((mark, effect))
    root = _Node()
    for phrase, own in effects.items():
        parts = (effects.get(phrase[first:last], ()) for first, last in combinations(range(len(phrase) + 1), 2))
        stops = [each for part in parts for each in part if each[1] == _STOP]
        _node_of(root, phrase).effects = list(dict.fromkeys([*own, *stops]))
    for phrase in _iter_phrases(NOTHING):
        _node_of(root, phrase).effects = []
    return root


def _node_of(root: _Node, phrase: Iterable[str]) -> _Node:
    node = root
    for word in phrase:
        node = node.following.setdefault(word, _Node())
    return node


def _iter_phrases(listed: str) -> Iterator[tuple[str, ...]]:
    """Yield the phrases of a list.

    >>> list(_iter_phrases("denies; no (sign signs) of"))
    [('denies',), ('no', 'sign', 'of'), ('no', 'signs', 'of')]
    """
    for each in listed.split(";"):
        parts = _ALTERNATIVES.findall(each)
        if parts:
            yield from product(*(part.strip("()").split() for part in parts))
