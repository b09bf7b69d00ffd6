"""Make a variant of the match of a pattern, or None if it is not a variant after all.

The groups of the patterns have names:
`at` and `last` are the first and the last position, `before` and `after` the residues of the reference and of the variant,
`kind` is the word for a deletion, insertion or duplication, `what` and `lost` are its bases, and `size` is their number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from onym.methods.variants.forms import ACIDS, BASES, Kind, Level, SequenceVariant, acid_of_codon, complete_range, position_of

_NO_VARIANTS = frozenset(  # genes, receptors and cell lines that are written like a substitution
    {"S100A", "S100C", "S100D", "S100G", "S100P", "T47D", "C57L", "T24H", "P16I", "C18H", "D10S", "L929S"}
)
_FEW_RESIDUES = 10  # below it, a letter, a number and a letter are rather a name, such as M6P
_FEW_JOINED = 40  # likewise after a hyphen or a slash
_MANY_RESIDUES = 350  # from it on, A123C is rather a change of DNA
_LEVELS: tuple[Level, ...] = ("c", "g", "m", "n", "r", "p")


def _acid(text: str) -> str:
    """Return the one-letter code of an amino acid, however it is written; empty if it is none."""
    plain = re.sub(r"\(.*?\)", "", text).strip().lower()
    plain = re.sub(r"^(?:an?|the)\s", "", plain).removeprefix("premature ")
    plain = re.sub(r"\s(?:residue|codon|signal)$", "", plain).strip()
    return ACIDS.get(plain, text.upper() if len(text) == 1 else "")


def _bases(text: str) -> str:
    """Return letters of bases, which may be written as words."""
    plain = re.sub(r"\s?\(.*?\)", "", text).strip()
    return BASES.get(plain.lower(), plain.upper())


def _span(first: str, last: str | None) -> str:
    return position_of(first) if last is None else complete_range(position_of(first), position_of(last))


def _level(text: str | None) -> Level:
    return next((each for each in _LEVELS if each == text), "c")


def make_rs(found: re.Match[str]) -> SequenceVariant:
    """Make an rs number."""
    return SequenceVariant("rs", "rs", position=found["rs"].lstrip("0") or "0")


def make_substitution(found: re.Match[str]) -> SequenceVariant:
    """Make a substitution of bases with a position."""
    level = _level(found.groupdict().get("level"))
    return SequenceVariant(level, "sub", _bases(found["before"]), position_of(found["at"]), _bases(found["after"]))


def make_bare_substitution(found: re.Match[str]) -> SequenceVariant | None:
    """Make a substitution without a prefix; *-31T/T* is a genotype, but *12 A>A* is nothing."""
    return None if found["before"] == found["after"] and "/" not in found[0] else make_substitution(found)


def make_change(found: re.Match[str]) -> SequenceVariant:
    """Make a deletion, insertion, duplication or inversion; *370-371insA* is a range, not a place in an intron."""
    first, last = found["at"], found["last"]
    if last is None and (whole := re.fullmatch(r"([0-9]+)\s?[-\u2013]\s?([0-9]+)", first)):
        first, last = whole[1], whole[2]
    groups = found.groupdict()
    level, at = _level(found["level"]), _span(first, last)
    if groups.get("ins"):
        return SequenceVariant(level, "delins", position=at, after=_bases(groups.get("new") or ""))
    residues = _bases(found["lost"] or "")
    kind = _kind(found["kind"])
    return SequenceVariant(level, kind, residues, at) if kind == "del" else SequenceVariant(level, kind, "", at, residues)


def _kind(text: str) -> Kind:
    """Return the kind of a change from its word.

    >>> _kind("deletions"), _kind("insertion/deletion"), _kind("Ins")
    ('del', 'delins', 'ins')
    """
    word = text.lower()
    if "/" in word or word.startswith("indel"):
        return "delins"
    kinds: tuple[Kind, ...] = ("del", "ins", "dup", "inv")
    return next(each for each in kinds if word.startswith(each))


def make_protein(found: re.Match[str]) -> SequenceVariant | None:
    """Make a substitution of amino acids."""
    before, after = _acid(found["before"]), _acid(found["after"])
    return SequenceVariant("p", "sub", before, found["at"], after) if before and after else None


def make_swapped(found: re.Match[str]) -> SequenceVariant | None:
    """Make a substitution of words: in *valine for glutamate*, valine is the new residue."""
    variant = make_protein(found)
    is_swapped = re.fullmatch(r"\s(?:.*\s)?(?:for|instead\sof)\s.*", found["how"]) is not None
    return SequenceVariant("p", "sub", variant.after, variant.position, variant.before) if variant and is_swapped else variant


def make_short(found: re.Match[str]) -> SequenceVariant | None:
    """Make a substitution of *A123C*: of amino acids unless both letters are bases, and then by the size of the number."""
    before, at, after = found["before"], found["at"], found["after"]
    if f"{before}{at}{after}" in _NO_VARIANTS or at.startswith("0"):
        return None
    if set(before + after) <= set("ACGT") and int(at) >= _MANY_RESIDUES:
        return SequenceVariant("c", "sub", before, at, after)
    is_joined = found.start() > 0 and found.string[found.start() - 1] in "-/+"
    is_name = int(at) < (_FEW_JOINED if is_joined else _FEW_RESIDUES) or len(at) > 5
    return None if is_name else SequenceVariant("p", "sub", before, at, _acid(after))


def make_frameshift(found: re.Match[str]) -> SequenceVariant:
    """Make a frameshift, with the new residue and the number of the stop codon if the text has them."""
    return SequenceVariant("p", "fs", _acid(found["before"]), found["at"], _acid(found["after"] or ""), found["stop"] or "")


def make_acid_change(found: re.Match[str]) -> SequenceVariant:
    """Make a deletion, insertion or duplication of amino acids."""
    last = found["last"]
    before = _acid(found["before"]) + (_acid(found["end"]) if last else "")
    new = found.groupdict().get("new") or ""
    return SequenceVariant("p", _kind(found["kind"]), before, complete_range(found["at"], last) if last else found["at"], new)


def make_delta(found: re.Match[str]) -> SequenceVariant:
    """Make a deletion written with a delta: of a residue (*ΔF508*), or of so many bases (*Δ32*)."""
    acid = _acid(found["before"] or "")
    return SequenceVariant("p", "del", acid, found["at"]) if acid else SequenceVariant("c", "del", found["at"])


def make_codon(found: re.Match[str]) -> SequenceVariant | None:
    """Make a substitution of an amino acid from codons."""
    before, after = acid_of_codon(found["before"]), acid_of_codon(found["after"])
    return SequenceVariant("p", "sub", before, found["at"], after) if before and after else None


def make_words(found: re.Match[str]) -> SequenceVariant:
    """Make a substitution of bases that is described in words; a base of a codon has no position in HGVS."""
    before, after = _bases(found["before"]), _bases(found["after"])
    at = position_of(found["at"])
    if re.search(r"codon|amino|residue", found[0]):
        acids = acid_of_codon(before), acid_of_codon(after)
        return (
            SequenceVariant("p", "sub", acids[0], at, acids[1])
            if all(acids)
            else SequenceVariant("c", "sub", before, "", after)
        )
    if " for " in found["how"]:
        before, after = after, before
    is_upstream = re.match(r"\s?(?:bp\s)?upstream", found.string[found.end("at") : found.end("at") + 14]) is not None
    return SequenceVariant("c", "sub", before, f"-{at}" if is_upstream and at.isdigit() else at, after)


def make_event(found: re.Match[str]) -> SequenceVariant:
    """Make a deletion, insertion or duplication that is described in words; one of a codon has no position in HGVS."""
    groups = found.groupdict()
    at = _span(groups["at"], groups.get("last")) if groups.get("at") and "codon" not in found[0] else ""
    what = _bases(groups.get("what") or groups.get("size") or "")
    kind = _kind(found["kind"])
    return SequenceVariant("c", kind, what, at) if kind == "del" else SequenceVariant("c", kind, "", at, what)


def make_unplaced(found: re.Match[str]) -> SequenceVariant | None:
    """Make a substitution without a position; equal residues are a genotype, and *lamin A/C* is a protein."""
    before, after = found["before"], found["after"]
    is_protein = found.string[max(0, found.start() - 6) : found.start()].lower() == "lamin "
    if before == after or is_protein:
        return None
    if len(before) > 2:
        return SequenceVariant("p", "sub", _acid(before), "", _acid(after))
    return SequenceVariant("c", "sub", before, "", after)


def make_allele(found: re.Match[str]) -> SequenceVariant:
    """Make a residue at a position."""
    after, at = found["after"], position_of(found["at"])
    if len(after) > 2 and after.lower() not in BASES:
        return SequenceVariant("p", "allele", "", at, _acid(after))
    return SequenceVariant("c", "allele", "", at, _bases(after))


def make_known_allele(found: re.Match[str], positions: Mapping[tuple[bool, str], frozenset[str]]) -> SequenceVariant | None:
    """Make an allele or a genotype (*1858TT*) of a variant, given residues by level and position; None if it has others."""
    residue, at = found["after"] or found["first"], found["at"] or found["place"]
    acid = _acid(residue) if len(residue) == 3 else ""
    for is_protein, level in ((True, "p"), (False, "c")):
        known = positions.get((is_protein, at), frozenset())
        if (acid and is_protein and acid in known) or (not acid and set(residue) <= known):
            return SequenceVariant(_level(level), "allele", "", at, acid or residue[0])
    return None
