"""The ways in which letters of a short form can stand for one word, from the plainest to the loosest.

Every function is asked whether `letters` (lower case, at least one) can stand for `word`.
"""

from __future__ import annotations

from collections.abc import Callable

from onym.text.abbreviations._words import GREEK_LETTERS, NUMBER_WORDS, Word, each

Spelling = Callable[[Word, str], bool]

# Where a part of a compound begins: combining forms of Greek and Latin, and of chemistry.
_PARTS = each(
    "acet amid amin aryl benz blast but carb cardi cell chlor chol chrom cycl cyt deox electr encephal enzym eth ferr fluor "
    "gen glob gluc glyc gram graph hepat hist hydr immun iod kin lip lymph lys macr meth micr morph myel neur nitr nucl oct "
    "ox path pent phen phil phob phor phosph plasm plast prop prot pyr quin rib som ster sulf sulph therap thi thym tom tox "
    "transfer trop troph tub vir vit zyg"
)
_X_WORDS = ("ex", "trans", "cross")
_MAX_WORD = 80  # beyond this no word is looked into, so that the time stays linear


def initial(word: Word, letters: str) -> bool:
    """Accept the first letter of the word, a digit for a number word, `x` for ex-, trans- and cross-, Greek letters by name."""
    if len(letters) > 1:
        return False
    if word.lower[0] == letters:
        return True
    if letters == "x":
        return word.lower.startswith(_X_WORDS)
    if letters in NUMBER_WORDS:
        return any(word.lower == name or (len(name) > 2 and word.lower.startswith(name)) for name in NUMBER_WORDS[letters])
    return GREEK_LETTERS.get(letters) == word.lower or spelt_out(word).startswith(letters)


def beginning(word: Word, letters: str) -> bool:
    """Accept the first letters of the word, as `Bcl` and `beta`."""
    return spelt_out(word).startswith(letters) or word.lower.startswith(letters) or initial(word, letters)


def parts(word: Word, letters: str) -> bool:
    """Accept the first letters of the parts of a compound: `EEG` for electroencephalogram."""
    return beginning(word, letters) or (word.lower[0] == letters[0] and _has_in_order(word, letters, 1, at_parts=True))


def scattered(word: Word, letters: str) -> bool:
    """Accept the first letter of the word and any others of it, in order: `CT` for cytotrophoblasts."""
    return initial(word, letters) or (word.lower[0] == letters[0] and _has_in_order(word, letters, 1))


def anywhere(word: Word, letters: str) -> bool:
    """Accept any letters of the word, in order: `X` for box."""
    return _has_in_order(word, letters, 0)


def spelt_out(word: Word) -> str:
    """Return a word in lower case; a Greek letter by its name."""
    return GREEK_LETTERS.get(word.lower, word.lower)


def _has_in_order(word: Word, letters: str, first: int, *, at_parts: bool = False) -> bool:
    """Tell whether the word has the letters from `first` on, in order, each where a part begins if `at_parts`."""
    if len(word.lower) > _MAX_WORD:
        return False
    offset = first - 1
    for letter in letters[first:]:
        offset = word.lower.find(letter, offset + 1)
        while at_parts and offset > 0 and not _begins_part(word, offset):
            offset = word.lower.find(letter, offset + 1)
        if offset < 0:
            return False
    return True


def _begins_part(word: Word, offset: int) -> bool:
    here, before = word.raw[offset], word.raw[offset - 1]
    if here.isupper() or here.isdigit() != before.isdigit():
        return True
    return before in "oy" or word.lower.startswith(_PARTS, offset)
