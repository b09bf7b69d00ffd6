"""Tests of what became of the ids of an old release in a new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb.diff import read_replacements
from onym.kb.replacements import SAME_NAME, SHARED_NAME, Replacement, Replacements, replacement_rows
from tests.kb.conftest import Builder

HEAD = "id\tname\tkind\treplaced_by\n"


def find(build: Builder, old: str, new: str) -> Replacements:
    return Replacements(build(old, dest="old"), build(HEAD + new, dest="new"))


def test_a_stated_successor_is_followed_to_its_end(build: Builder) -> None:
    new = "a:1\tgone\tretired\ta:2\na:2\tgone too\tretired\ta:3\na:3\tfever\tpreferred\t\n"
    assert find(build, "id\tname\na:1\tpyrexia\n", new).of("a:1") == Replacement("a:1", "moved", ("a:3",), "replaced by", True)


def test_a_current_id_is_kept_even_if_its_name_changed(build: Builder) -> None:
    found = find(build, "id\tname\na:1\tpyrexia\n", "a:1\tfever\tpreferred\t\n")
    assert (found.of("a:1").change, found.of("a:1").new_id) == ("kept", "a:1")
    assert not list(found.iter_gone())


def test_an_id_of_neither_release_is_unknown(build: Builder) -> None:
    assert find(build, "id\tname\na:1\tfever\n", "a:1\tfever\tpreferred\t\n").of("a:9").change == "unknown"


@pytest.mark.parametrize(
    ("new", "change", "targets", "why"),
    [
        ("a:2\tFever\tpreferred\t\n", "moved", ("a:2",), SAME_NAME),
        ("a:2\thigh temperature\tpreferred\t\na:2\tfever\texact\t\n", "suggested", ("a:2",), SHARED_NAME),
        ("a:2\tfever\tpreferred\t\na:3\tfever\tpreferred\t\n", "several", ("a:2", "a:3"), SAME_NAME),
        ("b:2\tfever\tpreferred\t\n", "dead", (), "not in the new release, and no concept has its names"),
        ("a:2\tfever\tpreferred\t\na:1\tfever\tretired\t\n", "suggested", ("a:2",), SAME_NAME),
    ],
)
def test_names_decide_only_where_the_release_is_silent(
    build: Builder, new: str, change: str, targets: tuple[str, ...], why: str
) -> None:
    found = find(build, "id\tname\na:1\tfever\n", new).of("a:1")
    assert (found.change, found.targets, found.why) == (change, targets, why)


def test_several_stated_successors_are_not_chosen_by_name(build: Builder) -> None:
    new = "a:1\tfever\tretired\ta:2\na:1\tfever\tretired\ta:3\na:2\tfever\tpreferred\t\na:3\tchill\tpreferred\t\n"
    found = find(build, "id\tname\na:1\tfever\n", new).of("a:1")
    assert (found.change, found.is_stated, set(found.targets)) == ("several", True, {"a:2", "a:3"})
    assert found.new_id is None


def test_an_id_that_was_retired_before_is_followed_through_the_old_release(build: Builder) -> None:
    old = HEAD + "a:0\tgone\tretired\ta:1\na:1\tfever\tpreferred\t\n"
    assert find(build, old, "a:1\tfever\tpreferred\t\n").of("a:0") == Replacement("a:0", "moved", ("a:1",), "replaced by", True)
    later = find(build, old, "a:2\tfever\tpreferred\t\n").of("a:0")
    assert (later.change, later.targets, later.why) == ("moved", ("a:2",), SAME_NAME)


def test_the_table_of_replacements_can_be_used_in_a_build(build: Builder, tmp_path: Path) -> None:
    old = "id\tname\na:1\tfever\na:2\tcold\na:3\tcough\n"
    found = find(build, old, "a:4\tfever\tpreferred\t\na:5\tchill\tpreferred\t\na:5\tcold\texact\t\n")
    rows = list(replacement_rows(found))
    assert rows[0] == ("A:1", "fever", "A:4", "fever", "", "moved", SAME_NAME)
    assert rows[1] == ("A:2", "cold", "", "", "A:5", "suggested", SHARED_NAME)
    assert rows[2][5] == "dead"
    table = tmp_path / "replaced.tsv"
    table.write_text("old\tnew\n" + "".join(f"{row[0]}\t{row[2]}\n" for row in rows))
    assert read_replacements(table).rows() == [("a:1", "a:4")]
