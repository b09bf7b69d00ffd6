"""Check kappa and alpha against published examples, and merges of desks on random histories of decisions.

examples_wrong    published examples whose value differs in the last printed digit
lost, doubled     decisions that are missing from a merge of copies, or in it more than once
reordered         histories whose order a merge changed
unlike            links whose decision depends on the order in which copies are merged
seconds           time of alpha for 10,000 units of two reviewers with 1,000 different labels

Each history is three copies of a desk, with undone decisions, clocks that go back, and decisions that several copies share.
`--quick` merges 100 histories instead of 1,000.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from onym.review.agreement import Distance, cohen_kappa, exact_distance, krippendorff_alpha
from onym.review.decisions import Decision, Standing
from onym.review.merge import merge_decisions

HISTORIES, QUICK_HISTORIES = 1_000, 100
UPPER_BOUNDS = MappingProxyType({"examples_wrong": 0, "lost": 0, "doubled": 0, "reordered": 0, "unlike": 0})
_LINKS, _DOCUMENTS, _CLUSTERS = 12, 3, 4

# Krippendorff (2011), sections A to C and E; a dot is a missing value
BINARY = ("0100000010", "1110010000")
NOMINAL = ("aabbdcccedda", "babbbccceddd")
FOUR = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
# Cohen (1968), table 1: cases of 200 by judge B (rows) and judge A (columns), and the weights of their disagreements
DIAGNOSES = ((88, 14, 18), (10, 40, 10), (2, 6, 12))
WEIGHTS = ((0, 1, 3), (1, 0, 6), (3, 6, 0))


def run(options: argparse.Namespace) -> dict[str, Any]:
    rng = random.Random(0)
    counts = dict.fromkeys(("decisions", "lost", "doubled", "reordered", "unlike"), 0)
    histories = QUICK_HISTORIES if options.quick else HISTORIES
    for _ in range(histories):
        _check_merge([_make_history(rng, reviewer) for reviewer in ("ann", "bob", "eve")], counts)
    return {**compare_examples(), "histories": histories, **counts, "seconds": round(_time_alpha(rng), 2)}


def compare_examples() -> dict[str, Any]:
    """Return the coefficients of the published examples, and how many differ from the printed ones."""
    judge_b = [row for row in range(3) for column in range(3) for _ in range(DIAGNOSES[row][column])]
    judge_a = [column for row in range(3) for column in range(3) for _ in range(DIAGNOSES[row][column])]
    found = {
        "alpha_binary": (_alpha(BINARY), 0.095),
        "alpha_nominal": (_alpha(NOMINAL), 0.692),
        "alpha_missing": (_alpha(FOUR), 0.743),
        "alpha_interval": (_alpha(FOUR, lambda one, other: (int(str(one)) - int(str(other))) ** 2), 0.849),
        "alpha_ratio": (_alpha(FOUR, _ratio), 0.797),
        "kappa": (cohen_kappa(judge_b, judge_a), 0.492),
        "kappa_weighted": (cohen_kappa(judge_b, judge_a, lambda one, other: WEIGHTS[int(str(one))][int(str(other))]), 0.348),
    }
    wrong = sum(value is None or round(value, 3) != printed for value, printed in found.values())
    return {name: round(value or 0, 3) for name, (value, _) in found.items()} | {"examples_wrong": wrong}


def _alpha(reviewers: tuple[str, ...], distance: Distance = exact_distance) -> float | None:
    units = [[None if label == "." else label for label in unit] for unit in zip(*reviewers, strict=True)]
    return krippendorff_alpha(units, distance)


def _ratio(one: object, other: object) -> float:
    first, second = int(str(one)), int(str(other))
    return ((first - second) / (first + second)) ** 2


def _make_history(rng: random.Random, reviewer: str) -> list[Decision]:
    """Return the decisions of a reviewer in the order of the desk: some undone, with clocks that sometimes go back."""
    made: list[Decision] = []
    for number in range(rng.randrange(25)):
        common: dict[str, Any] = {"id": f"{reviewer}-{number:06}", "reviewer": reviewer, "number": number + 1}
        common["time"] = f"2026-01-01T{rng.randrange(10, 20)}:{rng.randrange(60):02}:00Z"
        held = [each for each in made if each.verdict != "undo"]
        if held and rng.random() < 0.25:
            made.append(Decision(verdict="undo", undoes=rng.choice(held).id, **common))
        else:
            link = rng.randrange(_LINKS)
            common |= {"link": link, "document": link % _DOCUMENTS, "cluster": link % _CLUSTERS}
            common |= {"scope": rng.choice(("here", "document", "everywhere"))}
            made.append(Decision(verdict=rng.choice(("unsure", "no-concept", "not-a-mention")), **common))
    return made


def _check_merge(histories: list[list[Decision]], counts: dict[str, int]) -> None:
    merged = merge_decisions(histories)
    ids, wanted = [each.id for each in merged], {each.id for history in histories for each in history}
    counts["decisions"] += len(wanted)
    again = merge_decisions([merge_decisions(histories[1:]), histories[0], merged])  # a merge of merges
    for each in (ids, [decision.id for decision in again]):
        counts["lost"] += len(wanted - set(each))
        counts["doubled"] += len(each) - len(set(each))
    for history in histories:
        own = {each.id for each in history}
        counts["reordered"] += [each for each in ids if each in own] != [each.id for each in history]
    turned = merge_decisions(histories[::-1])
    one, other = Standing(merged), Standing(turned)
    for link in range(_LINKS):
        place = link, link % _DOCUMENTS, link % _CLUSTERS
        held, held_other = one.of(*place), other.of(*place)
        is_like = (held and replace(held, number=0)) == (held_other and replace(held_other, number=0))
        counts["unlike"] += not is_like


def _time_alpha(rng: random.Random) -> float:
    units = [(label := rng.randrange(1_000), label if rng.random() < 0.8 else rng.randrange(1_000)) for _ in range(10_000)]
    start = time.process_time()
    krippendorff_alpha(units)
    return time.process_time() - start
