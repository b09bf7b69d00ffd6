"""Shapes of texts that repeat themselves: functions that return a text of a given length."""

from __future__ import annotations

from collections.abc import Callable

Shape = Callable[[int], str]


def over(unit: str) -> Shape:
    """Return the shape that repeats `unit`."""
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def _nest(opening: str, inside: str, closing: str) -> Shape:
    return lambda length: opening * (length // 2) + inside + closing * (length // 2)


def _then(first: str, second: str) -> Shape:
    """Return the shape whose first half repeats one unit and whose second half another."""
    return lambda length: over(first)(length // 2) + over(second)(length // 2)


def _number_parts(form: str) -> Shape:
    """Return the shape that repeats a unit with an increasing number in it."""

    def text(length: int) -> str:
        size = len(form.format(100_000))
        return "".join(form.format(100_000 + number) for number in range(length // size + 1))[:length]

    return text


_UNITS = {
    "opening brackets": "(",
    "closing brackets": ")",
    "square brackets, opening": "[",
    "mixed brackets": "([{)]}",
    "pairs of brackets": "()",
    "pairs with a letter": "(a) ",
    "pairs without spaces": "(ab)",
    "pairs of short forms": "(AB) ",
    "openings with spaces": "( ",
    "openings with words": "(fever ",
    "crossed brackets": "([)]",
    "a letter": "a",
    "a capital": "A",
    "a word": "fever",
    "a name": "fever ",
    "names that overlap": "type 2 diabetes mellitus ",
    "names without spaces": "diabetesmellitus",
    "names with hyphens": "fever-",
    "names in brackets": "(fever) ",
    "half of a name": "diabetes ",
    "names and stops": "fever. ",
    "denied names": "no fever ",
    "names ruled out": "fever was ruled out ",
    "scopes that end": "no fever but ",
    "phrases that never end": "ruled the patient ",
    "heads": "No Fever Or History Of Fever ",
    "heads with colons": "FEVER: no ",
    "combining marks": "\u0301",
    "a letter with marks": "e\u0301\u0323",
    "zero-width spaces": "\u200b",
    "joiners": "a\u200d",
    "right to left": "\u05e9\u05dc\u05d5\u05dd ",
    "overrides": "\u202efever\u202c",
    "halves of pairs": "\ud83d",
    "family emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "flags": "\U0001f1e9\U0001f1ea",
    "line ends": "\r\n",
    "returns": "\r",
    "empty lines": "\n \n",
    "tabs": "\t",
    "spaces": " ",
    "hyphens": "-",
    "slashes": "/",
    "dashes": "\u2013",
    "letters and slashes": "a/",
    "letters and hyphens": "a-",
    "numbers": "1",
    "decimals": "0.5 ",
    "dotted": "1.",
    "letters and stops": "a. ",
    "capitals and stops": "A. ",
    "stops": ".",
    "questions": "? ",
    "quotes": '"',
    "quoted": "'a' ",
    "commas": "a, ",
    "semicolons": "a; ",
    "addresses": "https://a.b/c?d=e&f ",
    "a long address": "a.b/c?d=e&",
    "DNA": "ACGT",
    "substitutions": "V600E ",
    "substitutions with slashes": "A1166C/",
    "changes in words": "G to A in the exon 1 at position ",
    "names of amino acids": "valine to ",
    "growing ligatures": "\ufdfa",
    "ligatures": "\ufb01",
    "sharp s": "\u00df",
    "dotted capitals": "\u0130",
    "sigma": "\u03a3 ",
    "mixed scripts": "a\u0430\u03b1\u75be",
    "underscores": "_",
    "percent": "5% ",
    "equations": "(A = b) ",
    "abbreviated": "abbreviated as AB ",
    "a definition over and over": "heart attack (HA) ",
    "the other way round": "HA (heart attack) ",
    "lists in brackets": "(a, b; c or d) ",
    "null": "\x00",
    "soft hyphens": "fe\u00adver ",
    "double-width letters": "\uff46\uff45\uff56\uff45\uff52 ",
}

SHAPES: dict[str, Shape] = {
    **{name: over(unit) for name, unit in _UNITS.items()},
    "brackets in brackets": _nest("(", "", ")"),
    "brackets around a word": _nest("(", "fever", ")"),
    "spaced brackets in brackets": _nest("( ", "a", " )"),
    "quotes before brackets": _then("'", "(AB)"),
    "a long word before brackets": _then("a", "(AB)"),
    "spaces before brackets": _then(" ", "(AB)"),
    "words before openings": _then("fever ", "("),
    "a definition of each number": _number_parts("name {0} alpha (NA{0}) "),
    "a new long form of one short form": _number_parts("acid of {0} beta (AB) "),
    "short forms of one letter": _number_parts("water{0} (W) "),
    "a substitution of each number": _number_parts("A{0}C "),
}
