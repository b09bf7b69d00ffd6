"""Check on all characters and random strings that normalised text, other offset units and splits map back to raw code points.

scalars     number of Unicode characters; each is tested alone, between ASCII letters, and between combining characters
cases       number of random strings, of characters that expand, shrink, combine, reorder, vanish or take two UTF-16 units
violations  number of violated properties

Violations are reported on stderr with the escaped string.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import le, lt
from typing import NamedTuple

from onym.corpora.formats._bioc import Unit, Units
from onym.text.analysis import Aligned, Step, align, collapse, lower, nfkc, punctuation
from onym.text.boundaries import sentences, words
from onym.text.normal import PUNCTUATION, normal_name
from onym.types import Offsets

Task = tuple[str, int]
Finding = tuple[str, str]  # the violated property, and the text that violates it

SCALARS = (*range(0xD800), *range(0xE000, 0x110000))
# Contexts of a character: alone, between ASCII letters, and between a letter that takes a nukta and an accent.
CONTEXTS = ("{}", "a{}b", "\u0915{}\u0301")
FULL, QUICK = 10_000_000, 1_000_000
MAX_LENGTH = 10
_MAX_SHOWN = 20
_SCALARS_A_TASK, _CASES_A_TASK, _WORDS = 16_384, 10_000, 256
_TO_SPACE = str.maketrans(dict.fromkeys(PUNCTUATION, " "))


class Chain(NamedTuple):
    """Normalisation steps, an equivalent Python function, and whether the steps map each character separately."""

    name: str
    steps: tuple[Step, ...]
    plain: Callable[[str], str]
    is_by_character: bool


def plain_nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def plain_spaces(text: str) -> str:
    return " ".join(text.split())


def plain_punctuation(text: str) -> str:
    return text.translate(_TO_SPACE)


def plain_name(text: str) -> str:
    """Return the normal form of a name, in which non-ASCII white space is collapsed, too."""
    return plain_spaces(normal_name(text))


def plain_nfkc_name(text: str) -> str:
    return plain_name(plain_nfkc(text))


CHAINS = (
    Chain("lower", (lower,), str.lower, is_by_character=True),
    Chain("nfkc", (nfkc,), plain_nfkc, is_by_character=False),
    Chain("punctuation", (punctuation,), plain_punctuation, is_by_character=True),
    Chain("collapse", (collapse,), plain_spaces, is_by_character=True),
    Chain("name", (lower, punctuation, collapse), plain_name, is_by_character=True),
    Chain("nfkc-name", (nfkc, lower, punctuation, collapse), plain_nfkc_name, is_by_character=False),
)
CODECS: dict[Unit, tuple[str, int]] = {"utf8": ("utf-8", 1), "utf16": ("utf-16-le", 2)}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, default=0, help=f"random strings (default: {FULL:,}, or {QUICK:,} with --quick)")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--workers", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, object]:
    cases = options.cases or (QUICK if options.quick else FULL)
    tasks = [("scalars", start) for start in range(0, len(SCALARS), _SCALARS_A_TASK)]
    tasks += [("cases", start) for start in range(0, cases, _CASES_A_TASK)]
    violations = 0
    for found in _results(partial(_work, options.seed, cases), tasks, options.workers):
        for what, text in found[: max(0, _MAX_SHOWN - violations)]:
            print(what, ascii(text), file=sys.stderr)
        violations += len(found)
    return {"scalars": len(SCALARS), "cases": cases, "violations": violations}


def _results(work: Callable[[Task], list[Finding]], tasks: list[Task], workers: int) -> Iterator[list[Finding]]:
    if workers == 1:
        yield from map(work, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(work, tasks)


def _work(seed: int, cases: int, task: Task) -> list[Finding]:
    kind, start = task
    if kind == "scalars":
        return violations_of(list(iter_contexts(SCALARS[start : start + _SCALARS_A_TASK])))
    return violations_of(list(iter_cases(seed, start, min(start + _CASES_A_TASK, cases))))


def iter_contexts(codes: Iterable[int]) -> Iterator[str]:
    """Yield each character in each context: as a text, or as a word in a longer text if it is never normalised."""
    chars = list(map(chr, codes))
    quiet = [char for char in chars if _is_quiet(char)]
    for context in CONTEXTS:
        yield from (context.format(char) for char in chars if not _is_quiet(char))
        for start in range(0, len(quiet), _WORDS):
            yield " ".join(map(context.format, quiet[start : start + _WORDS]))


def _is_quiet(char: str) -> bool:
    """Return whether a character is never normalised or combined, and is not a space, mark or punctuation."""
    is_plain = unicodedata.category(char) in ("Lo", "So", "Cn", "Co") and not unicodedata.combining(char)
    return is_plain and plain_nfkc(char) == char == char.lower() and not "\u1100" <= char <= "\u11ff"


def iter_cases(seed: int, start: int, end: int) -> Iterator[str]:
    """Yield the random strings from `start` to `end`, which must be the bounds of a task."""
    source = random.Random(f"{seed} {start}")
    alphabet = difficult()
    characters = source.choices(alphabet, k=(end - start) * MAX_LENGTH // 2)
    offset = 0
    for _ in range(start, end):
        size = int(source.random() * (MAX_LENGTH + 1))
        if offset + size > len(characters):
            characters, offset = source.choices(alphabet, k=len(characters)), 0
        yield "".join(characters[offset : offset + size])
        offset += size


def difficult() -> list[str]:
    """Return the alphabet of random strings; difficult characters occur more often."""
    ranges = [
        *[(0x20, 0x7F)] * 4, (0xA0, 0x250), *[(0x300, 0x370)] * 3, (0x370, 0x400), (0x5B0, 0x5F0), (0x900, 0x980),
        (0x9BC, 0x9D8), *[(0xF71, 0xF86)] * 3, (0x1100, 0x1200), (0x1E00, 0x2000), (0x2000, 0x2070), (0x2070, 0x20F0),
        (0x2100, 0x2190), (0x3000, 0x3100), (0xAC00, 0xAC40), *[(0xFB00, 0xFB07)] * 4, (0xFB1D, 0xFB50), (0xFE00, 0xFE10),
        (0xFF00, 0xFFF0), (0x11930, 0x11940), (0x1D15E, 0x1D165), (0x1D400, 0x1D420), (0x1F980, 0x1F990), (0x2F800, 0x2F820),
    ]  # fmt: skip
    characters = [chr(code) for first, last in ranges for code in range(first, last)]
    repeated = "\u0130\u03a3\u0345\ufdfa\u00ad\u200b\u200d\ufeff\u2028\u3000\u00a0\t\n\r\x0b\x1c\x85.!?()[]{}-+'\"" * 15
    return characters + list(repeated)


def violations_of(texts: Sequence[str]) -> list[Finding]:
    """Return the violated properties with their texts. The outer loop is over normalisers, which is faster in Python."""
    found = [(f"{what} of {chain.name}", text) for chain in CHAINS for text in texts for what in _wrong_alignment(text, chain)]
    found += [("units", text) for text in texts if not _is_counted(text)]
    found += [("words", text) for text in texts if not _is_split(text, words(text), str.isalnum)]
    found += [("sentences", text) for text in texts if not _is_split(text, sentences(text), _is_no_space)]
    return found


def _wrong_alignment(text: str, chain: Chain) -> Sequence[str]:
    aligned = align(text, *chain.steps)
    wrong = [] if aligned.raw == text and aligned.text == chain.plain(text) else ["text"]
    if (chain.is_by_character or aligned.text == text) and _is_itself(aligned):
        return wrong
    if not _is_sound(aligned):
        return [*wrong, "map"]
    if not _is_kept(aligned, chain.plain):
        return [*wrong, "coverage"]
    return wrong if _leads_back(aligned, chain.plain) else [*wrong, "surface"]


def _is_itself(aligned: Aligned) -> bool:
    """Return whether the alignment is the identity."""
    size = len(aligned.raw)
    return len(aligned.text) == size and aligned.starts == tuple(range(size)) and aligned.ends == tuple(range(1, size + 1))


def _is_sound(aligned: Aligned) -> bool:
    """Return whether every character has a span inside the raw text, and spans are in order."""
    starts, ends = aligned.starts, aligned.ends
    if not len(starts) == len(ends) == len(aligned.text):
        return False
    if not starts:
        return True
    is_inside = starts[0] >= 0 and ends[-1] <= len(aligned.raw) and all(map(lt, starts, ends))
    return is_inside and all(map(le, starts, starts[1:])) and all(map(le, ends, ends[1:]))


def _is_kept(aligned: Aligned, plain: Callable[[str], str]) -> bool:
    """Return whether raw text that no character maps to is empty after normalisation."""
    raw, starts, ends = aligned.raw, aligned.starts, aligned.ends
    offset = 0
    for start, end in zip(starts, ends, strict=True):
        if start > offset and plain(raw[offset:start]).strip():
            return False
        offset = end
    return offset == len(raw) or not plain(raw[offset:]).strip()


def _leads_back(aligned: Aligned, plain: Callable[[str], str]) -> bool:
    """Return whether a raw span maps to a span of the normalised text, which maps back to exactly the raw span."""
    raw, starts, ends = aligned.raw, aligned.starts, aligned.ends
    start, end = _within(raw)
    first, last = aligned.norm_span(start, end)
    if first == last:
        return not plain(raw[start:end]).strip()
    back_start, back_end = aligned.raw_span(first, last)
    if back_start > start and plain(raw[start:back_start]).strip():
        return False
    if back_end < end and plain(raw[back_end:end]).strip():
        return False
    # One raw character became several, and one of these was a space that was collapsed.
    while first and ends[first - 1] > starts[first]:
        first -= 1
    while last < len(starts) and ends[last - 1] > starts[last]:
        last += 1
    back_start, back_end = aligned.raw_span(first, last)
    back, text = plain(raw[back_start:back_end]), aligned.text[first:last]
    return back == text or _comparable(back) == _comparable(text)


def _within(text: str) -> Offsets:
    return len(text) // 3, len(text) - len(text) // 4


def _comparable(text: str) -> str:
    """Strip spaces, and replace the final sigma, whose form depends on what follows."""
    return text.strip().replace("\u03c2", "\u03c3")


def _is_counted(text: str) -> bool:
    """Return whether some offsets convert correctly to bytes and UTF-16 units and back."""
    for unit, (codec, size) in CODECS.items():
        units = Units(text, unit)
        for offset in (*_within(text), len(text)):
            counted = units.of(offset)
            if counted != len(text[:offset].encode(codec)) // size or units.code_point(counted) != offset:
                return False
    return True


def _is_split(text: str, spans: list[Offsets], belongs: Callable[[str], bool]) -> bool:
    """Return whether spans are sorted, disjoint, in range and not empty, and cover every character that they must cover."""
    offset = 0
    for start, end in spans:
        if not offset <= start < end <= len(text) or any(map(belongs, text[offset:start])):
            return False
        offset = end
    return not any(map(belongs, text[offset:]))


def _is_no_space(char: str) -> bool:
    return not char.isspace()
