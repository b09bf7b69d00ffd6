"""Keys of gene names: names with the same key are the same name, but for punctuation, Greek letters and the like.

A tight key ignores case, punctuation and spaces, and writes Greek letters as Latin ones: *TNF alpha*, *TNF-a* and *Tnfa* have
the key `tnfa`. A loose key also ignores words such as *protein*, writes Roman numerals as numbers, and drops a plural s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from onym.text.normal import normal_name

KEYS_VERSION = 4
"""The version of the rules; tables of keys made with other rules are made again."""
_GREEK_LETTERS = str.maketrans(
    dict(zip(map(chr, [*range(0x3B1, 0x3C2), *range(0x3C3, 0x3CA), 0xB5]), "abgdezhqiklmnxoprstufxywm", strict=True))
)
_GREEK = {
    "alpha": "a", "beta": "b", "gamma": "g", "delta": "d", "epsilon": "e", "zeta": "z", "theta": "q", "kappa": "k",
    "lambda": "l", "sigma": "s", "omega": "w",
}  # fmt: skip
_GREEK_WORD = re.compile("|".join(_GREEK))
_NOT_KEY = re.compile(r"[\W_]+")
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "x": "10"}
_IDLE = frozenset(
    ("protein", "proteins", "gene", "genes", "mrna", "mrnas", "cdna", "the", "of", "a", "an", "and", "product", "precursor",
     "human", "mouse", "murine", "rat", "homolog", "homologue", "homologs", "molecule", "polypeptide", "peptide", "type",
     "subunit", "factor", "family", "member", "putative", "isoform", "isoforms", "transcript", "antigen", "locus")
)  # fmt: skip
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_MIN_PART = 5
_PARTS = re.compile(r"[a-z]+|[0-9]+")
_AFFIX = re.compile(r"^(h|m|r|hs|mm|rn|hum|mu|d|dm|z|zf|x|xl|at|os|y|b|c|ce|ch|sp|sc|p)(?=[A-Z]|[- ][A-Z])")
_BEFORE = re.compile(
    r"^(?:(?:anti|phospho|phosphorylated|recombinant|soluble|total|mutant|native|endogenous|wild[- ]type|human|mouse|murine|"
    r"rat|yeast|bovine|chicken|drosophila|xenopus|zebrafish|arabidopsis|pro|pre|p|c|full[- ]length|ectopic|exogenous)[- ])+",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:[-–/ ]*(?:\(?[-+]/[-+]\)?|null|KO|mutants?|proteins?|genes?|mRNAs?|transcripts?|isoforms?|promoters?|alleles?|locus|"
    r"receptors?|homologs?|orthologs?|cDNAs?|s))+$",
)
_ISOFORM = re.compile(r"(?<=[0-9A-Z])[-–]?(?:[a-z]|alpha|beta|gamma|delta)$")
_JOINT = re.compile(r"\s*(?:/|,|\band\b|\bor\b|&)\s*")


class Variant(NamedTuple):
    """A form of a mention to look up: its text, how far it is from the surface (0: the surface), and the affix taken off."""

    text: str
    steps: int
    affix: str = ""


@lru_cache(200_000)
def tight_key(name: str) -> str:
    r"""Return the tight key of a name.

    >>> tight_key("TNF-\u03b1"), tight_key("tnf alpha"), tight_key("IL-2")
    ('tnfa', 'tnfa', 'il2')
    """
    return _NOT_KEY.sub("", _write_greek(normal_name(name)))


@lru_cache(200_000)
def loose_key(name: str) -> str:
    """Return the loose key of a name, or "" if nothing but idle words is left.

    >>> loose_key("proteins of the complex II"), loose_key("complex 2")
    ('complex2', 'complex2')
    """
    found = []
    for word in _write_greek(normal_name(name)).split():
        if word not in _IDLE:
            found += [_ROMAN.get(part, part) for part in _PARTS.findall(word)]
    if found and len(found[-1]) > 3 and found[-1].endswith("s"):
        found[-1] = found[-1][:-1]
    return "".join(found)


def name_parts(form: str) -> Iterator[str]:
    """Yield the parts of a descriptive name that name the gene too: those between commas, and what is before a bracket.

    >>> list(name_parts("CD207 molecule, langerin")), list(name_parts("beta-catenin (armadillo)"))
    (['CD207 molecule', 'langerin'], ['beta-catenin'])
    """
    parts = form.split(", ")
    for part in parts:
        bare = _BRACKETS.sub("", part).strip()
        if len(bare) >= _MIN_PART and (bare != form):
            yield bare


def _write_greek(text: str) -> str:
    return _GREEK_WORD.sub(lambda found: _GREEK[found[0]], text.translate(_GREEK_LETTERS))


def variants(surface: str) -> Iterator[Variant]:
    """Yield the forms of a mention to look up, the nearest first.

    >>> [(each.text, each.steps, each.affix) for each in variants("hTNF mRNA")][:3]
    [('hTNF mRNA', 0, ''), ('hTNF', 1, ''), ('TNF mRNA', 2, 'h')]
    """
    seen = dict.fromkeys([surface])  # a set would have another order in each process
    yield Variant(surface, 0)
    forms = [(_BEFORE.sub("", surface), 1), (_AFTER.sub("", surface), 1), (_AFTER.sub("", _BEFORE.sub("", surface)), 1)]
    for text, steps in forms:
        if len(text) > 1 and text not in seen:
            seen[text] = None
            yield Variant(text, steps)
    for text in tuple(seen):
        if (affix := _AFFIX.match(text)) and len(text) > len(affix[0]) + 1:
            yield Variant(text[affix.end() :].lstrip("- "), 2, affix[0])
        if text.endswith("p") and len(text) > 3 and text[-2].isdigit():
            yield Variant(text[:-1], 2, "p")
    first = _JOINT.split(surface)[0]
    if len(first) > 2 and first not in seen:
        yield Variant(first, 3)
    if isoform := _ISOFORM.search(surface):
        yield Variant(surface[: isoform.start()], 4)
    if surface[-1:].isalpha() and len(surface) > 2:
        yield Variant(f"{surface}1", 5)
    elif surface[-1:].isdigit():
        yield Variant(f"{surface}A", 5)
