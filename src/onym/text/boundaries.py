"""Splits text into words and sentences (non-empty code-point spans, in order), and aligns spans to brackets and spaCy tokens.

A word is a letter or digit and the letters, digits and combining marks that follow it. Any other visible character ends a word:
hyphens, apostrophes, primes, plus signs, slashes, full stops, underscores. So `IL-2` is `IL` and `2`, `5-HT2A` is `5` and
`HT2A`, `Na+/K+` is `Na` and `K`, and `p53` is one word. A mention can therefore end inside `paclitaxel-induced`. Invisible
characters (soft hyphen, joiners) do not end a word. In scripts without spaces, each run of the script is one word.

A sentence ends in three cases: at `.`, `?` or `!` before white space, except in abbreviations, numbers and the like; at the end
of a line that is shorter than necessary; and before a section heading. Sentences cover all text except white space.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING

from onym.types import Offsets

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span


def any_of(chars: Collection[str]) -> str:
    """Return a pattern that matches any one of the characters. `chars` must not be empty.

    Characters above U+FFFF are tested only after a range check. `re` looks up all other characters in a table, but compares
    those above U+FFFF one by one for every character of a text.

    >>> re.findall(any_of("b\U0001f9ec"), "abc\U0001f9ec")
    ['b', '🧬']
    """
    near = "".join(sorted(re.escape(char) for char in chars if char <= "\uffff"))
    far = "".join(sorted(char for char in chars if char > "\uffff"))
    pieces = [f"[{near}]"] if near else []
    if far:
        pieces.append(f"(?=[\U00010000-\U0010ffff])[{far}]")
    return f"(?:{'|'.join(pieces)})"


INVISIBLE = "\u00ad\u200c\u200d\u2060\ufeff"
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")

# Matches every punctuation mark; `_ends_sentence` decides later whether it ends a sentence. With a look-ahead here, a long
# run of marks would take quadratic time, because the pattern would be retried from each character.
_STOP = re.compile(r"[.!?\u2026][.!?\u2026)\]}\"'\u2019\u201d\u00bb]*|[\u3002\uff01\uff1f\uff61]+")
_FULL_WIDTH = "\u3002\uff01\uff1f\uff61"  # CJK marks, which are not followed by a space
_SPACES = re.compile(r"\s+")
_MAY_CROSS = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\uff61]|[^\S ]|\s[A-Z]")
_OPENING = "([{\"'\u2018\u201c\u00ab\u00bf\u00a1"
_ITEM = re.compile(r"\((?:[a-z](?:[,-][a-z])?|[ivx]{1,4}|[0-9]{1,2}|[+\u00b1-])\)")
_BRACKETS = re.compile(r"[()\[\]]")
_MAX_BRACKET = 500
_WRAPPED = range(50, 121)  # line widths that suggest hard-wrapped text, in characters
_HEAD = re.compile(
    r"(?<=\s)(?<![A-Z'\u2019,&/]\s)(?:AIMS?|APPROACH|BACKGROUND|CONCLUSIONS?|CONTEXT|DESIGN|DISCUSSION|EXPERIMENTAL |FINDINGS"
    r"|IMPORTANCE|INTERPRETATION|INTRODUCTION|KEY |LIMITATIONS|MAIN |MATERIALS?|MEASUREMENTS|METHODOLOGY|METHODS?|OBJECTIVES?"
    r"|OUTCOMES?|PARTICIPANTS|PATIENTS|PRINCIPAL |PURPOSE|RATIONALE|RESULTS?|SETTING|SIGNIFICANCE|STUDY |SUBJECTS|SUMMARY"
    r"|TRIAL |UNLABELLED)[A-Z ,&/()-]{0,60}+:(?=\s)"
)


def _split_words(several: str) -> frozenset[str]:
    return frozenset(several.split())


# Words before a full stop, in lower case. _GO_ON: the sentence never ends. _GO_ON_TO_NUMBER: it does not end before a number.
# _MAY_END: it ends only if the next word is in _STARTERS. _LABELLED: words followed by a letter, as in "hepatitis B".
_GO_ON = _split_words(
    "approx cf dr e.g eg eq eqs esp f.sp fig figs i.e ie mr mrs ms mt prof ref refs serov sect st subsp suppl ssp var viz vs"
)
_GO_ON_TO_NUMBER = _split_words(
    "art ca ch chap lett no nos nr p pp pt sec t tab vol x jan feb mar apr jun jul aug sep sept oct nov dec"
)
_MAY_END = _split_words("al co corp cv et etc gen inc jr ltd nn nom pv resp sp spp sr str v")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_STARTERS = _split_words(
    "A After All Although Among An And Animals Another As At Because Both But By Cells Compared Conversely Data Despite Due "
    "During Each Early Eight Evidence Examination Experiments Few Finally Findings Five For Four From Further Furthermore "
    "Given Hence Here How However If In Indeed Interestingly It Its Like Many Measurements Methods Mice Moreover More Most "
    "Nine No None Nor Not Of On Once One Only Other Our Overall Patients Previous Rats Recent Recently Results Seven Several "
    "She Similar Similarly Since Six Some Studies Such Ten That The Their Then There Therefore These They This Those Three "
    "Though Through Thus To Together Treatment Two Under Unlike Until Using We What When Where Whereas Whether Which While "
    "With Within Without Yet"
)
_LABELLED = _split_words(
    "appendix case category cluster complex factor grade group haemophilia hemophilia hepatitis influenza phase protein series "
    "stage subtype table type vitamin"
)
_BEFORE = re.compile(r"[^\s(\[{\"'\u2018\u201c\u2013\u2014]*\Z")
_ITEM_NUMBER = re.compile(r"[0-9]{1,3}|[IVXL]+")
_REST_OF_NUMBER = re.compile(r"[0-9]{1,4}[%)]")
_FIRST_WORD = re.compile(r"[^\W_]{0,20}")
_FIRST_PIECE = re.compile(r"\S{0,20}")


def words(text: str) -> list[Offsets]:
    """Return the span of every word.

    >>> text = "IL-2 and \\u03b2-actin"
    >>> [text[start:end] for start, end in words(text)]
    ['IL', '2', 'and', 'β', 'actin']
    """
    pattern = _ASCII_WORD if text.isascii() else _any_word()
    return [found.span() for found in pattern.finditer(text)]


def sentences(text: str) -> list[Offsets]:
    """Return the span of every sentence, without the white space around it.

    >>> text = "E. coli grew (Fig. 2). It was 0.5 mM, i.e. enough."
    >>> [text[start:end] for start, end in sentences(text)]
    ['E. coli grew (Fig. 2).', 'It was 0.5 mM, i.e. enough.']
    """
    spans: list[Offsets] = []
    start_of_sentence = 0
    for cut in (*sorted({*_line_cuts(text), *_head_cuts(text), *_stop_cuts(text)}), len(text)):
        piece = text[start_of_sentence:cut]
        start = start_of_sentence + len(piece) - len(piece.lstrip())
        end = start_of_sentence + len(piece.rstrip())
        if start < end:
            spans.append((start, end))
        start_of_sentence = cut
    return spans


def may_cross_sentences(surface: str) -> bool:
    """Return False if a text span certainly lies within one sentence. This is fast, because it needs no sentence splitting.

    A sentence can begin only after an end mark, on a new line, or with an upper-case heading. The span must begin with a word.

    >>> may_cross_sentences("heart attack"), may_cross_sentences("fever. Attack"), may_cross_sentences("pain RESULTS")
    (False, True, True)
    """
    return _MAY_CROSS.search(surface) is not None


@cache
def _any_word() -> re.Pattern[str]:
    """Compile the pattern of a word in any script; `re` has no character class for combining marks."""
    chars = map(chr, range(0x300, sys.maxunicode + 1))  # as a list they would take 100 MB
    mark = any_of([char for char in chars if unicodedata.category(char)[0] == "M"])
    run = rf"[^\W_](?:[^\W_]|{mark})*+"
    return re.compile(rf"{run}(?:[{INVISIBLE}]++{run})*+")


def _line_cuts(text: str) -> Iterator[int]:
    """Yield the ends of lines that end a sentence: the first word of the next line would have fitted on the line."""
    lines = text.splitlines(keepends=True)
    widths = [len(line.rstrip()) for line in lines]
    width = max(widths, default=0)
    start_of_sentence = 0
    for number, line in enumerate(lines[:-1]):
        start_of_sentence += len(line)
        if widths[number] or (number and widths[number - 1]):  # cut only at the first of several empty lines
            following = _FIRST_PIECE.match(lines[number + 1].lstrip())
            needed = len(following.group()) + 1 if following and following.group() else width
            if width not in _WRAPPED or not widths[number] or widths[number] + needed <= width:
                yield start_of_sentence


def _head_cuts(text: str) -> Iterator[int]:
    return (found.start() for found in _HEAD.finditer(text))


def _stop_cuts(text: str) -> Iterator[int]:
    """Yield the offsets after the marks that end a sentence."""
    brackets = _brackets(text)
    inside = next(brackets, None)
    start_of_sentence = 0
    for found in _STOP.finditer(text):
        start, end = found.span()
        while inside and inside[1] <= end:
            inside = next(brackets, None)
        if inside and inside[0] < end:
            continue
        if text[start] in _FULL_WIDTH or _ends_sentence(text, start_of_sentence, start, end):
            yield end
            start_of_sentence = end


def _brackets(text: str) -> Iterator[Offsets]:
    """Yield the outermost pairs of brackets of at most `_MAX_BRACKET` characters, in order."""
    open_brackets: list[int] = []
    pairs: list[Offsets] = []
    for found in _BRACKETS.finditer(text):
        if found.group() in "([":
            open_brackets.append(found.start())
        elif open_brackets and text[open_brackets[-1]] == ("(" if found.group() == ")" else "["):
            pair = open_brackets.pop(), found.end()
            if pair[1] - pair[0] <= _MAX_BRACKET:
                while pairs and pairs[-1][0] > pair[0]:
                    pairs.pop()
                pairs.append(pair)
    return iter(pairs)


def _ends_sentence(text: str, start_of_sentence: int, start: int, end: int) -> bool:
    """Return whether the marks `text[start:end]` end the sentence that begins at `start_of_sentence`."""
    gap = _SPACES.match(text, end)
    if gap is None:
        return end == len(text)
    following = gap.end()
    if _ITEM.match(text, following):
        return True
    while following < len(text) and text[following] in _OPENING:
        following += 1
    if following == len(text) or not _may_begin(text, following):
        return following == len(text)
    if text[start] != "." or (end > start + 1 and text[end - 1] in ".?!"):  # "?", "!", or several marks such as "?!"
        return True
    before = _BEFORE.search(text, max(start_of_sentence, start - 24), start)
    if before is None or before.start() == start:  # a full stop between spaces, as in "ml . kg-1"
        return not text[following].islower()
    return _may_finish(text, start_of_sentence, before.start(), start, following, is_open=gap.end() == following)


def _may_begin(text: str, offset: int) -> bool:
    """Return whether a sentence may begin at `offset`: not with lower case, except for names such as `p53` and `c-Myc`."""
    char = text[offset]
    if not char.islower() or not char.isascii():
        return char not in ",;:)]}%=<>+/"
    piece = _FIRST_PIECE.match(text, offset)
    return piece is not None and any(other.isupper() or other.isdigit() for other in piece.group())


def _may_finish(text: str, start_of_sentence: int, start: int, end: int, following: int, *, is_open: bool) -> bool:
    """Return whether the word `text[start:end]`, followed by a full stop, may be the last word of a sentence."""
    word = text[start:end]
    low = word.lower()
    if _ITEM_NUMBER.fullmatch(word) and _is_item(text, start_of_sentence, start, word):
        return False
    if word.isdecimal() and (_REST_OF_NUMBER.match(text, following) or (word == "0" and text[following].isdecimal())):
        return False  # "2. 3%" and "0. 5" are numbers with a stray space
    if low in _GO_ON or (low in _GO_ON_TO_NUMBER and text[following].isdecimal()):
        return False
    if low in _MAY_END or _DOTTED.fullmatch(word):
        return is_open and _is_starter(text, following)
    if len(word) == 1 and word.isalpha() and word.isupper():
        label = text[max(start_of_sentence, start - 24) : start].split()
        return (bool(label) and label[-1].lower() in _LABELLED) or (is_open and _is_starter(text, following))
    return True


def _is_starter(text: str, offset: int) -> bool:
    found = _FIRST_WORD.match(text, offset)
    return found is not None and found.group() in _STARTERS and not text.startswith(".", found.end())


def _is_item(text: str, start_of_sentence: int, start: int, number: str) -> bool:
    """Return whether a number is the label of a list item, as in "2. We found" or "we conclude: 1. The"."""
    if number in ("1", "I") and text[max(start_of_sentence, start - 24) : start].rstrip().endswith(":"):
        return True
    return not text[start_of_sentence:start].strip()


_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))
_ANY = frozenset("()[]{}")


def is_balanced(text: str) -> bool:
    """Return whether a text has as many closing as opening brackets of each kind."""
    return _ANY.isdisjoint(text) or all(text.count(opening) == text.count(closing) for opening, closing in _PAIRS)


def close_brackets(text: str, start: int, end: int) -> Offsets | None:
    """Add a missing closing bracket to a span if it directly follows the span; return None if brackets stay unbalanced.

    >>> text = "poly(ADP-ribose) and (G6PD) deficiency"
    >>> close_brackets(text, 0, 15), close_brackets(text, 22, 38), close_brackets(text, 5, 15)
    ((0, 16), None, (5, 15))
    """
    surface = text[start:end]
    if is_balanced(surface):
        return start, end
    if text[end : end + 1] in _ANY and is_balanced(text[start : end + 1]):
        return start, end + 1
    return None


class WholeTokens:
    """Maps character spans to the spaCy tokens that cover them. `doc.char_span` is slower: it builds tokens at each call.

    >>> import spacy
    >>> tokens = WholeTokens(spacy.blank("en")("Hyperthermia is fever."))
    >>> tokens.span(5, 18).text, tokens.span(12, 13).text
    ('Hyperthermia is fever', 'Hyperthermia')
    """

    def __init__(self, doc: Doc) -> None:
        from spacy.tokens import Span

        self._span = Span
        columns = doc.to_array(["IDX", "LENGTH"])
        self._doc, self._starts, self._ends = doc, columns[:, 0].tolist(), columns.sum(axis=1).tolist()

    def span(self, start: int, end: int, label: str = "", kb_id: str = "", span_id: str = "") -> Span:
        """Return the tokens that overlap `start:end`; if the span has only white space, return the token before it."""
        after = bisect_left(self._starts, end)
        first = min(bisect_right(self._ends, start), after - 1)
        return self._span(self._doc, first, after, label, None, None, kb_id, span_id)
