"""Mutated corpora, read by every format: one document is damaged, and all the others must still be there.

readers          how many formats were read
cases            how many mutated corpora there were in all
cases_per_reader how many of each format
other_outcomes   how many ended otherwise than with documents, problems and files that failed: another exception, a hang of 5 s,
                 a crash, growth of the process by 256 MB
bystanders       documents beside a damaged one: those in the same file where a format is read line by line or has a file for
                 each document, those in the other files for XML, JSON collections, Parquet and packed files
bystanders_lost  how many of them were not read as they are

What ends otherwise is told on stderr with a number that `--replay reader:number` runs again.
"""

from __future__ import annotations

import argparse

from benchmarks.corpora.fuzz_cases import BYSTANDERS, LOST, SUITE
from benchmarks.fuzz.crew import OTHER, add_fuzz_options, fuzz
from onym.corpora.formats import ORDER as FORMATS

UPPER_BOUNDS = {OTHER: 0, LOST: 0}


def add_options(parser: argparse.ArgumentParser) -> None:
    add_fuzz_options(parser, FORMATS)


def run(options: argparse.Namespace) -> dict[str, object]:
    figures, counts = fuzz(options, SUITE)
    return {**figures, BYSTANDERS: counts[BYSTANDERS], LOST: counts[LOST]} if figures else {}
