"""Tests of reading result figures for the card of a pack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.errors import ConfigError, InputError
from onym.packs.publish import read_results

ROWS = [
    {"row": "bc5cdr/a", "dataset": "bc5cdr", "split": "test", "figures": {"strict_f1": 75.0, "documents": 500}},
    {"row": "bc5cdr/b", "dataset": "bc5cdr", "split": "dev", "figures": {"documents": 500}},
]


def test_rows_become_entries(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(ROWS))
    (entry,) = read_results(path)
    assert entry["dataset"] == {"type": "bc5cdr", "name": "bc5cdr", "split": "test"}
    assert entry["metrics"] == [{"type": "f1", "name": "strict F1, span and concept", "value": 75.0}]
    assert read_results(path, ["bc5cdr/b"]) == []
    with pytest.raises(ConfigError, match="config-invalid"):
        read_results(path, ["bc5cdr/c"])


def test_reads_the_results_of_the_project() -> None:
    found = read_results(Path(__file__).parents[2] / "results" / "e2e" / "rows.json")
    assert len(found) > 20
    assert all(isinstance(metric["value"], float | int) for entry in found for metric in entry["metrics"])


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '[{"dataset": "a"}]', '[{"dataset": "a", "split": "b", "figures": {"strict_f1": "x"}}]', "[" * 10**5],
)
def test_rejects_invalid_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(InputError, match="results-malformed"):
        read_results(path)
