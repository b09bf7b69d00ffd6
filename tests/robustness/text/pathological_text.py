"""Link pathological texts with a dictionary, patterns of variants, exact match and assertion marks; check that time is linear.

texts                   number of text shapes: brackets, marks, white space, scripts, expanding letters, definitions
time_ratio_per_doubling CPU time for a text of twice the length, divided by that for the text itself; the largest ratio over all
                        shapes, at lengths that take long enough to measure. A ratio that seems too large is replaced by the
                        median of several pairs of runs
worst_s                 longest CPU time for one text of 40,000 characters (10,000 with `--quick`), in seconds. A text that
                        takes more than half a second is timed five more times, because the core may be busy
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from onym.detect import detector_config
from onym.pipeline.folder import build_pipeline
from onym.pipeline.pipeline import Pipeline
from onym.types import Document
from tests.robustness.text.pipeline_hostile_text import NAMES, make_kb

LENGTH, MAX_LENGTH, QUICK = 40_000, 160_000, 10_000
ENOUGH_S, QUICK_S = 0.1, 0.03  # minimum CPU seconds of a run whose time is compared with that of twice the size
MAX_RATIO, MAX_S = 2.5, 2.0
SLOW_S, AGAIN = 0.5, 5  # if a text takes longer than SLOW_S, it is timed AGAIN more times
ROUNDS = 15

Shape = Callable[[int], str]


def _over(unit: str) -> Shape:
    """Return the shape that repeats `unit`."""
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def _nest(opening: str, inside: str, closing: str) -> Shape:
    return lambda length: opening * (length // 2) + inside + closing * (length // 2)


def _then(first: str, second: str) -> Shape:
    """Return the shape whose first half repeats one unit and whose second half another."""
    return lambda length: _over(first)(length // 2) + _over(second)(length // 2)


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
    **{name: _over(unit) for name, unit in _UNITS.items()},
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


def run(options: argparse.Namespace) -> dict[str, object]:
    """Link every shape; with `--quick`, a quarter as long and only once."""
    worst = 0.0
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        pipeline = build_pipeline(
            make_kb(Path(folder)), Path(folder) / "pipeline", detector=detector_config("dictionary,variants"), assertion=True
        )
        seconds(pipeline, " ".join(NAMES), 1)
        for name, shape in SHAPES.items():
            took = first_seconds(pipeline, shape(QUICK if options.quick else LENGTH), 1 if options.quick else 3)
            ratio = ratio_of(pipeline, shape, took, options)
            if getattr(options, "verbose", False):
                print(f"{took:7.3f} s {ratio:6.2f}  {name}", file=sys.stderr)
            worst, ratios = max(worst, took), [*ratios, ratio]
    figures = {"texts": len(SHAPES), "time_ratio_per_doubling": round(max(ratios), 2), "worst_s": round(worst, 2)}
    if max(ratios) > MAX_RATIO or worst > MAX_S:
        sys.exit(f"{figures}; the maximum is a ratio of {MAX_RATIO} and {MAX_S} s")
    return {**figures}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="report each text on stderr")


def ratio_of(pipeline: Pipeline, shape: Shape, took: float, options: argparse.Namespace) -> float:
    """Return the ratio of times when the text doubles, at a size that takes long enough to measure."""
    length, max_length, enough, repeats = (QUICK, QUICK, QUICK_S, 1) if options.quick else (LENGTH, MAX_LENGTH, ENOUGH_S, 3)
    while took < enough and length < max_length:
        length *= 2
        took = seconds(pipeline, shape(length), repeats)
    if took < enough:
        return 0.0  # too fast to measure, and fast enough not to matter
    ratio = seconds(pipeline, shape(2 * length), repeats) / took
    if ratio <= MAX_RATIO:
        return ratio
    # on a busy core, linear time may look superlinear: use the median of several pairs of runs
    return median(seconds(pipeline, shape(2 * length), 1) / seconds(pipeline, shape(length), 1) for _ in range(ROUNDS))


def first_seconds(pipeline: Pipeline, text: str, repeats: int) -> float:
    """Return the time of a text; a slow text is timed again, because the core may be busy."""
    took = seconds(pipeline, text, repeats)
    return took if took < SLOW_S else min(took, seconds(pipeline, text, AGAIN))


def seconds(pipeline: Pipeline, text: str, repeats: int) -> float:
    """Return the smallest CPU time of several runs."""
    times = []
    for _ in range(repeats):
        before = time.process_time()
        pipeline.link(Document("1", text))
        times.append(time.process_time() - before)
    return min(times)
