"""The values of a report, and what they are called."""

from __future__ import annotations

from onym.evaluate.examples import Example, Neighbour
from onym.evaluate.mistakes import Answer, Mistake
from onym.evaluate.protocols import PROTOCOLS
from onym.evaluate.report.content import MEANS, Bin, ExampleRow, MistakeRow, interval, percent
from tests.evaluate.report.sample import sample


def test_every_protocol_says_what_is_right() -> None:
    assert list(MEANS) == list(PROTOCOLS)
    assert all(text.endswith(".") for text in MEANS.values())
    assert sample().means == MEANS["strict"]


def test_the_chosen_protocol() -> None:
    chosen = sample().chosen
    assert chosen
    assert chosen.protocol == "strict"


def test_figures_are_written_in_one_way() -> None:
    assert percent(1.0) == "100.0"
    assert percent(0.0) == "0.0"
    assert interval(0.05, 0.1) == "5.0–10.0"
    assert interval(None, 0.1) == ""


def test_the_accuracy_of_a_bin() -> None:
    assert Bin("0.0 to 0.2", 50, 30).accuracy == 0.4
    assert Bin("0.0 to 0.2", 0, 0).accuracy == 0.0


def test_a_mistake_becomes_a_row() -> None:
    row = MistakeRow.of(
        Mistake(
            count=3,
            surface="MI",
            gold=Answer(("a:1",), ("One",)),
            answered=Answer(("a:2", "a:3"), ("Two", "Three")),
            tied=2,
            runner_up=Answer(),
            found=2,
            places=((4, 1), (6, 1)),
        )
    )
    assert (row.gold, row.gold_ids) == ("One", "a:1")
    assert (row.answered, row.answered_ids) == ("Two; Three", "a:2, a:3")
    assert (row.runner_up, row.runner_up_ids) == ("", "")
    assert (row.count, row.found, row.place) == (3, 2, 4)
    assert "MI" not in repr(row)


def test_an_example_becomes_a_row() -> None:
    near = (
        Neighbour(1, Answer(("a:2", "a:3"), ("Two", "Three")), 0.9, is_gold=False),
        Neighbour(8, Answer(("a:1",), ("One",)), 0.2, is_gold=True),
    )
    row = ExampleRow.of(Example("MI", Answer(("a:1",), ("One",)), is_reachable=True, place=8, neighbours=near))
    assert (row.surface, row.gold, row.gold_ids, row.is_reachable, row.place) == ("MI", "One", "a:1", True, 8)
    first, last = row.neighbours
    assert (first.number, first.name, first.ids, first.score, first.is_gold) == (1, "Two; Three", "a:2, a:3", 0.9, False)
    assert (last.number, last.is_gold) == (8, True)
    assert "MI" not in repr(row)
    assert "Two" not in repr(row)
