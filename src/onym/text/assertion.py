"""Assertion detection: marks mentions as negated, possible, historical, hypothetical or of another person (ConText).

A phrase such as `no evidence of` marks the mentions after it; a phrase such as `was ruled out` marks the mentions before it.
The scope of a phrase ends with the sentence, at a terminating phrase (`but`, `and presents`), or at a boundary: a semicolon, a
list number, a section heading, and for `negated` and `possible` a comma before a verb (`no fever, has asthma`). A line break of
a fixed line width does not end a sentence. Longer phrases take precedence over the phrases they contain, so `no increase` and
`gram negative` negate nothing. Phrases inside a mention are ignored.

One pass over the sentences with mentions, in linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import NamedTuple, get_args

from onym.text.analysis import analysis_of
from onym.text.boundaries import words
from onym.types import AssertionMark, Document, LinkedDocument, Mention, Offsets

# Relatives of the patient: a condition of a relative is not the patient's.
_RELATIVES = (
    "mother father parents brother brothers sister sisters sibling siblings son daughter aunt aunts uncle uncles cousin "
    "cousins nephew niece grandmother grandfather grandparent grandparents relatives"
)
_FOUND = "seen present identified found noted detected appreciated visualized visualised observed evident demonstrated"
_SAYS = "reports reported states stated says said notes noted noticed brought called thinks feels felt describes described"
# Verbs that begin a new statement after `and`, a pronoun or a comma: what follows no longer belongs to a negated list.
_PRESENTS = (
    "presents presented presenting reports reported reporting complains complained complaining developed develops suffers "
    "suffered admits admitted takes took"
)
_AND = f"and (he she it they i there is was are were has had have {_PRESENTS})"

FORWARD: dict[AssertionMark, str] = {
    "negated": """
        no; not; none; never; nor; neither; without; w o; cannot; can not; with no; no longer; rather than;
        (isn wasn aren weren doesn didn don hasn haven hadn couldn can won wouldn) t; deny; denies; denied; denying;
        mother denies; father denies; family denies; parents deny; declines; declined; negative for; negative of; neg for;
        free of; absence of; absent; lack of; lacks; lacked; lacking; unremarkable for; excludes; excluded;
        (has have he she we) ruled out; rules out; ruled out for; rules out for; ruled (him her them) out;
        rules (him her them) out;
        ruled (him her them) out for; rules (him her them) out for; ruled the patient out for; rules the patient out for;
        (fails failed failure) to (reveal show demonstrate identify); never (had developed); not have; not associated with;
        no (evidence sign signs suggestion indication findings finding) (of to for that); no history of; no h o; no hx of;
        no further (sign signs symptoms episode episodes evidence complaints bouts); no (patient patients);
        no (patient patients) with
    """,
    "possible": """
        possible; possibly; possibility of; probable; probably; likely; perhaps; presumed; presumably; presumptive; suspect;
        suspects; suspected; suspicious for; suspicion of; suspicion for; questionable; question of; worrisome for;
        concern for; concern of; concerning for; concerned about; may; might; could be; could represent; may represent;
        appears to be; suggests; suggesting; suggestive of; indicative of; differential diagnosis; low probability of;
        rule out; r o; to rule out; rule out for; rule (him her them) out for; rule the patient out for; exclude; to exclude;
        (be being) ruled out for; (should must can could may) be ruled out for; not rule out; not ruled out; not exclude;
        not excluded; cannot rule out; can not rule out; cannot exclude; can not exclude; evaluate for; evaluated for;
        evaluation for; (unclear uncertain unsure) (if whether); not (certain sure) (if whether)
    """,
    "historical": """
        history; history of; hx; hx of; h o; no history of; no h o; no hx of; past history; past medical history;
        past surgical history; pmh; pmhx; psh; social history; family history; family hx; previous; previously; prior; former;
        formerly; remote history of; status post; s p; in the past; last time; the last time
    """,
    "hypothetical": """
        if; unless; should (he she they you there the); in case; in case of; in the event of; as needed for; p r n for;
        prn for; return (for if with to); come back (for if with to); call (for if with); call also (for if); call for any;
        watch for; watch out for; monitor for; monitored for; precautions; to prevent; prevention of;
        prophylaxis (for against of); risk of; risks of; risk for; at risk for; at risk of
    """,
    "other-experiencer": f"""
        family history; family hx; fam hx; fh; fhx; ({_RELATIVES}); (wife husband partner spouse family) s; ({_RELATIVES}) s;
        (his her) family; runs in the family
    """,
}

BACKWARD: dict[AssertionMark, str] = {
    "negated": f"""
        (is was are were be been) ruled out; (has have) been ruled out; ruled out;
        (is was are were) (negative absent excluded denied); (tested tests) negative; (has have) resolved; resolved; absent;
        none; denied; unlikely; (is was are were) not ({_FOUND}); not ({_FOUND}); (isn wasn aren weren) t ({_FOUND});
        (has have) not been ({_FOUND})
    """,
    "possible": """
        (can must should could may) be ruled out; being ruled out; to be ruled out; not ruled out; not been ruled out;
        not excluded; did not rule out; (cannot could) be excluded; can not be excluded; could not be excluded;
        cannot be ruled out; can not be ruled out; (is was are were) (possible suspected likely questionable probable);
        less likely; in question
    """,
    "historical": """
        (week weeks month months year years) ago; # (week weeks month months year years) ago; in the past; in childhood;
        as a child; by history
    """,
    "hypothetical": "",
    "other-experiencer": f"in (his her the patient) ({_RELATIVES} family)",
}

STOP: dict[AssertionMark, str] = {
    "negated": f"""
        but; however; nevertheless; yet; though; although; still; except; except for; aside from; apart from; other than;
        which; who; whereas; secondary to; due to; because; because of; since; positive for;
        (cause causes source etiology origin reason) (of for); as a (cause reason etiology) (of for); trigger event for;
        other possibilities of; as (he she it they); {_AND}; (he she they) ({_PRESENTS}); admits to; endorses;
        patient (is was has had remained remains {_PRESENTS}); (patients subjects women men children adults individuals) with;
        (patients subjects women men children adults individuals) with and without
    """,
    "possible": f"""
        but; however; nevertheless; yet; though; although; still; except; aside from; apart from; which; who; whereas;
        secondary to; due to; because; because of; since; {_AND}
    """,
    "historical": """
        presents; presented; presenting; complains; complained; complaining; currently; today; now; states; reports; reported;
        noted; was found; recent; new; here; developed; admitted; came in; emergency department; ed; but; however; who; which;
        because; since
    """,
    "hypothetical": "but; however; although; which; because; because of; since; secondary to; due to",
    "other-experiencer": """
        patient; patient s; he; she; his; her; i; but; however; physical exam; social history; allergies
    """,
}

# Pseudo-phrases: they resemble or contain a phrase above, but assert nothing about nearby mentions.
NOTHING = f"""
    no (increase increased decrease change difference differences effect effects); no significant (increase decrease change);
    no (association correlation relationship improvement); no significant (association correlation improvement);
    no significant (changes difference differences effect effects);
    no (interval suspicious definite) change; no significant interval change; no statistically significant; no doubt;
    no further; no (synthase donor donors); not only; not necessarily; not cause; not drain; not extend; not change;
    not to mention; not (differ significantly statistically); not (affect alter influence); if not; without further;
    without any further; without difficulty; without contrast; with and without; gram negative; gram negatives;
    negative pressure; negative feedback; may #; (in of since during) may;
    history and (physical exam examination); history physical; history taking;
    history of present illness; history present illness; hpi; poor history; clinical history; patient history;
    natural history; life history; case history; # (hour hours day days week) history;
    # (hour hours day days week) history of; prior to; previous (study studies work report reports research);
    previously (reported described shown); determine if; determined if; to see if;
    (mother father family parents wife husband son daughter) ({_SAYS})
