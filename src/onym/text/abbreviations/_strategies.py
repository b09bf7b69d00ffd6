"""The rules by which a short form is read as the letters of a long form, in the order in which they are tried.

A rule says how the short form is read, how letters stand for a word, and which words may be passed over. Rules that leave
less to chance come first, so that the first answer is the best one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from onym.text.abbreviations._spelling import Spelling, anywhere, beginning, initial, parts, scattered, spelt_out
from onym.text.abbreviations._words import STOP_WORDS, Word

Reading = Callable[[str], Iterator[str]]


def verbatim(short: str) -> Iterator[str]:
    """Read all letters and digits, in order."""
    yield "".join(char for char in short.lower() if char.isalnum())


def without_digits(short: str) -> Iterator[str]:
    """Leave out the digits: `PTS1` for peroxisomal targeting signal."""
    if any(char.isdigit() for char in short):
        yield "".join(char for char in short.lower() if char.isalpha())


def rotated(short: str) -> Iterator[str]:
    """Move what stands before a break to the end: `TAS-20` for 20-item Toronto Alexithymia Scale, `V(T)`, `L1CAM`.

    >>> list(rotated("L1CAM"))
    ['1caml', 'caml1']
    """
    letters = next(verbatim(short))
    count = 0
    for before, char in zip(" " + short, short, strict=False):
        if char.isalnum():
            if count and (not before.isalnum() or before.isdigit() != char.isdigit() or before.isupper() != char.isupper()):
                yield letters[count:] + letters[:count]
            count += 1


def turned(short: str) -> Iterator[str]:
    """Move the first letters of a short form in capitals to its end: `DM` for myotonic dystrophy."""
    if short.isupper():
        letters = next(verbatim(short))
        yield from (letters[cut:] + letters[:cut] for cut in range(1, len(letters)))


@dataclass(frozen=True, slots=True)
class Strategy:
    """A rule. `skips` words may be passed over inside the long form, and `tail` words at its end.

    A rule that `reaches_far` may cross commas and asides in brackets; a `tidy` one is trusted where the bracket follows
    without a space.
    """

    name: str
    spelling: Spelling
    reading: Reading = verbatim
    over_stop_words: bool = True
    skips: int = 0
    tail: int = 0
    min_letters: int = 2
    reaches_far: bool = False
    tidy: bool = False


STRATEGIES = (
    Strategy("first-letters", initial, over_stop_words=False, reaches_far=True, tidy=True),
    Strategy("first-letters-over-stop-words", initial, reaches_far=True, tidy=True),
    Strategy("word-beginnings", beginning, reaches_far=True, tidy=True),
    Strategy("word-parts", parts, over_stop_words=False, reaches_far=True, tidy=True),
    Strategy("letters-of-words", scattered, tidy=True),
    Strategy("first-letters-skip", initial, skips=1, min_letters=3),
    Strategy("word-parts-skip", parts, skips=1),
    Strategy("first-letters-tail", initial, tail=1),
    Strategy("first-letters-long-tail", initial, tail=2, min_letters=3),
    Strategy("word-parts-tail", parts, tail=1),
    Strategy("turned", initial, turned),
    Strategy("rotated", beginning, rotated, skips=1, tail=1),
    Strategy("without-digits", parts, without_digits),
    Strategy("first-letters-skip-two", initial, skips=2, min_letters=3),
    Strategy("letters-of-words-skip-two", scattered, skips=2, min_letters=3),
    Strategy("letters-of-words-tail", scattered, skips=2, tail=2, min_letters=3),
    Strategy("letters-in-order", anywhere, skips=2, tail=1, min_letters=3),
)


def first_word(letters: str, words: Sequence[Word], strategy: Strategy, *, anchored: bool = False) -> int | None:
    """Return the number of the word with which the long form begins; where `anchored`, it can only be the first.

    The words are read from the last to the first. A state is the number of letters still to be found and the number of
    words passed over, so that the time depends on the numbers of letters and words, not on the ways to combine them.
    """
    if len(letters) < strategy.min_letters:
        return None
    whole = len(letters)
    states = {(whole, 0)}
    for number in range(len(words) - 1, -1, -1):
        following: set[tuple[int, int]] = set()
        for left, passed in states:
            for rest in _spelt(letters, left, words[number], strategy.spelling):
                if rest:
                    following.add((rest, passed if left < whole else 0))
                elif (number == 0 or not anchored) and initial(words[number], letters[0]):
                    return number
            now = passed + _cost(words, number, strategy, inside=left < whole)
            if now <= (strategy.skips if left < whole else strategy.tail):
                following.add((left, now))
        if not following:
            return None
        states = following
    return None


def _spelt(letters: str, left: int, word: Word, spelling: Spelling) -> Iterator[int]:
    """Yield how many letters are left when the last of the first `left` ones stand for a word."""
    for rest in range(left - 1, max(left - len(spelt_out(word)), 0) - 1, -1):
        if spelling(word, letters[rest:left]):
            yield rest


def _cost(words: Sequence[Word], number: int, strategy: Strategy, *, inside: bool) -> int:
    """Return what passing over a word costs: nothing for stop words, `type`, and numbers and letters of chemical names."""
    word = words[number]
    is_joined = number + 1 < len(words) and words[number + 1].start == word.end + 1
    if word.raw.isdigit() or (len(word.raw) == 1 and is_joined):
        return 0
    may_pass = strategy.over_stop_words and (word.lower in STOP_WORDS or len(word.raw) == 1)
    return 0 if inside and (may_pass or word.lower == "type") else 1
