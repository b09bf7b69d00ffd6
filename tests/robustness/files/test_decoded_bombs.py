"""Tests of the suite `decoded-bombs`: its bounds, and some of its files."""

from __future__ import annotations

import pytest

from onym.registry import FORMATS
from tests.robustness.attacks.rows import Outcome as Visited
from tests.robustness.files.decoded_bombs import CASES, is_bounded, is_harmless
from tests.robustness.files.doors import VISITS
from tests.robustness.files.kb_hostile import Outcome, outcomes

SOME = ("bioc_json: 100 gaps", "genbioel: starts without", "brat: spans of a whole", "jsonl: mentions of a whole")


def test_has_files_of_all_formats() -> None:
    assert len(CASES) >= 60
    assert {case.format for case in CASES} == set(FORMATS.built_in)


@pytest.mark.parametrize(
    ("code", "seconds", "mb", "bounded"),
    [("limit-ratio", 1, 10, True), ("!parsed", 1, 10, True), ("!MemoryError", 1, 10, False), ("!hangs", 4, 0, False),
     ("!parsed", 6, 10, False), ("limit-ratio", 1, 300, False)],
)  # fmt: skip
def test_bounds_of_time_and_memory(code: str, seconds: float, mb: float, bounded: bool) -> None:
    assert is_bounded(Outcome(CASES[0], code, seconds, mb)) is bounded


def test_bombs_go_through_every_kind_of_door() -> None:
    commands = {visit.name.split(":")[0] for visit in VISITS}
    assert len(VISITS) >= 80
    assert len({visit.name for visit in VISITS}) >= 70
    assert {"link", "map", "evaluate", "batch verify", "batch export", "batch compact", "review create", "review show",
            "audit plan", "audit report", "migrate", "serve", "corpus convert", "kb build"} <= commands  # fmt: skip


@pytest.mark.parametrize(
    ("status", "stderr", "mb", "harmless"),
    [(6, "[limit-ratio] a bomb", 200, True), (0, "", 200, True), (6, "[limit-ratio] a bomb", 601, False),
     (1, "[internal-error] MemoryError", 200, False), (-9, "", 200, False), (1, "Traceback", 200, False)],
)  # fmt: skip
def test_bounds_of_processes(status: int, stderr: str, mb: float, harmless: bool) -> None:
    assert is_harmless(Visited(status, "", stderr, mb)) is harmless


@pytest.mark.slow
def test_some_files_are_bounded() -> None:
    found = outcomes([case for case in CASES if case.name.startswith(SOME)])
    assert len(found) == len(SOME)
    assert all(outcome.mb < 256 and not outcome.code.startswith(("!hangs", "!dies", "!Mem")) for outcome in found)