"""


MARKS: tuple[AssertionMark, ...] = get_args(AssertionMark)
_FORWARD, _BACKWARD, _STOP = "forward", "backward", "stop"
Effect = tuple[AssertionMark, str]

_HEAD = r"(?<!\S)[A-Z][A-Za-z/&()'-]{0,30}+(?: [A-Z(][A-Za-z/&()'-]{0,30}+){0,5}+ ?:"
_VERBS = rf"(?:has|had)(?! (?:not )?been\b| resolved\b)|(?:is )?known|started|{'|'.join(_PRESENTS.split())}"
_BOUNDARY = re.compile(rf";|(?<!\w)[0-9]{{1,2}}\)(?=\s)|(?P<statement>,)(?=\s(?:{_VERBS})\b)|{_HEAD}")
_NUMBERS = frozenset(
    ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "several", "few", "couple")
)
_ENDS = ".!?:;"  # characters at the end of a line after which the next line is another sentence
_GOES_ON = re.compile(r"(?:,|\b(?:and|or|nor|of|with|no|the|a|an|any|for))$", re.IGNORECASE)
_LONG_LINE = 50  # characters; notes are wrapped at 60 to 80
_ALTERNATIVES = re.compile(r"\([^)]*\)|\S+")


class Cue(NamedTuple):
    """A phrase in the text, and its effects on the mentions before and after it; a boundary is a cue of length 0."""

    start: int
    end: int
    effects: Sequence[Effect]

    def mirror(self) -> Cue:
        """Return the cue with negated offsets, for scanning the text backwards."""
        return Cue(-self.end, -self.start, self.effects)


class _Node:
    """A node of the phrase trie, whose edges are words."""

    __slots__ = ("effects", "following")

    def __init__(self) -> None:
        self.following: dict[str, _Node] = {}
        self.effects: list[Effect] | None = None


_EVERYTHING_STOPS = [(mark, _STOP) for mark in MARKS]
_LISTS_STOP: list[Effect] = [("negated", _STOP), ("possible", _STOP)]


def assertion_marks(document: Document) -> list[tuple[AssertionMark, ...]]:
    """Return the marks of each mention of a document. A mention in several sentences gets the marks of its first sentence.

    >>> text = "No fever, but a history of stroke. Mother had asthma."
    >>> found = [Mention(start, end, text[start:end]) for start, end in ((3, 8), (27, 33), (46, 52))]
    >>> assertion_marks(Document("1", text, tuple(found)))
    [('negated',), ('historical',), ('other-experiencer',)]
    """
    if not document.mentions:
        return []
    sentences = list(_iter_unwrapped(document.text, analysis_of(document).sentences))
    spans = [_sentence_of(mention, sentences) for mention in document.mentions]
    mentions: dict[Offsets, list[Mention]] = {}
    for span, mention in zip(spans, document.mentions, strict=True):
        mentions.setdefault(span, []).append(mention)
    marked = {span: _Sentence(document.text, *span, inside) for span, inside in mentions.items()}
    return [marked[span].marks_of(mention) for span, mention in zip(spans, document.mentions, strict=True)]


def with_assertion(linked: LinkedDocument) -> LinkedDocument:
    """Return a copy of the document with the assertion marks of its links set."""
    mentions = tuple(link.mention for link in linked.links)
    marks = assertion_marks(replace(linked.document, mentions=mentions))
    links = tuple(replace(link, assertion=each) for link, each in zip(linked.links, marks, strict=True))
    return replace(linked, links=links)


def _iter_unwrapped(text: str, sentences: Iterable[Offsets]) -> Iterator[Offsets]:
    """Yield the sentences, those joined that only a line break of a fixed line width divides.

    >>> text = "Denies chest pain or\\ndyspnea.\\nno fever\\nasthma"
    >>> [text[start:end] for start, end in _iter_unwrapped(text, [(0, 20), (21, 29), (30, 38), (39, 45)])]
    ['Denies chest pain or\\ndyspnea.', 'no fever', 'asthma']
    """
    joined: Offsets | None = None
    for start, end in sentences:
        if joined and text[start].islower() and _is_wrapped(text, *joined, start):
            joined = joined[0], end
        else:
            if joined:
                yield joined
            joined = start, end
    if joined:
        yield joined


def _is_wrapped(text: str, start: int, end: int, following: int) -> bool:
    """Return whether the line that ends a sentence goes on in the next line: it is long, or ends with a comma or an `and`.

    The short lines of a list do not go on.
    """
    line = text[max(start, text.rfind("\n", start, end) + 1) : end]
    goes_on = len(line) >= _LONG_LINE or _GOES_ON.search(line) is not None
    return goes_on and line[-1] not in _ENDS and text[end:following].strip(" \r") == "\n"


def _sentence_of(mention: Mention, sentences: Sequence[Offsets]) -> Offsets:
    """Return the sentence in which a mention begins; an empty span if the mention begins before the first sentence."""
    number = bisect_right(sentences, mention.start, key=_start) - 1
    return sentences[number] if number >= 0 else (mention.start, mention.start)


class _Sentence:
    """A sentence, and the scopes of the assertion marks in it."""

    def __init__(self, text: str, start: int, end: int, mentions: Sequence[Mention]) -> None:
        phrases = _outside(_phrases(text, start, end), mentions)
        cues = sorted([*phrases, *_boundaries(text, start, end)])
        self._after = _scopes(cues, _FORWARD, end)
        self._before = _scopes([cue.mirror() for cue in reversed(cues)], _BACKWARD, -start)

    def marks_of(self, mention: Mention) -> tuple[AssertionMark, ...]:
        """Return the marks of a mention, in the order of `MARKS`."""
        if not self._after and not self._before:
            return ()
        return tuple(
            mark for mark in MARKS if _is_in(self._after, mark, mention.start) or _is_in(self._before, mark, -mention.end)
        )


def _boundaries(text: str, start: int, end: int) -> Iterator[Cue]:
    for found in _BOUNDARY.finditer(text, start, end):
        yield Cue(found.start(), found.start(), _LISTS_STOP if found["statement"] else _EVERYTHING_STOPS)


def _scopes(cues: Iterable[Cue], opening: str, end: int) -> dict[AssertionMark, list[Offsets]]:
    """Return the disjoint scopes of each mark, in order: from an opening phrase to the next terminating phrase, or to `end`."""
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
    """Yield the cues that are not part of a longer mention; a cue with exactly the span of a mention is kept."""
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
    """Return the phrases of a sentence: greedy longest match from left to right."""
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
    """Return the length in words and the effects of the longest phrase that begins at `first`; length 0 if no phrase does."""
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
    """Build the trie of phrases. If a shorter phrase inside a phrase ends a scope, the longer phrase ends it too."""
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
    """Parse a phrase list: `;` separates phrases, parentheses enclose alternatives.

    >>> list(_iter_phrases("denies; no (sign signs) of"))
    [('denies',), ('no', 'sign', 'of'), ('no', 'signs', 'of')]
    """
    for each in listed.split(";"):
        parts = _ALTERNATIVES.findall(each)
        if parts:
            yield from product(*(part.strip("()").split() for part in parts))
