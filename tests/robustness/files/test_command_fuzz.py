"""Tests that the suite `command-fuzz` gives unmutated inputs that commands can read, and reports internal errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from tests.robustness.files import command_fuzz
from tests.robustness.files.command_fuzz import COMMANDS, FOLDER, SUITE, make_base


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    make_base(folder)
    return folder


@pytest.mark.parametrize("reader", list(COMMANDS))
def test_commands_read_inputs_that_are_not_mutated(reader: str, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(base))
    monkeypatch.setattr(command_fuzz, "_mutate_rows", lambda _, rows: rows)
    monkeypatch.setattr(command_fuzz, "_mutate_bytes", lambda _, data, __: data)
    assert sum(SUITE.judge(3, reader, number)["refused"] for number in range(3)) <= 2  # onym show needs texts


def test_internal_errors_are_reported(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(base))
    SUITE.judge(3, "terms", 0)
    monkeypatch.setattr(KnowledgeBase, "open", lambda *_, **__: 1 / 0)
    with pytest.raises(AssertionError, match="internal-error"):
        SUITE.judge(3, "terms", 0)
