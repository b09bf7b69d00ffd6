"""Other written forms of a name: British and American spelling, singular and plural.

The rules work on the normal form. A rule may propose a word that nobody writes (*endaemic*), which is harmless, because such a
word is in no text. Forms are symmetric: if one name is a form of another, the other is a form of the first. So a table of all
forms of all names, and looking up all forms of a phrase, find the same names.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from math import prod

from onym.text.normal import other_numbers

FORMS_VERSION = 1
"""The version of the rules; tables of names made with other rules are made again."""
_CACHE_SIZE = 20_000  # words
_MIN_LETTERS = 5
_MAX_STARTS = 8

_OR_WORDS = "(?:(?<=tum)|(?<=col)|(?<=^od)|(?<=^hum)|(?<=behavi)|(?<=^lab))"
_ER_WORDS = "(?:(?<=fib)|(?<=goit)|(?<=cent)|(?<=tit))"
# (British pattern, American spelling, American pattern, British spelling); each pattern must not match the other spelling.
_RULES = (
    (r"haem(?=[ao])", "hem", r"hem(?=[ao])", "haem"),
    (r"aemi(?=as?$|c)", "emi", r"(?<!a)emi(?=as?$|c)", "aemi"),
    (r"oedem", "edem", r"(?<!o)edem", "oedem"),
    (r"oesoph", "esoph", r"(?<!o)esoph", "oesoph"),
    (r"oestr", "estr", r"(?<!o)estr(?=[aiou])", "oestr"),
    (r"pnoe(?=a|ic)", "pne", r"pne(?=a|ic)", "pnoe"),
    (r"rrhoe", "rrhe", r"rrhe(?=a|ic)", "rrhoe"),
    (rf"{_OR_WORDS}our", "or", rf"{_OR_WORDS}or(?!o|i)", "our"),
    (r"paed(?=[io])", "ped", r"ped(?=ia|op)", "paed"),
    (r"foet(?=[aou])", "fet", r"fet(?=[aou])", "foet"),
    (r"aesth", "esth", r"(?<!a)esth", "aesth"),
    (r"gynaec", "gynec", r"gynec", "gynaec"),
    (r"coelia", "celia", r"celia", "coelia"),
    (r"caec(?=[aiuo])", "cec", r"(?<=^)cec(?=[aiuo])", "caec"),
    (r"^faec", "fec", r"^fec(?=al|es)", "faec"),
    (r"^caesar", "cesar", r"^cesar", "caesar"),
    (r"^naev", "nev", r"^nev(?=us|i$|o)", "naev"),
    (r"sulph", "sulf", r"sulf", "sulph"),
    (r"^aetiol", "etiol", r"^etiol", "aetiol"),
    (r"leuco(?=[cdp])", "leuko", r"leuko(?=[cdp])", "leuco"),
    (rf"{_ER_WORDS}re(?=s?$)", "er", rf"{_ER_WORDS}er(?=s?$)", "re"),
    (r"is(?=ation|ed$|ing$)", "iz", r"iz(?=ation|ed$|ing$)", "is"),
)
_Rules = tuple[tuple[str, re.Pattern[str], str], ...]
_LITERAL = re.compile(r"\((?:[^()]|\([^()]*\))*\)|\^")  # what is no plain letter in a pattern: groups and anchors
_TO_AMERICAN: _Rules = tuple((_LITERAL.sub("", british), re.compile(british), new) for british, new, _, _ in _RULES)
_TO_BRITISH: _Rules = tuple((_LITERAL.sub("", american), re.compile(american), new) for _, _, american, new in _RULES)


def other_forms(name: str) -> tuple[str, ...]:
    """Return the other forms of a normalised name: British or American spelling of its words, singular or plural of the last.

    >>> other_forms("acute leukaemia")
    ('acute leukemia', 'acute leukaemias', 'acute leukaemiae', 'acute leukemias')
    >>> other_forms("esophageal cyst"), other_forms("gas")
    (('esophageal cysts', 'oesophageal cyst', 'oesophageal cysts'), ())
    """
    before, space, last = name.rpartition(" ")
    ends = _forms_of_last(last)
    starts = _other_starts(before) if space else ()
    same = [f"{before}{space}{end}" for end in ends]
    return (*same, *(f"{start} {end}" for start in starts for end in (last, *ends))) if starts else tuple(same)


def other_spellings(name: str) -> tuple[str, ...]:
    """Return the other spellings of a normalised name, without singular and plural.

    >>> other_spellings("oesophageal ulcer")
    ('esophageal ulcer',)
    """
    return tuple(_other_starts(name))


def _other_starts(text: str) -> list[str]:
    """Return the other spellings of several words."""
    choices = [(word, *respellings(word)) for word in text.split(" ")]
    if not 1 < prod(map(len, choices)) <= _MAX_STARTS:
        return []
    return [" ".join(words) for words in product(*choices)][1:]


@lru_cache(_CACHE_SIZE)
def respellings(word: str) -> tuple[str, ...]:
    """Return the American and the British spelling of a lower-case word, without the word itself.

    >>> respellings("haemorrhage"), respellings("tumor"), respellings("fever")
    (('hemorrhage',), ('tumour',), ())
    """
    return tuple(form for form in _spellings(word) if word in _spellings(form))


@lru_cache(_CACHE_SIZE)
def _spellings(word: str) -> tuple[str, ...]:
    if len(word) < _MIN_LETTERS or not word.isalpha():
        return ()
    return tuple({form: None for form in (_apply(word, _TO_AMERICAN), _apply(word, _TO_BRITISH)) if form != word})


def _apply(word: str, rules: _Rules) -> str:
    for letters, pattern, new in rules:
        if letters in word:  # much faster than the pattern
            word = pattern.sub(new, word)
    return word


@lru_cache(_CACHE_SIZE)
def _forms_of_last(word: str) -> tuple[str, ...]:
    """Return the other spellings and numbers of the last word of a name."""
    return tuple(form for form in _all_of_last(word) if word in _all_of_last(form))


@lru_cache(_CACHE_SIZE)
def _all_of_last(word: str) -> tuple[str, ...]:
    numbers = other_numbers(word)
    forms = (*respellings(word), *numbers, *(form for number in numbers for form in respellings(number)))
    return tuple(dict.fromkeys(form for form in forms if form != word))
