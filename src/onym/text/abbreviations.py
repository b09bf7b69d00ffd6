"""Finds abbreviations that a text defines, as in `odds ratio (OR)`, and expands them in the whole document.

    find_abbreviations     find definitions with Schwartz-Hearst candidates and stricter, Ab3P-like rules
    plain_schwartz_hearst  the published Schwartz-Hearst algorithm, as a baseline
    Abbreviations          map short forms to the long forms defined in a document

Uses only the text itself, without a model or a list of known abbreviations. Offsets count code points.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from onym.text._long_forms import (
    CLAUSE_WORDS,
    CUES,
    GREEK_NAMES,
    NEVER_SHORT,
    STOP_WORDS,
    STRATEGIES,
    Bracket,
    Layout,
    Region,
    Strategy,
    Word,
    first_word,
    initial,
    spelt_out,
    without_digits,
)
from onym.text.boundaries import is_balanced
from onym.types import Offsets, require_text


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """A short form and its long form, with the offsets of both.

    Offsets count code points, end exclusive: `text[long_start:long_end]` is `long`, and likewise for `short`.
    `strategy` names the rule that found the pair.
    """

    short: str = field(repr=False)  # not shown in the repr, to keep document text out of logs
    long: str = field(repr=False)
    short_start: int
    short_end: int
    long_start: int
    long_end: int
    strategy: str


_NEVER_IN_SHORT = frozenset("=<>%")
_MAX_LETTERS = 10
_MAX_SHORT = 25
_MAX_LONG = 300


def may_be_short(text: str) -> bool:
    """Return whether a text looks like a short form.

    >>> [may_be_short(text) for text in ("IFN-gamma", "PI 3-kinase", "[Ca2+]i", "n = 12", "group 2", "1998", "i.e.")]
    [True, True, True, False, False, False, False]
    """
    if not 0 < len(text) <= _MAX_SHORT or not (text[0].isalnum() or text[0] in "[(-+"):
        return False
    if not _NEVER_IN_SHORT.isdisjoint(text) or not is_balanced(text):
        return False
    if text.strip(".") in NEVER_SHORT or text in STOP_WORDS:
        return False
    return any(map(str.isalpha, text)) and _has_few_letters(text) and _may_be_words(text.split())


def _has_few_letters(text: str) -> bool:
    """Return whether a text has at most `_MAX_LETTERS` letters and digits; the name of a Greek letter counts as one."""
    letters = sum(map(str.isalnum, text))
    return letters <= _MAX_LETTERS or letters - sum(len(name) - 1 for name in GREEK_NAMES if name in text) <= _MAX_LETTERS


def _may_be_words(words: Sequence[str]) -> bool:
    """Return whether the words together look like a short form: `ED 16`, `PS beta G`, but not `group 2` or `pH 7.5`."""
    if len(words) == 1:
        return True
    first, last = words[0], words[-1]
    if first.islower() and len(first) > 3 and first not in GREEK_NAMES:
        return False
    if not any(map(str.isalpha, first)):
        return False
    if last.replace(".", "").isdigit() and not (first.isupper() and last.isdigit()):
        return False
    return len(words) == 2 or (len(words) == 3 and any(word in GREEK_NAMES for word in words))


Refusal = Callable[[str, str, Sequence[Word]], bool]
"""A check that returns True to reject a pair; called with the short form, the long form and the words of the long form."""


def _is_no_longer(short: str, long: str, _words: Sequence[Word]) -> bool:
    """Reject a long form that is too long, not longer than the short form, or only the plural of the short form."""
    return not len(short) < len(long) <= _MAX_LONG or (len(long) == len(short) + 1 and long.startswith(short))


def _holds_short(short: str, long: str, _words: Sequence[Word]) -> bool:
    """Reject a long form that contains the short form as a word."""
    return short in long.split()


def _is_variant(short: str, long: str, _words: Sequence[Word]) -> bool:
    """Reject a long form that is the short form plus a suffix, as in `Notch (NotchIC)`, because that is a different name."""
    return long.startswith(short) and len(long.split()) == 1 and not long[len(short) :].islower()


def _is_cut(_short: str, long: str, _words: Sequence[Word]) -> bool:
    """Reject a long form with unbalanced brackets."""
    return not is_balanced(long)


def _is_clause(_short: str, _long: str, words: Sequence[Word]) -> bool:
    """Reject a long form with a verb or a conjunction, because that is a clause, not a term."""
    return any(word.lower in CLAUSE_WORDS for word in words)


def _is_bare(_short: str, _long: str, words: Sequence[Word]) -> bool:
    """Reject a long form of only numbers, units and single letters."""
    return not any(sum(map(str.isalpha, word.raw)) > 2 for word in words)


def _begins_badly(_short: str, long: str, words: Sequence[Word]) -> bool:
    """Reject a long form whose first word is a stop word or a single lower-case letter, unless a hyphen follows: `c-Jun`."""
    first = words[0]
    is_weak = (first.lower in STOP_WORDS and first.raw != "A") or (len(first.raw) == 1 and first.raw.islower())
    follows = long[len(first.raw) : len(first.raw) + 1] if long.startswith(first.raw) else "-"
    return is_weak and follows != "-"


REFUSALS: tuple[Refusal, ...] = (_is_no_longer, _holds_short, _is_variant, _is_cut, _is_clause, _is_bare, _begins_badly)


def is_refused(short: str, long: str, words: Sequence[Word]) -> bool:
    """Return whether any check rejects this pair of short and long form."""
    return any(refusal(short, long, words) for refusal in REFUSALS)


_SEPARATOR = re.compile(r"[;,:]\s|\s(?:or|and)\s")
_ANNOUNCEMENT = re.compile("abbreviated", re.IGNORECASE)
_MAX_BRACKET = 300
_MAX_SHORT_OUTSIDE = 16
_MAX_TOKEN = 100  # maximum characters of the token before a bracket that may be a short form; keeps the run time linear


@dataclass(frozen=True, slots=True)
class ShortFormCandidate:
    """A possible short form, and the text from `start` to `end` in which to search for its long form.

    The long form ends at `end`; if `anchored`, it also begins at `start`. `siblings` are the other items in the bracket of
    the short form. If `tidy`, only the strictest rules are used.
    """

    short_start: int
    short_end: int
    start: int
    end: int
    anchored: bool = False
    tidy: bool = False
    siblings: tuple[str, ...] = ()


def candidates_of(layout: Layout, bracket: Bracket) -> Iterator[ShortFormCandidate]:
    """Yield the candidates in or next to a bracket, most likely first."""
    if bracket.end - bracket.start <= _MAX_BRACKET:
        items = _items(layout, bracket.start + 1, bracket.end)
        for find in (_long_before, _both_inside, _equation, _short_before):
            yield from find(layout, bracket, items)


def find_announced(layout: Layout) -> Iterator[ShortFormCandidate]:
    """Yield the candidates that follow `abbreviated as`, inside and outside of brackets."""
    for found in _ANNOUNCEMENT.finditer(layout.text):
        number = layout.word_before(found.start() + 1)
        if 0 < number < len(layout.words) - 1 and layout.words[number].lower == "abbreviated":
            after = number + 1
            if layout.words[after].lower in {"as", "to", "by"} and after + 1 < len(layout.words):
                after += 1
            before = number - 1
            if before and layout.words[before].lower in {"hereafter", "commonly", "often", "usually", "is", "was"}:
                before -= 1
            start, end = layout.words[after].start, layout.words[before].end
            token = layout.text[start : start + _MAX_SHORT_OUTSIDE].split()[0].rstrip(".,;:")
            yield ShortFormCandidate(start, start + len(token), layout.sentence_start(end), end)


def _long_before(layout: Layout, bracket: Bracket, items: list[Offsets]) -> Iterator[ShortFormCandidate]:
    """Yield short forms in a bracket after the long form: `odds ratio (OR)`, also `(OR; P < 0.05)`, `(EC 1.15.1.1; SOD)`."""
    begin = max(bracket.inside_of, layout.sentence_start(bracket.start))
    first, last = items[0], items[-1]
    spans = dict.fromkeys((first, (_after_cues(layout, *first), first[1])))
    if not may_be_short(layout.text[slice(*first)]):
        spans[last] = None
    for start, end in spans:
        if len(items) > 1 and layout.text[start:end].islower():
            continue  # not a short form, as in `(range, 1-19)` or `(with or without)`
        siblings = tuple(layout.text[slice(*item)] for item in items if item[1] != end)
        yield ShortFormCandidate(start, end, begin, bracket.start, tidy=layout.is_attached(bracket.start), siblings=siblings)


def _both_inside(_layout: Layout, bracket: Bracket, items: list[Offsets]) -> Iterator[ShortFormCandidate]:
    """Yield pairs in a bracket: `(blood-brain barrier, BBB)` and `(BBB, blood-brain barrier)`."""
    if len(items) > 1:
        yield ShortFormCandidate(*items[-1], bracket.start + 1, items[-2][1])
        yield ShortFormCandidate(*items[0], *items[1], anchored=True)


def _equation(layout: Layout, bracket: Bracket, _all: list[Offsets]) -> Iterator[ShortFormCandidate]:
    """Yield pairs joined by an equals sign: `(AI = artificial insemination)`, `(artificial insemination = AI)`."""
    sign = layout.text.find("=", bracket.start, bracket.end)
    if sign > 0:
        left = layout.trim(bracket.start + 1, sign)
        right = _items(layout, sign + 1, bracket.end)[0]
        yield ShortFormCandidate(*left, *right, anchored=True)
        yield ShortFormCandidate(*right, *left, anchored=True)


def _short_before(layout: Layout, bracket: Bracket, items: list[Offsets]) -> Iterator[ShortFormCandidate]:
    """Yield short forms before a bracket: `OR (odds ratio)`, `PAM (for PABP-interacting motif)`."""
    end = bracket.start
    while end > bracket.inside_of and layout.text[end - 1].isspace():
        end -= 1
    if end == bracket.inside_of:
        return
    start, end = layout.trim(max(bracket.inside_of, layout.token_start(end - 1), end - _MAX_TOKEN), end)
    short = layout.text[start : min(end, start + _MAX_SHORT_OUTSIDE + 1)]
    if 1 < len(short) <= _MAX_SHORT_OUTSIDE and short != short.lower():
        begin = _after_cues(layout, bracket.start + 1, bracket.end)
        for stop in dict.fromkeys((items[0][1], bracket.end)):
            yield ShortFormCandidate(start, end, begin, stop, anchored=True)


def _items(layout: Layout, start: int, end: int) -> list[Offsets]:
    """Split a span at commas, semicolons, colons, `or` and `and`."""
    items = []
    for found in _SEPARATOR.finditer(layout.text, start, end):
        items.append(layout.trim(start, found.start()))
        start = found.end()
    return [*items, layout.trim(start, end)]


def _after_cues(layout: Layout, start: int, end: int) -> int:
    """Return the start of a span after skipping introductory words such as `or` (`CUES`)."""
    number = layout.word_before(start) + 1
    while number < len(layout.words) and layout.words[number].end < end and layout.words[number].lower in CUES:
        number += 1
        start = layout.words[number].start if number < len(layout.words) else end
    return min(start, end)


# Schwartz and Hearst allow min(2n, n + 5) words for n letters. We allow 3 more, because we split hyphenated words.
_MORE_WORDS = 3
_MAX_ATTACHED = 80
_MAX_KEPT = 500
_Context = tuple[str, str, tuple[int, ...], tuple[str, ...]]
_OPENING = {"(": ")", "[": "]", "{": "}"}
_BREAKS = ("--", "\u2014", "\u2013", "/", ":", '"')
_NEGATIONS = ("anti-", "non-")


def find_abbreviations(text: str) -> list[Abbreviation]:
    """Return the abbreviations that a document defines, sorted by the offset of the short form.

    >>> text = "Body mass index (BMI) and odds ratio [OR] were noted; NO (nitric oxide) was not."
    >>> [(found.short, found.long) for found in find_abbreviations(text)]
    [('BMI', 'Body mass index'), ('OR', 'odds ratio'), ('NO', 'nitric oxide')]
    """
    require_text(text)
    layout = Layout(text)
    found: dict[int, Abbreviation] = {}
    undefined: set[_Context] = set()
    for bracket in layout.brackets:
        for candidate in candidates_of(layout, bracket):
            if definition := _definition(layout, candidate, undefined):
                found.setdefault(definition.short_start, definition)
                break  # at most one definition per bracket
    for candidate in find_announced(layout):
        if definition := _definition(layout, candidate, undefined):
            found.setdefault(definition.short_start, definition)
    return [found[start] for start in sorted(found)]


def _definition(layout: Layout, candidate: ShortFormCandidate, undefined: set[_Context]) -> Abbreviation | None:
    """Return the definition of a candidate, or None. `undefined` caches contexts in which no definition was found."""
    short = layout.text[candidate.short_start : candidate.short_end]
    if not may_be_short(short):
        return None
    letters = sum(map(str.isalnum, short))
    if letters == 1:
        return _one_letter(layout, candidate, short)
    region = layout.region(candidate.start, candidate.end, min(2 * letters, letters + 5) + _MORE_WORDS)
    if not region.words or not _may_be_spelt(short, region):
        return None
    if candidate.anchored and region.words[0] is not layout.words[layout.word_before(candidate.start) + 1]:
        return None
    context = _context(layout, candidate, short, region)
    if context in undefined:
        return None
    forms = _readings(short, region)
    definition = next((found for form in forms for found in _attempts(layout, candidate, form, region)), None)
    if definition is None and len(context[1]) < _MAX_KEPT:
        undefined.add(context)
    return definition


def _context(layout: Layout, candidate: ShortFormCandidate, short: str, region: Region) -> _Context:
    """Return the cache key of a search, with everything that affects its result. A candidate may occur thousands of times."""
    first = region.words[0].start
    begin = max(candidate.start, first - _MAX_ATTACHED - 1)
    text = layout.text[begin : min(candidate.end, begin + _MAX_KEPT)]
    shape = (first - begin, begin == candidate.start, len(region.words), region.near, candidate.anchored, candidate.tidy)
    return short, text, shape, candidate.siblings


def _readings(short: str, region: Region) -> list[str]:
    """Return the forms of a short form to try. If both forms look plural, the short form without its `s` comes first."""
    is_plural = len(short) > 2 and short.endswith("s") and not short[:-1].islower() and region.words[-1].lower.endswith("s")
    return [short[:-1], short] if is_plural else [short]


def _may_be_spelt(short: str, region: Region) -> bool:
    """Return False if no word has some letter of the short form: no rule can match. Skip `x`, which can match `cross`."""
    there = set().union(*map(spelt_out, region.words))
    return all(char in there or char == "x" for char in short.lower() if "a" <= char <= "z")


def _attempts(layout: Layout, candidate: ShortFormCandidate, short: str, region: Region) -> Iterator[Abbreviation]:
    """Yield the matches of all rules in the nearby words, then those of far-reaching rules across commas and asides."""
    is_far = region.near < len(region.words)
    if not (candidate.anchored and is_far):
        near = region.words[-region.near :]
        for strategy in STRATEGIES:
            yield from _attempt(layout, candidate, short, near, strategy)
    if is_far:
        for strategy in STRATEGIES:
            if strategy.reaches_far:
                yield from _attempt(layout, candidate, short, region.words, strategy)


def _attempt(
    layout: Layout, candidate: ShortFormCandidate, short: str, words: list[Word], strategy: Strategy
) -> Iterator[Abbreviation]:
    """Yield the matches of one rule."""
    if (candidate.tidy and not strategy.tidy) or (strategy.reading is without_digits and _has_siblings(candidate, short)):
        return
    for letters in strategy.reading(short):
        number = first_word(letters, words, strategy, anchored=candidate.anchored)
        if number is not None:
            start = _beginning(layout, candidate, words[number])
            start, end = layout.trim(start, candidate.end)
            while end > start and layout.text[end - 1] in ",;:":
                end -= 1
            long = layout.text[start:end]
            whole = layout.text[candidate.short_start : candidate.short_end]
            if not is_refused(whole, long, words[number:]):
                yield Abbreviation(whole, long, candidate.short_start, candidate.short_end, start, end, strategy.name)


def _has_siblings(candidate: ShortFormCandidate, short: str) -> bool:
    """Return whether the bracket has similar items, as in `(PLS-1 and PLS-2)`, where the long form names the whole family."""
    stem = short.rstrip("0123456789-").lower()
    return any(stem in item.lower() for item in candidate.siblings)


def _one_letter(layout: Layout, candidate: ShortFormCandidate, short: str) -> Abbreviation | None:
    """Match one letter to the word before it: `phosphorus (P)`. Do not match list items such as `(a)` or `(C, D)`."""
    number = layout.word_before(candidate.end)
    if number < 0 or candidate.anchored or candidate.tidy or not short.isalpha() or short in "abcdef":
        return None
    word = layout.words[number]
    is_before = word.start >= candidate.start and layout.text[word.end : candidate.end].isspace()
    is_item = any(len(item) == 1 and item.isalpha() for item in candidate.siblings)
    if not is_before or is_item or len(word.raw) < 4 or not initial(word, short.lower()):
        return None
    return Abbreviation(short, word.raw, candidate.short_start, candidate.short_end, word.start, word.end, "one-letter")


def _beginning(layout: Layout, candidate: ShortFormCandidate, word: Word) -> int:
    """Return the start of the long form, including a prefix attached to its first word, as in `1,10-phenanthroline`."""
    start = _type_before(layout, candidate, word)
    if start < word.start:
        return start
    start = max(candidate.start, layout.token_start(word.start))
    if word.start - start > _MAX_ATTACHED:
        return word.start
    attached = layout.text[start : word.start]
    for sign in _BREAKS:
        if sign in attached and not attached.startswith("(+"):
            start += attached.rfind(sign) + len(sign)
            attached = layout.text[start : word.start]
    if attached.lower() in _NEGATIONS:
        return word.start
    while attached and attached[0] in _OPENING and attached.count(attached[0]) > attached.count(_OPENING[attached[0]]):
        start += 1
        attached = attached[1:]
    return start


def _type_before(layout: Layout, candidate: ShortFormCandidate, word: Word) -> int:
    """Return the start of the word or, if it is a number or letter after `type`, of `type`, as in `type 2 NO synthase`."""
    number = layout.word_before(word.start)
    is_mark = word.raw.isdigit() or len(word.raw) == 1 or set(word.raw) <= set("IVX")
    if is_mark and number >= 0:
        before = layout.words[number]
        if before.lower == "type" and before.start >= candidate.start and before.end + 1 == word.start:
            return before.start
    return word.start


class Abbreviations:
    """The abbreviations of one document, for looking up the long form of a mention.

    >>> known = Abbreviations.from_text("Proton pump inhibitors (PPIs) reduce acid. A PPI is taken daily.")
    >>> known.expand("PPI")
    'Proton pump inhibitors'
    >>> known.expand("acid") is None
    True
    """

    def __init__(self, definitions: Iterable[Abbreviation]) -> None:
        self.definitions = tuple(definitions)
        self._exact: dict[str, Abbreviation] = {}
        self._folded: dict[str, Abbreviation] = {}
        self._forms: set[str] = set()  # casefolded short forms, with and without `s`, for a quick first check
        for definition in self.definitions:  # the first definition of a short form wins
            self._exact.setdefault(definition.short, definition)
            folded = definition.short.casefold()
            self._folded.setdefault(folded, definition)
            self._forms.update((folded, folded + "s", folded.removesuffix("s")))

    @classmethod
    def from_text(cls, text: str) -> Abbreviations:
        """Find the abbreviations in the text of a document."""
        return cls(find_abbreviations(text))

    def expand(self, surface: str) -> str | None:
        """Return the long form of a surface, or None if the document does not define it."""
        found = self.definition(surface)
        return found.long if found else None

    def definition(self, surface: str) -> Abbreviation | None:
        """Return the definition of a surface, or None.

        Tries the exact surface, then with or without a plural `s`, then ignoring case. Case is ignored only if the surface
        does not look like an ordinary word: if `ALL` is defined, `All` and `all` are not expanded.
        """
        if surface.casefold() not in self._forms:
            return None
        for form in (surface, surface.removesuffix("s"), surface + "s"):
            if form in self._exact:
                return self._exact[form]
        if _looks_short(surface):
            folded = surface.casefold()
            for form in (folded, folded.removesuffix("s"), folded + "s"):
                if form in self._folded:
                    return self._folded[form]
        return None


def find_forms(text: str, forms: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the start of each form in a text, wherever it occurs, also inside words; overlapping forms too.

    Each position is looked at once, not once per form: a text may define thousands of short forms.

    >>> sorted(find_forms("HA, HAs: no", ["HA", "HAs", "no"]))
    [(0, 'HA'), (4, 'HA'), (4, 'HAs'), (9, 'no')]
    """
    by_first: dict[str, set[str]] = {}
    for form in forms:
        by_first.setdefault(form[:1], set()).add(form)
    for first, wanted in by_first.items():
        lengths = sorted(set(map(len, wanted)))  # few: a short form has at most `_MAX_SHORT` characters
        start = text.find(first)
        while start >= 0:
            for length in lengths:
                if (form := text[start : start + length]) in wanted:
                    yield start, form
            start = text.find(first, start + 1)


