"""Tests of the problem file, and of ending a run after too many problems."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from onym.corpora.base import Item
from onym.corpora.problems import MaxProblems, ProblemLog
from onym.errors import ConfigError, InputError
from onym.outputs import schema
from onym.types import Document, LinkedDocument, Problem

BAD = Problem("7", "corpus-malformed", "a line has no tab", "a.ann:1", "a.txt", 3)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_problem_file_follows_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    linked = LinkedDocument(Document("8", "x", source="b.txt", ordinal=2), problems=(Problem("8", "limit-record", "too long"),))
    with ProblemLog(path) as log:
        assert list(log.watch([BAD, Document("1", "x")])) == [BAD, Document("1", "x")]
        assert list(log.watch_linked([linked])) == [linked]
    found = lines(path)
    assert [(each["source"], each["ordinal"], each["document"], each["code"]) for each in found] == [
        ("a.txt", 3, "7", "corpus-malformed"), ("b.txt", 2, "8", "limit-record"),
    ]  # fmt: skip
    for each in found:
        jsonschema.validate(each, schema("problems-1"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found[0], "text": "x"}, schema("problems-1"))


def test_without_problems_there_is_no_file_unless_it_is_requested(tmp_path: Path) -> None:
    with ProblemLog(tmp_path / "a") as log:
        list(log.watch([Document("1", "x")]))
    with ProblemLog(tmp_path / "b", always=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_the_problem_file_of_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "p"
    for expected in (2, 1, 0):
        with ProblemLog(path) as log:
            list(log.watch([BAD] * expected))
        assert len(lines(path)) == expected


@pytest.mark.parametrize("content", ["{}\n", "[1]\n", '{"id": "1", "text": "High fever"}\n', "[" * 5000])
def test_a_file_that_is_no_problem_file_is_kept(tmp_path: Path, content: str) -> None:
    path = tmp_path / "p"
    path.write_text(content)
    with pytest.raises(ConfigError, match="output-exists"):
        ProblemLog(path)
    assert path.read_text() == content


def test_without_a_file_the_first_problems_are_shown(tmp_path: Path) -> None:
    shown: list[Problem] = []
    with ProblemLog(None, show=shown.append) as log:
        list(log.watch([BAD] * 25))
    assert (len(shown), log.count, log.hidden) == (20, 25, 5)


def test_an_existing_file_is_replaced_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "p"
    path.write_text("old")
    with pytest.raises(ConfigError, match="output-exists"):
        ProblemLog(path)
    with ProblemLog(path, force=True):
        pass
    assert path.read_text() == ""


def test_a_run_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def fail(log: ProblemLog) -> None:
        log.add(BAD)
        raise InputError("omop-note-id", "no note_id")

    with pytest.raises(InputError, match="omop-note-id"), ProblemLog(tmp_path / "p", always=True) as log:
        fail(log)
    assert list(tmp_path.iterdir()) == []


def many(bad: int, good: int) -> list[Item]:
    return [*[BAD] * bad, *[Document("1", "x")] * good]


@pytest.mark.parametrize(
    ("bound", "items", "is_many"),
    [
        ("", many(500, 0), False),
        ("0", many(0, 5), False),
        ("0", many(1, 5), True),
        ("3", many(3, 0), False),
        ("3", many(4, 900), True),
        ("10%", many(10, 90), False),
        ("10%", many(11, 89), True),
        ("0.5%", many(1, 99), True),
        ("50%", many(2, 1), True),
        ("50%", many(90, 120), False),
    ],
)
def test_too_many_problems_end_the_run(tmp_path: Path, bound: str, items: list[Item], is_many: bool) -> None:
    log = ProblemLog(tmp_path / "p", MaxProblems.parse(bound))
    if not is_many:
        with log:
            assert list(log.watch(items)) == items
        return
    with pytest.raises(InputError, match="problems-exceeded"), log:
        list(log.watch(items))
    assert lines(tmp_path / "p")  # the problem file says why the run ended


def test_problems_without_loss_do_not_count(tmp_path: Path) -> None:
    with ProblemLog(tmp_path / "p", MaxProblems.parse("0")) as log:
        list(log.watch([Problem("1", "corpus-bytes", "offsets count bytes", source="a", ordinal=1)]))
    assert len(lines(tmp_path / "p")) == 1


@pytest.mark.parametrize("text", ["x", "-1", "5 %%", "1.5", "%"])
def test_rejects_invalid_limits(text: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        MaxProblems.parse(text)
