"""Tests of the terminal tables of a linking report, which must not interpret markup in untrusted text."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from onym.evaluate.near_misses import NearMisses
from onym.evaluate.tables import linking_tables
from tests.evaluate.report.samples import HOSTILE, linking_sample


def print_tables(text: str = "fever") -> str:
    console = Console(width=400, color_system=None)
    with console.capture() as capture:
        for table in linking_tables(linking_sample(text)):
            console.print(table)
    return capture.get()


def test_headline_has_scores_of_each_protocol() -> None:
    lines = [line.split() for line in print_tables().splitlines()]
    assert ["→", "strict", "90.1", "88.0–92.0", "95.0", "92.0", "1,234", "92.1", "1,200"] in lines
    assert ["biosyn", "90.1", "88.0–92.0", "95.0", "92.0", "1,234", "92.1", "1,200"] in lines


def test_slices_table() -> None:
    lines = [line.split() for line in print_tables().splitlines()]
    assert ["Overall", "1,234", "90.1", "88.0–92.0"] in lines
    assert ["Composites", "0", "–", "–"] in lines


def test_rows_are_marked_if_mentions_are_missing() -> None:
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(linking_tables(replace(linking_sample(), coverage="1 of 960 mentions predicted"))[0])
    assert "strict*" in capture.get()
    assert "* 1 of 960 mentions predicted" in capture.get()
    assert "*" not in print_tables()


def test_markup_in_text_is_not_interpreted() -> None:
    text = print_tables(HOSTILE + "[bold]x[/bold]")
    assert "\x1b" not in text
    assert "\\x1b[31m" in text
    assert "[bold]x[/bold]" in text


def test_errors_by_relation_to_gold() -> None:
    lines = [line.split() for line in print_tables().splitlines()]
    assert ["parent", "1,234", "99.8"] in lines
    assert ["farther", "(median", "3", "steps)", "1", "0.1"] in lines
    assert not any(line[:1] == ["sibling"] for line in lines), "a relation that does not occur has no row"


def test_one_table_without_slices_and_hierarchy() -> None:
    assert len(linking_tables(replace(linking_sample(), slices=(), near_misses=None))) == 1
    assert len(linking_tables(replace(linking_sample(), slices=(), near_misses=NearMisses.of([])))) == 1
