"""Link pathological texts; check that time is linear, and that time and memory stay within those of prose.

All shapes are linked with a dictionary, patterns of variants, exact match and assertion marks; those of `starter_texts` with
the starter, assertion marks and rules that add mentions.

texts                   number of text shapes: brackets, marks, white space, scripts, expanding letters, definitions
time_ratio_per_doubling CPU time for a text of twice the length, divided by that for the text itself; the largest ratio over all
                        shapes, at lengths that take long enough to measure. A ratio that seems too large is replaced by the
                        median of several pairs of runs
worst_s                 longest CPU time for one text of 40,000 characters (10,000 with `--quick`), in seconds. A text that
                        takes more than half a second is timed five more times, because the core may be busy
times_prose             CPU seconds per megabyte with the starter, divided by those of prose; the largest ratio of its shapes
gb_per_mb               peak memory with the starter per megabyte of text, without that of the open pipeline; the largest
starter                 links, seconds per megabyte and gb_per_mb of each shape; at full size also of 8 MB, the limit of a text
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from types import MappingProxyType

from onym.methods import detector_config
from onym.pipeline.folder import build_pipeline
from onym.pipeline.pipeline import Pipeline
from onym.types import Document
from tests.robustness.meter import Meter
from tests.robustness.text.pipeline_hostile_text import NAMES, make_kb
from tests.robustness.text.shapes import SHAPES, Shape
from tests.robustness.text.starter_texts import REPEATED, corrected, forgetful, prose

LENGTH, MAX_LENGTH, QUICK = 40_000, 160_000, 10_000
QUICK_STEP = 5  # with `--quick`, every fifth shape
ENOUGH_S, QUICK_S = 0.1, 0.03  # minimum CPU seconds of a run whose time is compared with that of twice the size
MAX_RATIO, MAX_S = 2.5, 2.0
STARTER_LENGTH, STARTER_QUICK, LONGEST = 250_000, 8_000, 8_000_000
UPPER_BOUNDS = MappingProxyType({"times_prose": 3.0})
FULL_BOUNDS = MappingProxyType({"gb_per_mb": 0.5})  # constant parts outweigh the rest in a short text
SLOW_S, AGAIN = 0.5, 5  # if a text takes longer than SLOW_S, it is timed AGAIN more times
ROUNDS = 15


def run(options: argparse.Namespace) -> dict[str, object]:
    """Link every shape; with `--quick`, every fifth, a quarter as long and only once."""
    worst, shapes = 0.0, dict(list(SHAPES.items())[:: QUICK_STEP if options.quick else 1])
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        kb = make_kb(Path(folder))
        pipeline = build_pipeline(kb, Path(folder) / "pipeline", detector=detector_config("dictionary,variants"))
        seconds(pipeline, " ".join(NAMES), 1)
        for name, shape in shapes.items():
            took = first_seconds(pipeline, shape(QUICK if options.quick else LENGTH), 1 if options.quick else 3)
            ratio = ratio_of(pipeline, shape, took, options)
            if getattr(options, "verbose", False):
                print(f"{took:7.3f} s {ratio:6.2f}  {name}", file=sys.stderr)
            worst, ratios = max(worst, took), [*ratios, ratio]
    figures = {"texts": len(shapes), "time_ratio_per_doubling": round(max(ratios), 2), "worst_s": round(worst, 2)}
    if max(ratios) > MAX_RATIO or worst > MAX_S:
        sys.exit(f"{figures}; the maximum is a ratio of {MAX_RATIO} and {MAX_S} s")
    return {**figures, **_measure_starter(options)}


def _measure_starter(options: argparse.Namespace) -> dict[str, object]:
    """Return the time and memory of the starter on texts that repeat themselves, relative to prose."""
    length = STARTER_QUICK if options.quick else STARTER_LENGTH
    corrected().link(prose(STARTER_QUICK))
    meter = Meter(0, is_busy_only=True, give_back=lambda: ctypes.CDLL(None).malloc_trim(0))

    def measure(text: str) -> dict[str, float]:
        pipeline, mb = forgetful(corrected()), len(text) / 1e6
        row = meter.measure(lambda: {"links": len(pipeline.link(text).links)})
        return {"links": row["links"], "s_per_mb": round(row["seconds"] / mb, 2), "gb_per_mb": round(row["mb"] / 1000 / mb, 3)}

    plain = measure(prose(length))
    rows = {"prose": plain, **{name: measure(shape(length)) for name, shape in REPEATED.items()}}
    worst = max(row["s_per_mb"] for row in rows.values()) / plain["s_per_mb"]
    longest = {} if options.quick else {"longest": measure(SHAPES["opening brackets"](LONGEST))}
    largest = max(row["gb_per_mb"] for row in (*rows.values(), *longest.values()))
    return {"times_prose": round(worst, 2), "gb_per_mb": largest, "starter": rows | longest}


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
        fresh = forgetful(pipeline)
        before = time.process_time()
        fresh.link(Document("1", text))
        times.append(time.process_time() - before)
    return min(times)
