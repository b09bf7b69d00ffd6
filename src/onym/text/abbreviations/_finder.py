"""From the candidates of a text to its definitions: the first rule that fits, and that no reason speaks against, decides."""

from __future__ import annotations

from collections.abc import Iterator

from onym.text.abbreviations._candidates import Candidate, announced, candidates_of
from onym.text.abbreviations._definition import Abbreviation
from onym.text.abbreviations._filters import is_refused, may_be_short
from onym.text.abbreviations._layout import Layout, Region
from onym.text.abbreviations._spelling import initial, spelt_out
from onym.text.abbreviations._strategies import STRATEGIES, Strategy, first_word, without_digits
from onym.text.abbreviations._words import Word
from onym.types import require_text

_MORE_WORDS = 3  # than Schwartz and Hearst's min(2n, n + 5) for n letters: parts of hyphenated words count one by one here
_MAX_ATTACHED = 80
_MAX_KEPT = 500
_Context = tuple[str, str, tuple[int, ...], tuple[str, ...]]
_OPENING = {"(": ")", "[": "]", "{": "}"}
_BREAKS = ("--", "\u2014", "\u2013", "/", ":", '"')
_NEGATIONS = ("anti-", "non-")


def find_abbreviations(text: str) -> list[Abbreviation]:
    """Return the definitions of abbreviations in one document, in the order of their short forms.

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
                break  # a bracket defines one thing
    for candidate in announced(layout):
        if definition := _definition(layout, candidate, undefined):
            found.setdefault(definition.short_start, definition)
    return [found[start] for start in sorted(found)]


def _definition(layout: Layout, candidate: Candidate, undefined: set[_Context]) -> Abbreviation | None:
    """Return what a candidate defines, if anything; what stands in the same context as another is not read again."""
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


def _context(layout: Layout, candidate: Candidate, short: str, region: Region) -> _Context:
    """Return all that decides what a candidate defines: a text may hold the same thousands of times."""
    first = region.words[0].start
    begin = max(candidate.start, first - _MAX_ATTACHED - 1)
    text = layout.text[begin : min(candidate.end, begin + _MAX_KEPT)]
    shape = (first - begin, begin == candidate.start, len(region.words), region.near, candidate.anchored, candidate.tidy)
    return short, text, shape, candidate.siblings


def _readings(short: str, region: Region) -> list[str]:
    """Return the forms in which a short form can be read: first without its plural `s`, if the long form has one too."""
    is_plural = len(short) > 2 and short.endswith("s") and not short[:-1].islower() and region.words[-1].lower.endswith("s")
    return [short[:-1], short] if is_plural else [short]


def _may_be_spelt(short: str, region: Region) -> bool:
    """Tell quickly when no rule can fit: a letter is nowhere to be found. `x` can stand for others."""
    there = set().union(*map(spelt_out, region.words))
    return all(char in there or char == "x" for char in short.lower() if "a" <= char <= "z")


def _attempts(layout: Layout, candidate: Candidate, short: str, region: Region) -> Iterator[Abbreviation]:
    """Yield what the rules find: all of them in the words nearby, then the strict ones beyond commas and asides."""
    is_far = region.near < len(region.words)
    if not (candidate.anchored and is_far):
        near = region.words[-region.near :]
        for strategy in STRATEGIES:
            yield from _attempt(layout, candidate, short, near, strategy)
    if is_far:
        for strategy in STRATEGIES:
            if strategy.reaches_far:
                yield from _attempt(layout, candidate, short, region.words, strategy)


def _attempt(layout: Layout, candidate: Candidate, short: str, words: list[Word], strategy: Strategy) -> Iterator[Abbreviation]:
    """Yield what one rule finds."""
    if (candidate.tidy and not strategy.tidy) or (strategy.reading is without_digits and _has_siblings(candidate, short)):
        return
    for letters in strategy.reading(short):
        number = first_word(letters, words, strategy, anchored=candidate.anchored)
        if number is not None:
            start = _beginning(layout, candidate, words[number])
            start, end = layout.trimmed(start, candidate.end)
            while end > start and layout.text[end - 1] in ",;:":
                end -= 1
            long = layout.text[start:end]
            whole = layout.text[candidate.short_start : candidate.short_end]
            if not is_refused(whole, long, words[number:]):
                yield Abbreviation(whole, long, candidate.short_start, candidate.short_end, start, end, strategy.name)


def _has_siblings(candidate: Candidate, short: str) -> bool:
    """Tell whether the bracket holds more of a kind, `(PLS-1 and PLS-2)`: the long form then is that of the kind."""
    stem = short.rstrip("0123456789-").lower()
    return any(stem in item.lower() for item in candidate.siblings)


def _one_letter(layout: Layout, candidate: Candidate, short: str) -> Abbreviation | None:
    """`phosphorus (P)`: one word that begins with the letter, directly before; no item of a list, `(a)` or `(C, D)`."""
    number = layout.word_before(candidate.end)
    if number < 0 or candidate.anchored or candidate.tidy or not short.isalpha() or short in "abcdef":
        return None
    word = layout.words[number]
    is_before = word.start >= candidate.start and layout.text[word.end : candidate.end].isspace()
    is_item = any(len(item) == 1 and item.isalpha() for item in candidate.siblings)
    if not is_before or is_item or len(word.raw) < 4 or not initial(word, short.lower()):
        return None
    return Abbreviation(short, word.raw, candidate.short_start, candidate.short_end, word.start, word.end, "one-letter")


def _beginning(layout: Layout, candidate: Candidate, word: Word) -> int:
    """Return where the long form begins: with what is attached to its first word, the locants of `1,10-phenanthroline`."""
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


def _type_before(layout: Layout, candidate: Candidate, word: Word) -> int:
    """Return where `type` stands before a number or a letter, `type 2 NO synthase`, else where the word begins."""
    number = layout.word_before(word.start)
    is_mark = word.raw.isdigit() or len(word.raw) == 1 or set(word.raw) <= set("IVX")
    if is_mark and number >= 0:
        before = layout.words[number]
        if before.lower == "type" and before.start >= candidate.start and before.end + 1 == word.start:
            return before.start
    return word.start
