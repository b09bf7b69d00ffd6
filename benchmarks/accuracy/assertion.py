"""Measure the F1 (percent) of assertion marks, such as negation, on the test set of ConText.

cases                    sentences, with one mention each
negation_f1              F1 of the mark `negated`; also its precision and recall
historical_f1            F1 of the mark `historical`; likewise `hypothetical_f1` and `other_experiencer_f1`
development_negation_f1  F1 on odd-numbered sentences, whose errors were inspected while collecting trigger phrases
held_out_negation_f1     F1 on even-numbered sentences, whose errors were not inspected; both halves come from the same reports
unmeasured               marks without gold annotations
mentions_per_s           speed: mentions per CPU second, each mention in its own document
documents_per_s          PubMed abstracts per CPU second of the starter with assertion marks, 300 abstracts, best round
documents_per_s_without  the same with `with_assertion(False)`; both take turns
speed_ratio              documents_per_s divided by documents_per_s_without, the median over the rounds

The mention of a sentence is its annotated condition. If a condition extends beyond the sentence, only the words inside it
count.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import get_args

from benchmarks.commands.link_speed import abstracts
from benchmarks.report import data_folder
from onym.packs import load
from onym.text import assertion_marks
from onym.types import AssertionMark, Document, Mention, Offsets

LOWER_BOUNDS = {"negation_f1": 94.6}
FULL_LOWER_BOUNDS = {"speed_ratio": 0.9}
UNMEASURED: tuple[AssertionMark, ...] = ("possible",)
_GOLD: dict[str, AssertionMark] = {
    "Negated": "negated",
    "Historical": "historical",
    "Not particular": "hypothetical",
    "Other": "other-experiencer",
    "Family member": "other-experiencer",
}
_REPEATS = 3
_ABSTRACTS, _QUICK = 300, 40
_ROUNDS = 7


@dataclass(frozen=True)
class Case:
    """A sentence with its mention and gold marks."""

    number: int
    document: Document
    gold: frozenset[AssertionMark]


def run(options: argparse.Namespace) -> dict[str, object]:
    cases = list(iter_cases(data_folder() / "assertion" / "rsAnnotations-1-120-random.txt"))
    found = [frozenset(assertion_marks(case.document)[0]) for case in cases]
    judged = list(zip(cases, found, strict=True))
    measured = [mark for mark in get_args(AssertionMark) if mark not in UNMEASURED]
    by_mark = {mark: scores(judged, mark) for mark in measured}
    precision, recall, negation_f1 = by_mark.pop("negated")
    halves = [[each for each in judged if each[0].number % 2 == odd] for odd in (1, 0)]
    development, held_out = (scores(half, "negated")[2] for half in halves)
    return {
        "cases": len(cases),
        "negation_f1": negation_f1,
        "negation_precision": precision,
        "negation_recall": recall,
        **{f"{mark.replace('-', '_')}_f1": f1 for mark, (_, _, f1) in by_mark.items()},
        "development_negation_f1": development,
        "held_out_negation_f1": held_out,
        "unmeasured": list(UNMEASURED),
        "mentions_per_s": round(len(cases) / min(_seconds(cases) for _ in range(_REPEATS))),
        **_speed_of_starter(_QUICK if options.quick else _ABSTRACTS),
    }


def iter_cases(path: Path) -> Iterator[Case]:
    """Yield the annotated sentences, skipping the header line."""
    for line in path.read_text("utf-8").splitlines()[1:]:
        number, condition, sentence, *labels = (cell.strip() for cell in line.split("\t"))
        start, end = mention_in(sentence, condition)
        mention = Mention(start, end, sentence[start:end])
        gold = frozenset(_GOLD[label] for label in labels if label in _GOLD)
        yield Case(int(number), Document(number, sentence, (mention,)), gold)


def mention_in(sentence: str, condition: str) -> Offsets:
    """Locate a condition in its sentence: look for it in capitals, then in any case, then for its first or last words only.

    >>> mention_in("Pain, but no PAIN now.", "pain"), mention_in("No fever.", "fever. Chills")
    ((13, 17), (3, 9))
    """
    words = condition.split()
    found = _search(words, sentence, upper=True)
    for count in range(len(words), 0, -1):
        found = found or _search(words[:count], sentence) or _search(words[-count:], sentence)
    if found is None:
        raise ValueError("no word of the condition is in its sentence")
    return found


def _search(words: list[str], sentence: str, *, upper: bool = False) -> Offsets | None:
    text = r"\s+".join(re.escape(word.upper() if upper else word) for word in words)
    found = re.search(text, sentence, 0 if upper else re.IGNORECASE)
    return found and found.span()


def scores(judged: Iterable[tuple[Case, frozenset[AssertionMark]]], mark: AssertionMark) -> tuple[float, float, float]:
    """Return precision, recall and F1 of a mark, in percent."""
    counts = Counter((mark in found, mark in case.gold) for case, found in judged)
    right, wrong, missed = counts[True, True], counts[True, False], counts[False, True]
    parts = (right + wrong, right + missed, (2 * right + wrong + missed) / 2)
    precision, recall, f1 = (round(100 * right / whole, 1) if whole else 0.0 for whole in parts)
    return precision, recall, f1


def _speed_of_starter(count: int) -> dict[str, float]:
    """Return the speed of the starter with and without assertion marks, and their ratio."""
    pipeline, docs = load("starter"), list(islice(abstracts(), count))
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for is_timed in (False, *[True] * _ROUNDS):
        for assertion, taken in seconds.items():
            began = time.process_time()
            deque(pipeline.with_assertion(assertion).link_many(docs), maxlen=0)
            if is_timed:
                taken.append(time.process_time() - began)
    ratios = [without / marked for marked, without in zip(seconds[True], seconds[False], strict=True)]
    return {
        "documents_per_s": round(count / min(seconds[True]), 1),
        "documents_per_s_without": round(count / min(seconds[False]), 1),
        "speed_ratio": round(median(ratios), 3),
    }


def _seconds(cases: list[Case]) -> float:
    before = time.process_time()
    for case in cases:
        assertion_marks(case.document)
    return time.process_time() - before
