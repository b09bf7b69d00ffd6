"""Patterns of variant mentions: HGVS, rs numbers, older notations, and changes that are described in words.

Every repetition in a pattern is bounded, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from onym.methods.variants import makers
from onym.methods.variants.forms import ACIDS, BASES, SequenceVariant

_START, _END = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
_SIGN = "[-+\u2212\u2013]"
_ARROWS = "-{0,4}>|&gt;|\u2192|/"
_ARROW = rf"(?:\s{{0,2}}(?:{_ARROWS}|-{{3,4}})\s{{0,2}})"
_TO = rf"(?:\s{{0,2}}(?:{_ARROWS})\s{{0,2}}|\s?-?\bto\b-?\s?)"
_TO_WORDS = (
    r"(?:\s(?:was\s|is\s)?(?:changed\s|replaced\s|substituted\s|altered\s|mutated\s)?"
    r"(?:to|into|by|with|for|instead\sof)\s(?:an?\s|the\s)?)"
)
_THREE = "Ala|Arg|Asn|Asp|Cys|Gln|Glu|Gly|His|Ile|Leu|Lys|Met|Phe|Pro|Ser|Thr|Trp|Tyr|Val"
_ONE = "[ACDEFGHIKLMNPQRSTVWY]"
_NO_ACIDS = ("termination", "nonsense")
_LONG = "|".join(sorted((name for name in ACIDS if len(name) > 4 and name not in _NO_ACIDS), key=len, reverse=True))
_BASE_NAMES = "|".join(BASES)
_STOP = r"(?:premature\s)?(?:stop|termination|nonsense|Term?)(?:\s(?:codon|signal))?(?:\s\([A-Z]{3}\))?"
_GLOSS = r"(?:\s?\((?:[A-Z]|[A-Z][a-z]{2}|[ACGTU]{3})\))?"  # valine (Val), arginine (CGA)
_ACID = rf"(?:(?i:{_LONG}){_GLOSS}(?:\s(?:residue|codon))?{_GLOSS}|(?:{_THREE}){_GLOSS})"
_TARGET = rf"(?:an?\s|the\s)?(?:(?i:{_LONG}){_GLOSS}|(?:{_THREE}){_GLOSS}|(?i:{_STOP}))"
_BASE = rf"(?:[ACGTU]{{1,8}}|(?i:{_BASE_NAMES})(?:\s\([ACGTU]\))?)"
_LETTERS = r"[ACGTUN]{1,60}(?![a-z])"
_PLACE = rf"(?:{_SIGN}\s?|\*)?[0-9]{{1,9}}(?:,[0-9]{{3}}){{0,2}}(?:\s?{_SIGN}\s?[0-9]{{1,6}})?"
_INTRON = rf"IVS[-\s]?(?:[0-9]{{1,3}}|[IVX]{{1,5}})\s?{_SIGN}\s?[0-9]{{1,6}}"
_NUMBER = r"(?P<at>[0-9]{1,5})"
_FILL_WORDS = (
    r"single|point|missense|nonsense|base|nucleotides?|nt|amino-?\s?acids?|substitution|transition|transversion|mutation|change|"
    r"polymorphism|exchange|replacement|variant|SNP|conversion|alteration|was|identified|found|occurs?|in|at|of|the|exon|intron|"
    r"cDNA|genomic|coding|position|positions|residue|residues|codons?|promoter|region|polymorphic|site|bp|base-?\s?pairs?|"
    r"sequence|located|heterozygous|homozygous|novel|[0-9]{1,2}(?=\s(?:\(|at|position|codon|,))"
)
_FILL = rf"(?:[\s,(]{{1,2}}(?:{_FILL_WORDS})){{1,7}}(?<!exon)(?<!intron)"  # an exon's number is not a position
_AFTER_NUMBER = r"(?![0-9A-Za-z'\u2019])\)?"  # 5' is the end of a strand, not a position

Make = Callable[[re.Match[str]], SequenceVariant | None]


class FoundVariant(NamedTuple):
    """A variant at its offsets, with the name of the pattern that found it."""

    start: int
    end: int
    variant: SequenceVariant
    pattern: str


class Pattern(NamedTuple):
    """A regular expression, and the function that makes a variant of a match; a text without any of the hints has no match."""

    name: str
    regex: re.Pattern[str]
    make: Make
    hints: tuple[str, ...]


def _pattern(name: str, regex: str, make: Make, *hints: str) -> Pattern:
    return Pattern(name, re.compile(regex), make, hints)


_PROTEIN_HINTS = ("p.", "P.", "p .", "P .")
_EVENT_HINTS = ("del", "ins", "dup", "inv", "Del", "Ins")
_CHANGE = (
    rf"(?P<kind>del(?:etion)?|ins(?:ertion)?|dup(?:lication)?|inv)(?!(?!ins)[a-z])\s?\.?(?P<lost>{_LETTERS}|[0-9]{{1,4}}(?![0-9]))?"
    rf"(?P<ins>\s?ins(?P<new>{_LETTERS})?)?"
)
_LAST = rf"(?:\s?[_/]\s?(?P<last>{_PLACE}))?"
_ANY_BASES = rf"(?P<before>[ACGTUacgtu]{{1,10}}){_ARROW}(?P<after>[ACGTUacgtu]{{1,10}})(?![A-Za-z])"


def _iter_hgvs() -> Iterator[Pattern]:
    """Yield rs numbers and forms with a prefix: c., g., m., n., r. and p., introns with IVS."""
    yield _pattern("rs", rf"{_START}[Rr]s(?:\s?#\s?|\s(?=[0-9]{{4}}))?(?P<rs>[0-9]{{2,11}}){_END}", makers.make_rs, "rs", "Rs")
    level, at = rf"{_START}(?P<level>[cgmnr])\s?\.\s?[(\[]?", rf"(?P<at>{_INTRON}|{_PLACE})"
    dots = tuple(f"{letter}{space}." for letter in "cgmnr" for space in ("", " "))
    yield _pattern("hgvs-dna", rf"{level}{at},?\s?{_ANY_BASES}\)?", makers.make_substitution, *dots)
    yield _pattern("hgvs-dna-change", rf"{level}{at}{_LAST}\s?{_CHANGE}", makers.make_change, *dots)
    number = r"(?P<at>[0-9]{1,7}(?:[-+][0-9]{1,5})?)"
    letters_first = rf"(?P<before>[ACGTU])\s?{number}(?:\s?>\s?)?(?P<after>[ACGTU])(?![A-Za-z0-9])"
    yield _pattern("hgvs-dna-old", level + letters_first, makers.make_substitution, *dots)
    intron = rf"{_START}(?P<level>)(?P<at>{_INTRON})"
    yield _pattern("intron", rf"{intron}[,:]?\s?\(?{_ANY_BASES}\)?", makers.make_substitution, "IVS")
    yield _pattern("intron-change", rf"{intron}{_LAST}\s?{_CHANGE}", makers.make_change, "IVS")
    yield _pattern("intron-allele", rf"{intron}\s?(?P<after>[ACGT]{{1,2}}){_END}", makers.make_allele, "IVS")
    protein = r"(?<![A-Za-z0-9])[pP]\s?\.\s?[(\[]?"
    acid = rf"(?:{_THREE}|(?i:ter|stop)|[ACDEFGHIKLMNPQRSTVWXY*])"
    new = rf"(?P<after>{_THREE}|(?i:ter|stop)|[ACDEFGHIKLMNPQRSTVWXY*=])"
    shift = rf"(?P<before>{acid})\s?{_NUMBER}(?P<after>{acid})?{_SHIFT}\)?"
    yield _pattern("hgvs-frameshift", protein + shift, makers.make_frameshift, *_PROTEIN_HINTS)
    tail = rf"\s?(?P<kind>del|ins|dup)(?P<new>[A-Z]{{1,30}})?(?:ins(?:{_THREE}|[A-Z]){{1,10}})?"
    changed = rf"(?P<before>{acid})\s?{_NUMBER}(?:_(?P<end>{acid})(?P<last>[0-9]{{1,5}}))?{tail}"
    yield _pattern("hgvs-protein-change", protein + changed, makers.make_acid_change, *_PROTEIN_HINTS)
    plain = rf"(?P<before>{acid})\s?{_NUMBER}\s?(?:-?>|/)?\s?{new}(?![A-Za-z0-9])[)\]]?"
    yield _pattern("hgvs-protein", protein + plain, makers.make_protein, *_PROTEIN_HINTS)
    only = rf"{protein}(?P<after>{_THREE}|{_ONE}){_NUMBER}{_END}"
    yield _pattern("hgvs-allele", only, makers.make_allele, *_PROTEIN_HINTS)


_SHIFT = r"\s?fs\s?(?:(?:X|\*|Ter|ter)?\s?(?P<stop>[0-9]{1,4})?)?X?(?![a-z])"


def _iter_bare_dna() -> Iterator[Pattern]:
    """Yield changes of DNA without a prefix."""
    sign = rf"(?:(?<![0-9.]){_SIGN}\s?|(?<![A-Za-z0-9_.,])\+?)"
    at = rf"(?P<at>{sign}[0-9]{{1,9}}(?:,[0-9]{{3}}){{0,2}}(?:\s?[-+]\s?[0-9]{{1,6}})?)(?:\s?-?bp)?-?,?\s?"
    bases = rf"\(?(?P<before>[ACGTU]{{1,5}})(?:{_ARROW}|-to-|\sto\s)(?P<after>[ACGTU]{{1,5}})(?![A-Za-z0-9])\)?"
    yield _pattern("dna", at + bases, makers.make_bare_substitution, ">", "/", "\u2192", "--", "&gt;", "to")
    lost = r"(?P<lost>[ACGTUN]{1,60}(?![A-Za-z0-9])|[0-9]{1,3}(?![0-9A-Za-z])|(?![A-Za-z0-9]))"
    change = rf"(?P<kind>del|ins|dup|inv|Del|Ins)\s?{lost}(?P<ins>ins(?P<new>{_LETTERS}))?"
    yield _pattern("dna-change", rf"{_START}(?P<level>)(?P<at>{_PLACE}){_LAST}\s?{change}", makers.make_change, *_EVENT_HINTS)
    event_first = rf"(?P<kind>del|ins|dup)\s?(?P<at>[0-9]{{2,7}}){_LAST}\s?(?P<lost>{_LETTERS})(?![A-Za-z0-9])"
    yield _pattern("change-dna", rf"{_START}(?P<level>){event_first}", makers.make_change, *_EVENT_HINTS)
    signed = rf"\(?(?P<at>{_SIGN}[0-9]{{1,5}}(?:,[0-9]{{3}})?)\)?"
    pair = rf"{_START}(?P<before>[ACGT]{{1,2}}){signed}(?P<after>[ACGT]{{1,2}}){_END}"
    yield _pattern("signed", pair, makers.make_substitution)
    two = rf"{_START}(?P<before>[ACGT])\s?(?P<at>[0-9]{{2,7}})\s?(?P<after>[ACGT])/[ACGT]{_END}"
    yield _pattern("two-bases", two, makers.make_substitution, "/A", "/C", "/G", "/T")
    by = rf"{_START}(?P<before>[ACGT])(?P<at>[0-9]{{2,7}})\s(?:by|to)\s(?P<after>[ACGT]){_END}"
    yield _pattern("base-by", by, makers.make_substitution, " by ", " to ")
    yield _pattern("allele", rf"(?P<at>(?<![A-Za-z0-9]){_SIGN}[0-9]{{2,5}})\s?{_ALLELE}{_END}", makers.make_allele)
    place = rf"(?:(?:position|nucleotide|codon)\s)?(?P<at>{_SIGN}?[0-9]{{2,6}})"
    at_place = rf"{_START}{_ALLELE}\s(?:allele\s)?(?:at|of|for)\s(?:the\s)?{place}{_END}"
    yield _pattern("allele-at", at_place, makers.make_allele, " at ", " of ", " for ")


_ALLELE = rf"(?P<after>[ACGT]{{1,2}}|(?i:{_BASE_NAMES}))"


def _iter_bare_protein() -> Iterator[Pattern]:
    """Yield changes of proteins without a prefix."""
    shift = rf"(?P<before>{_THREE}|{_ONE}){_NUMBER}(?P<after>{_THREE}|{_ONE})?{_SHIFT}"
    yield _pattern("frameshift", f"{_START}{shift}{_END}", makers.make_frameshift, "fs")
    link = rf"(?:\s?[-\u2013]?\s?|\s?-?to-?\s?|{_ARROW})"
    three = rf"(?P<before>{_THREE})[-\s]?\(?{_NUMBER}\)?{link}(?P<after>{_THREE}|Ter|Stop|stop|term|X|\*)(?![A-Za-z0-9])"
    yield _pattern("three-letters", _START + three, makers.make_protein)
    last = rf"(?:[-_](?P<end>{_THREE}|{_ONE})(?P<last>[0-9]{{2,5}}))?"
    event = rf"(?P<before>{_THREE}|{_ONE})(?P<at>[0-9]{{2,5}}){last}\s?(?P<kind>del|dup)(?:etion|lication)?"
    yield _pattern("acid-event", f"{_START}{event}{_END}", makers.make_acid_change, "del", "dup")
    # also after the name of a gene: KrasG12D, rtM204V, JAK2V617F
    start = r"(?:(?<![A-Za-z0-9_.])|(?<=[a-z])(?=[A-Z][0-9]{2,4}[A-Z])|(?<=[A-Z][0-9])(?=[A-Z][0-9]{3}[A-Z]))"
    short = rf"(?P<before>{_ONE})(?P<at>[0-9]{{1,7}})(?P<after>[ACDEFGHIKLMNPQRSTVWXY*])(?![A-Za-z0-9_*])(?!-[0-9])"
    yield _pattern("short", start + short, makers.make_short)
    spaced = rf"{_START}(?P<before>[ACGT])\s(?P<at>[0-9]{{3,6}})\s?(?P<after>[ACGT]){_END}"
    yield _pattern("short-spaced", spaced, makers.make_short)
    stop = rf"{_START}(?P<before>{_ONE}){_NUMBER}\s?(?P<after>[Ss]top|[Tt]er){_END}"
    yield _pattern("stop-word", stop, makers.make_protein, "top", "er")
    delta = rf"(?:(?<![A-Za-z])[Dd]elta[-\s]?|[\u0394\u2206])(?P<before>{_ONE}|{_THREE})?(?P<at>[0-9]{{2,4}}){_END}"
    yield _pattern("delta", delta, makers.make_delta, "elta", "\u0394", "\u2206")


_UNITS = r"(?:bp|[kK]b|[MK]bp|kbp|Mb|base[-\s]?pairs?|nucleotides?|bases?|nt|amino[-\s]acids?)"
_EVENT = (
    r"(?P<kind>deletion/insertion|insertion/deletion|ins/del|"
    r"deletions?|deleted|insertions?|inserted|insert|duplications?|indel)"
)
_COUNT_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|twelve|single"


def _iter_events() -> Iterator[Pattern]:
    """Yield deletions, insertions and duplications that are described in words."""
    hints = ("deletion", "insert", "duplication", "deleted", "indel", "ins/del", "Deletion", "Insert", "Duplication")
    between = r"(?:in-?frame|tandem|heterozygous|homozygous|gene|genomic|interstitial|nucleotide|contiguous|\([ACGT]{1,12}\))"
    size = rf"(?P<size>[0-9]{{1,4}}(?:[.,][0-9]{{1,3}})?)[-\s]?{_UNITS}[-\s](?:{between}[-\s]){{0,3}}"
    yield _pattern("size", rf"(?<![A-Za-z0-9.]){size}{_EVENT}(?![A-Za-z])(?:\s\(indel\))?", makers.make_event, *hints)
    count = rf"(?P<size>[0-9]{{1,3}}(?:[.,][0-9]{{1,3}})?|an?|{_COUNT_WORDS})"
    of_size = rf"{_START}{_EVENT}\sof\s(?:about\s|approximately\s)?{count}[-\s]?{_UNITS}(?![A-Za-z])"
    yield _pattern("event-size", of_size, makers.make_event, *hints)
    in_words = rf"{_START}(?P<size>{_COUNT_WORDS})[-\s]{_UNITS}[-\s]{_EVENT}(?![A-Za-z])"
    yield _pattern("words-size", in_words, makers.make_event, *hints)
    last = r"(?:\s?(?:[-\u2013]|and|to)\s?(?P<last>[0-9]{2,7}))?(?![A-Za-z0-9']|,[0-9])\)?"
    where = rf"{_FILL}[\s(:]{{1,2}}(?P<at>{_SIGN}?[0-9]{{2,7}}){last}"
    bases = rf"(?P<what>[ACGTU]{{1,12}}|(?i:{_BASE_NAMES}))"
    yield _pattern("event-at", rf"{_START}{bases}[-\s](?:nucleotide\s)?{_EVENT}{where}", makers.make_event, *hints)
    of_bases = rf"\sof\s(?:an?\s|the\s|[0-9]{{1,3}}\s)?(?P<what>[ACGTU]{{1,12}}|(?i:{_BASE_NAMES})|bp)"
    of_which = rf"{_START}{_EVENT}{of_bases}(?:\s(?:residues?|nucleotides?))?{where}"
    yield _pattern("event-of", of_which, makers.make_event, *hints)
    kind = r"(?P<kind>deletion|insertion|duplication)(?![A-Za-z])"
    yield _pattern("bases-event", rf"{_START}(?P<what>[ACGT]{{2,12}})[-\s]{kind}", makers.make_event, *hints)
    yield _pattern("event-in-brackets", rf"\((?P<what>[ACGT]{{2,12}})\)\s{kind}", makers.make_event, *hints)
    short = rf"{_START}(?P<kind>del|ins|dup)(?:(?P<what>[ACGT]{{1,12}})|(?P<size>[0-9]{{1,4}})(?:bp)?){_END}"
    yield _pattern("short-event", short, makers.make_event, *_EVENT_HINTS)


def _iter_words() -> Iterator[Pattern]:
    """Yield substitutions that are described in words."""
    place = r"(?:residue\s|at\s(?:codon\s|position\s|residue\s|amino\sacid\s(?:position\s)?)?)?"
    how = rf"(?P<how>[-\s]to[-\s]|{_TO_WORDS}|[-\s])"
    acids = rf"(?P<before>(?i:{_LONG}){_GLOSS})[-\s]?{place}\(?{_NUMBER}\)?{how}(?P<after>{_TARGET})(?![A-Za-z])"
    names = ("ine", "ate", "acid", "ophan", "INE")
    yield _pattern("acid-words", _START + acids, makers.make_swapped, *names)
    how = rf"(?P<how>{_ARROW}|-to-|{_TO_WORDS}|/)"
    two = rf"(?P<before>{_ACID}|(?i:{_STOP})){how}(?P<after>{_TARGET})"
    yield _pattern("acids-at", rf"{_START}{two}{_FILL}[\s(:,]{{1,2}}(?:[cgp]\.)?{_NUMBER}{_AFTER_NUMBER}", makers.make_swapped)
    where = r"(?:codons?|position|residue|amino[-\s]acid(?:\s(?:position|residue))?|CD|cd)"
    of_place = rf"{_START}{where}\s{_NUMBER}[,:]?\s(?:\(?from\s)?(?P<before>{_ACID}){how}(?P<after>{_TARGET})(?![A-Za-z])"
    yield _pattern("codon-acids", of_place, makers.make_swapped, "codon", "position", "residue", "acid", "CD", "cd")
    arrow = r"(?:-{0,4}>|\s?to\s|/|\s-{0,3}>\s|-to-)"
    codons = rf"(?P<before>[ACGTU]{{3}}){arrow}(?P<after>[ACGTU]{{3}})(?![A-Za-z])"
    yield _pattern("codons", rf"{_START}codon\s(?:\(CD\)\s?)?{_NUMBER},?\s\(?{codons}\)?", makers.make_codon, "codon")
    inside = rf"{_START}(?P<before>[ACGTU]{{3}})\({_NUMBER}\)(?P<after>[ACGTU]{{3}}){_END}"
    yield _pattern("codon-in-brackets", inside, makers.make_codon, "(")
    change = rf"\(?(?P<before>{_BASE})(?P<how>{_TO}|\sfor\s|\sby\s)(?:an?\s)?(?P<after>{_BASE})\)?(?![A-Za-z0-9])"
    at = rf"[\s(:,]{{1,2}}(?:[cgp]\.)?(?P<at>{_SIGN}?[0-9]{{1,8}}(?:,[0-9]{{3}})?)"
    yield _pattern("bases-at", rf"(?<![A-Za-z0-9]){change}{_FILL}{at}{_AFTER_NUMBER}", makers.make_words)


def _iter_unplaced() -> Iterator[Pattern]:
    """Yield substitutions without a position."""
    arrow = r"(?:\s{0,2}-{0,4}>\s{0,2}|-to-|\sto\s|\u2192|/)"
    bases = rf"(?<![A-Za-z0-9/-])(?P<before>[ACGT]){arrow}(?P<after>[ACGT])(?![A-Za-z0-9/-])"
    yield _pattern("bases", bases, makers.make_unplaced)
    acids = rf"{_START}(?P<before>{_THREE}){arrow.replace('|/)', ')')}(?P<after>{_THREE}){_END}"  # Gln/Arg is a genotype
    yield _pattern("acids", acids, makers.make_unplaced)
    how = r"[-\s](?:to|for|by)[-\s](?:an?\s)?"
    words = rf"{_START}(?P<before>(?i:{_LONG})){how}(?P<after>(?i:{_LONG})){_END}"
    yield _pattern("acid-words-alone", words, makers.make_unplaced)


@cache
def patterns() -> tuple[Pattern, ...]:
    """Return all patterns, compiled once; the first is that of rs numbers."""
    return tuple(chain(_iter_hgvs(), _iter_bare_dna(), _iter_bare_protein(), _iter_events(), _iter_words(), _iter_unplaced()))


def find_variants(text: str) -> list[FoundVariant]:
    """Return the variants in a text, sorted by offset; of overlapping ones, the longest, then that of the first pattern.

    A residue with the position of a variant that the text has elsewhere is an allele of it: *1858T* beside *1858C>T*.

    >>> text = "BRAF Val600Glu (rs113488022), not 600Val"
    >>> [(each.variant.hgvs, text[each.start : each.end]) for each in find_variants(text)]
    [('p.V600E', 'Val600Glu'), ('', 'rs113488022'), ('', '600Val')]
    """
    found = list(_find_all(text))
    found += _find_alleles(text, [each.variant for each in found])
    kept: list[FoundVariant] = []
    taken = bytearray(len(text))
    for each in sorted(found, key=lambda each: (each.start - each.end, each.start)):
        if not any(taken[each.start : each.end]):
            taken[each.start : each.end] = b"\x01" * (each.end - each.start)
            kept.append(each)
    return sorted(kept)


def _find_alleles(text: str, variants: Iterable[SequenceVariant]) -> Iterator[FoundVariant]:
    """Yield residues at the positions of substitutions of a text, with the position before or after them."""
    known = dict.fromkeys(
        (each.level == "p", each.position, frozenset(each.before + each.after))
        for each in variants
        if each.kind == "sub" and each.position.lstrip("-").isdigit() and len(each.position) > 1
    )
    positions = {(is_protein, position): residues for is_protein, position, residues in known}
    for found in chain(_SIGNED_ALLELE.finditer(text), _ALLELES.finditer(text)) if positions else ():
        variant = makers.make_known_allele(found, positions)
        if variant is not None:
            yield FoundVariant(*found.span(), variant, "known-allele")


_RESIDUES = rf"(?:{_THREE}|[A-Z]{{1,2}}(?![a-z]))"
_SIGNED_ALLELE = re.compile(rf"(?P<at>-[0-9]{{1,9}})[-\s]?(?P<after>{_RESIDUES}){_END}(?P<first>)(?P<place>)")
_ALLELES = re.compile(
    rf"{_START}(?:(?P<at>[0-9]{{1,9}})[-\s]?(?P<after>{_RESIDUES})|(?P<first>{_RESIDUES})[-\s]?(?P<place>-?[0-9]{{1,9}})){_END}"
)


def _find_all(text: str) -> Iterator[FoundVariant]:
    for pattern in patterns():
        if pattern.hints and not any(hint in text for hint in pattern.hints):
            continue
        for found in pattern.regex.finditer(text):
            variant = pattern.make(found)
            if variant is not None:
                yield FoundVariant(*_trim(found), variant, pattern.name)


def _trim(found: re.Match[str]) -> tuple[int, int]:
    """Return the offsets of a match without spaces, and without a closing bracket that was not opened in it."""
    start, end = found.span()
    text = found[0]
    if text.endswith((")", "]")) and text.count("(") + text.count("[") < text.count(")") + text.count("]"):
        end -= 1
    inside = found.string[start:end]
    return start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))


def find_rs_numbers(text: str) -> list[FoundVariant]:
    """Return the rs numbers in a text.

    >>> [text[1] for text in find_rs_numbers("rs113488022")]
    [11]
    """
    rule = patterns()[0]
    pairs = ((found, rule.make(found)) for found in rule.regex.finditer(text))
    return [FoundVariant(*found.span(), variant, rule.name) for found, variant in pairs if variant]


@lru_cache(maxsize=16_384)
def read_variant(surface: str) -> SequenceVariant | None:
    """Return the variant that a mention is, or None; if the mention has several, the longest one.

    >>> read_variant("G to A at position 123").hgvs, read_variant("fever")
    ('c.123G>A', None)
    """
    found = max(_find_all(surface), key=lambda each: each.end - each.start, default=None)
    return found.variant if found else None
