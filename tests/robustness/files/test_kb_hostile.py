"""Tests that every hostile file of the suite is rejected with the expected error, and that valid files are accepted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from onym.errors import OnymError
from tests.robustness.files import kb_hostile
from tests.robustness.files.case import Case, act
from tests.robustness.files.kb_hostile import CASES, honest


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    """Stop a test that waits for a pipe or hangs."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(180)  # timeout in seconds, far more than any file takes even on a busy machine
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rejects_hostile_file(tmp_path: Path, case: Case) -> None:
    path = case.make(tmp_path)
    with pytest.raises(OnymError) as caught:
        case.open(path)
    assert caught.value.code == case.code
    assert "root:" not in str(caught.value)  # no content of a file outside the folder is shown


def test_has_enough_cases_without_duplicates() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 200


def test_reads_valid_files(tmp_path: Path) -> None:
    for path in honest(tmp_path):
        act(path, "open" if path.is_dir() else "read", "")


@pytest.mark.slow
def test_suite_counts_only_errors_with_a_code(tmp_path: Path) -> None:
    def honest_table(folder: Path) -> Path:
        (folder / "table.csv").write_text("id,name\nD1,fever\n")
        return folder / "table.csv"

    cases = [case for case in CASES if case.name in ("RRF with a NUL", "a pipe")]
    cases += [Case("honest", "", honest_table), Case("no such act", "", honest_table, format="no-format")]
    found = kb_hostile.outcomes(cases)
    assert [outcome.code for outcome in found] == ["input-missing", "input-encoding", "!parsed", "part-unknown"]
    assert [outcome.is_refused for outcome in found] == [True, True, False, True]
    assert all(outcome.seconds > 0 for outcome in found)
