"""A variant as a value: level, kind, residues and position; read from tmVar's notation, written as HGVS."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

Level = Literal["c", "g", "m", "n", "r", "p", "rs"]
Kind = Literal["sub", "del", "ins", "dup", "inv", "delins", "fs", "allele", "rs"]
HGVS = "hgvs"
"""The prefix of variants in HGVS notation."""
DBSNP = "dbsnp"

ACIDS = {
    "alanine": "A", "ala": "A", "arginine": "R", "arg": "R", "asparagine": "N", "asn": "N", "aspartic acid": "D",
    "aspartate": "D", "asp": "D", "cysteine": "C", "cys": "C", "glutamic acid": "E", "glutamate": "E", "glu": "E",
    "glutamine": "Q", "gln": "Q", "glycine": "G", "gly": "G", "histidine": "H", "his": "H", "isoleucine": "I", "ile": "I",
    "leucine": "L", "leu": "L", "lysine": "K", "lys": "K", "methionine": "M", "met": "M", "phenylalanine": "F", "phe": "F",
    "proline": "P", "pro": "P", "serine": "S", "ser": "S", "threonine": "T", "thr": "T", "tryptophan": "W", "trp": "W",
    "tyrosine": "Y", "tyr": "Y", "valine": "V", "val": "V", "stop": "*", "ter": "*", "term": "*", "termination": "*",
    "x": "*", "*": "*", "nonsense": "*",
}  # fmt: skip
"""One-letter codes of amino acids, by name and three-letter code in lower case; `*` is a stop codon."""
BASES = {
    "adenine": "A", "adenosine": "A", "guanine": "G", "guanosine": "G", "cytosine": "C", "cytidine": "C", "thymine": "T",
    "thymidine": "T", "uracil": "U", "uridine": "U",
}  # fmt: skip
"""Letters of bases, by name in lower case."""
_ORDER = "TCAG"
_ACIDS_OF_CODONS = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
_TMVAR: dict[str, Kind] = {
    "SUB": "sub", "DEL": "del", "INS": "ins", "DUP": "dup", "INDEL": "delins", "INV": "inv", "FS": "fs", "ALLELE": "allele"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SequenceVariant:
    """A variant: `before` are the residues of the reference, `after` those of the variant, in one-letter codes.

    The position is a number, a range (`100_103`), or a place in an intron (`123+1`, `IVS3+18`); empty if the text has none. Of
    an allele (a residue at a position, such as *-308A*), the residue is `after`.

    >>> SequenceVariant("p", "sub", "V", "600", "E").hgvs, SequenceVariant("c", "sub", "A", "123+1", "G").hgvs
    ('p.V600E', 'c.123+1A>G')
    """

    level: Level
    kind: Kind
    before: str = ""
    position: str = ""
    after: str = ""
    stop: str = ""

    @property
    def hgvs(self) -> str:
        """The variant in HGVS notation without a reference sequence; empty if it has no position or is an allele."""
        if not self.position or self.kind in ("allele", "rs"):
            return ""
        return f"{self.level}.{self._protein() if self.level == 'p' else self._nucleotide()}"

    def _protein(self) -> str:
        if self.kind == "sub":
            return f"{self.before}{self.position}{self.after}"
        if self.kind == "fs":
            return f"{self.before}{self.position}{self.after}fs" + (f"*{self.stop}" if self.stop else "")
        return f"{self._residues_at_position()}{self.kind}{self.after}"

    def _residues_at_position(self) -> str:
        """Return a range of residues as HGVS has it, with the first and the last residue: `A594_Q597`."""
        first, _, last = self.position.partition("_")
        if last and len(self.before) in (2, int(last) - int(first) + 1):
            return f"{self.before[0]}{first}_{self.before[-1]}{last}"
        return self.before + self.position if not last else self.position

    def _nucleotide(self) -> str:
        if self.kind == "sub":
            return f"{self.position}{self.before}>{self.after}"
        if self.kind == "delins":
            return f"{self.position}delins{self.after}"
        return f"{self.position}{self.kind}{self.before or self.after}"


def acid_of_codon(codon: str) -> str:
    """Return the amino acid that a codon of DNA or RNA stands for; empty if it is not a codon.

    >>> acid_of_codon("GUG"), acid_of_codon("taa"), acid_of_codon("GT")
    ('V', '*', '')
    """
    letters = codon.upper().replace("U", "T")
    if len(letters) != 3 or not set(letters) <= set(_ORDER):
        return ""
    first, second, third = map(_ORDER.index, letters)
    return _ACIDS_OF_CODONS[16 * first + 4 * second + third]


def from_tmvar(text: str) -> SequenceVariant | None:
    """Parse tmVar's notation, such as `p|SUB|V|600|E`; None for rs numbers and malformed values.

    >>> from_tmvar("c|DEL|1782_1783|AG;Gene:55806").hgvs
    'c.1782_1783delAG'
    """
    level, kind, *rest = [*text.partition(";")[0].split("|"), "", "", "", "", ""][:7]
    known = _TMVAR.get(kind.upper())
    if known is None or level not in ("c", "g", "m", "n", "r", "p"):
        return None
    found = SequenceVariant(_level(level), known)
    if known in ("sub", "fs"):
        stop = rest[3] if known == "fs" else ""
        return replace(
            found, before=_letters(rest[0], level), position=position_of(rest[1]), after=_letters(rest[2], level), stop=stop
        )
    if known == "allele":
        return replace(found, position=position_of(rest[1]), after=_letters(rest[0], level))
    at, residues = position_of(rest[0]), _letters(rest[1], level)
    return replace(found, position=at, before=residues) if known == "del" else replace(found, position=at, after=residues)


def _level(text: str) -> Level:
    levels: tuple[Level, ...] = ("c", "g", "m", "n", "r", "p")
    return next(each for each in levels if each == text)


def _letters(text: str, level: str) -> str:
    letters = text.upper()
    return letters.replace("X", "*") if level == "p" else letters


def complete_range(first: str, last: str) -> str:
    """Return a range of positions, whose end may omit its first digits.

    >>> complete_range("1782", "83"), complete_range("123+1", "123+4")
    ('1782_1783', '123+1_123+4')
    """
    if first.isdigit() and last.isdigit() and len(last) < len(first):
        last = first[: len(first) - len(last)] + last
    return f"{first}_{last}"


def position_of(text: str) -> str:
    """Return a position as HGVS writes it: without spaces, commas and plus sign, and introns with Arabic numbers.

    >>> position_of("+ 1,234"), position_of("IVS-II - 1")
    ('1234', 'IVS2-1')
    """
    plain = re.sub(r"[\s,]", "", text).replace("\u2212", "-").replace("\u2013", "-")
    if intron := re.fullmatch(r"IVS-?([IVX]+)([-+].*)", plain):
        plain = f"IVS{_roman(intron[1])}{intron[2]}"
    return plain.replace("IVS-", "IVS", 1).removeprefix("+")


def _roman(text: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in text]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))