def _looks_short(surface: str) -> bool:
    return any(map(str.isdigit, surface)) or any(map(str.isupper, surface[1:]))


_WHITE = re.compile(r"\s")


def plain_schwartz_hearst(text: str) -> list[Abbreviation]:
    """Return the definitions that the published Schwartz-Hearst algorithm finds in a text, in order.

    >>> [(found.short, found.long) for found in plain_schwartz_hearst("The heat shock protein (HSP) was seen.")]
    [('HSP', 'heat shock protein')]
    """
    spaced = _WHITE.sub(" ", text)  # like the published program, which reads lines and joins them with spaces
    found: list[Abbreviation] = []
    done = 0
    while (opening := spaced.find(" (", done) + 1) and (closing := spaced.find(")", opening)) >= 0:
        if spaced.find("(", opening + 1, closing) >= 0 and (second := spaced.find(")", closing + 1)) >= 0:
            closing = second
        pair = _pair(spaced, done, opening, closing)
        if pair and (definition := _plain_definition(text, *pair)):
            found.append(definition)
        done = closing + 1
    return found


def _pair(text: str, done: int, opening: int, closing: int) -> tuple[Offsets, Offsets] | None:
    """Return the spans of the short form and of the text in which to search for its long form."""
    clause = max(text.rfind(". ", done, opening), text.rfind(", ", done, opening))
    before = (clause + 2 if clause >= 0 else done, opening)
    inside = (opening + 1, min([closing, *(cut for sign in (", ", "; ") if (cut := text.find(sign, opening, closing)) >= 0)]))
    if closing - opening < 3 or before[1] - before[0] < 2:
        return None
    content = text[slice(*inside)]
    if len(content.split()) > 2 or len(content) > before[1] - before[0]:
        space = text.rfind(" ", done, opening - 1)
        short = (max(space + 1, done), opening - 1)
        return (short, inside) if any(map(str.isupper, text[slice(*short)])) else None
    return inside, before


