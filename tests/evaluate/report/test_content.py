"""Tests of the values in a linking report: protocols, bins, errors and examples."""

from __future__ import annotations

from onym.evaluate.content import DEFINITIONS, ExampleRow, MistakeRow
from onym.evaluate.metrics import PROTOCOLS
from onym.evaluate.mistakes import Example, Mistake, NamedConcepts, Neighbour
from tests.evaluate.report.samples import linking_sample


def test_each_protocol_has_a_definition() -> None:
    assert list(DEFINITIONS) == list(PROTOCOLS)
    assert all(text.endswith(".") for text in DEFINITIONS.values())
    assert linking_sample().definition == DEFINITIONS["strict"]


def test_main_protocol() -> None:
    main = linking_sample().main
    assert main
    assert main.protocol == "strict"


def test_mistake_row() -> None:
    row = MistakeRow.of(
        Mistake(
            count=3,
            surface="MI",
            gold=NamedConcepts(("a:1",), ("One",)),
            answered=NamedConcepts(("a:2", "a:3"), ("Two", "Three")),
            tied=2,
            runner_up=NamedConcepts(),
            found=2,
            gold_ranks=((4, 1), (6, 1)),
        )
    )
    assert (row.gold, row.gold_ids) == ("One", "a:1")
    assert (row.answered, row.answered_ids) == ("Two; Three", "a:2, a:3")
    assert (row.runner_up, row.runner_up_ids) == ("", "")
    assert (row.count, row.found, row.gold_rank) == (3, 2, 4)
    assert "MI" not in repr(row)


def test_example_row() -> None:
    near = (
        Neighbour(1, NamedConcepts(("a:2", "a:3"), ("Two", "Three")), 0.9, is_gold=False),
        Neighbour(8, NamedConcepts(("a:1",), ("One",)), 0.2, is_gold=True),
    )
    row = ExampleRow.of(Example("MI", NamedConcepts(("a:1",), ("One",)), is_in_kb=True, gold_rank=8, neighbours=near))
    assert (row.surface, row.gold, row.gold_ids, row.is_in_kb, row.gold_rank) == ("MI", "One", "a:1", True, 8)
    first, last = row.neighbours
    assert (first.rank, first.name, first.ids, first.score, first.is_gold) == (1, "Two; Three", "a:2, a:3", 0.9, False)
    assert (last.rank, last.is_gold) == (8, True)
    assert "MI" not in repr(row)
    assert "Two" not in repr(row)
