"""Mutated releases, read by every reader: each must be parsed, or refused by an error with a code.

readers          how many formats were read
cases            how many mutated releases there were in all
cases_per_reader how many of each format
other_outcomes   how many ended otherwise: another exception, a hang of 5 s, a crash, growth of the process by 256 MB

What ends otherwise is told on stderr with a number that `--replay reader:number` runs again.
"""

from __future__ import annotations

import argparse

from benchmarks.fuzz.crew import OTHER, add_fuzz_options, fuzz
from benchmarks.kb.fuzz_cases import SUITE
from onym.kb.readers import ORDER as FORMATS

UPPER_BOUNDS = {OTHER: 0}


def add_options(parser: argparse.ArgumentParser) -> None:
    add_fuzz_options(parser, FORMATS)


def run(options: argparse.Namespace) -> dict[str, object]:
    figures, _ = fuzz(options, SUITE)
    return figures