def _plain_definition(text: str, short_span: Offsets, long_span: Offsets) -> Abbreviation | None:
    short_start, short_end = _strip_span(text, *short_span)
    start, end = _strip_span(text, *long_span)
    short = text[short_start:short_end]
    if len(short) < 2 or not any(map(str.isalpha, short)) or not (short[0].isalnum() or short[0] == "("):
        return None
    begin = _best_long_form(short, text[start:end])
    if begin is None:
        return None
    long = text[start + begin : end]
    words = len(long.replace("-", " ").split())
    letters = sum(map(str.isalnum, short))
    is_wrong = len(long) < len(short) or short + " " in long or long.endswith(short)
    if is_wrong or words > min(letters * 2, letters + 5) or letters > 10:
        return None
    return Abbreviation(short, long, short_start, short_end, start + begin, end, "schwartz-hearst")


def _best_long_form(short: str, long: str) -> int | None:
    """Return the offset of the long form in the text before the bracket (as in figure 1 of the paper)."""
    offset = len(long)
    for number in range(len(short) - 1, -1, -1):
        letter = short[number].lower()
        if not letter.isalnum():
            continue
        offset -= 1
        while offset >= 0 and (long[offset].lower() != letter or (number == 0 and offset > 0 and long[offset - 1].isalnum())):
            offset -= 1
        if offset < 0:
            return None
    while offset > 0 and not long[offset - 1].isspace():
        offset -= 1
    return offset


def _strip_span(text: str, start: int, end: int) -> Offsets:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


__all__ = ["FUNCTION_WORDS", "Abbreviation", "Abbreviations", "find_abbreviations", "find_forms", "plain_schwartz_hearst"]

FUNCTION_WORDS = STOP_WORDS | CLAUSE_WORDS
"""English function words, in lower case; they name no concept."""
