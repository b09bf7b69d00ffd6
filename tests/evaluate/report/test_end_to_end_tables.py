"""Tests of the terminal tables of an end-to-end report."""

from __future__ import annotations

from rich.console import Console

from onym.evaluate.tables import end_to_end_tables
from tests.evaluate.report.samples import HOSTILE, end_to_end_sample


def print_tables(text: str = "fever") -> str:
    console = Console(width=250)
    with console.capture() as capture:
        for table in end_to_end_tables(end_to_end_sample(text)):
            console.print(table)
    return capture.get()


def test_shows_scores_types_and_errors() -> None:
    lines = [line.split() for line in print_tables().splitlines()]
    figures = ["80.0", "75.0–85.0", "50.0", "45.0–55.0", "61.5", "60.0–65.0"]
    assert ["→", "bhowmik-strict", *figures] in lines
    assert ["bhowmik-partial", *figures] in lines
    assert ["predicted", "items", "1,000"] in lines
    assert ["fever", "1,500", "60.0", "55.0–65.0"] in lines
    assert ["wrong", "concept", "7"] in lines
    assert ["parent", "1,234", "99.8"] in lines


def test_tables_fit_a_narrow_terminal() -> None:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(end_to_end_tables(end_to_end_sample())[0])
    assert "…" not in capture.get()
    assert "neleval-overlap-maxmax" in capture.get()


def test_rows_are_marked_if_documents_are_missing() -> None:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(end_to_end_tables(end_to_end_sample(covered=1))[0])
    assert "→ bhowmik-strict*" in capture.get()
    assert "* 1 of 500 documents predicted" in capture.get()
    assert "*" not in print_tables()


def test_markup_in_text_is_not_interpreted() -> None:
    assert "\x1b" not in print_tables(HOSTILE)
    assert "\\x1b[31m" in print_tables(HOSTILE)
