"""Tests of reading and writing plan.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.batch.plan import read_plan
from onym.errors import InputError, IntegrityError
from onym.store.storage import open_storage
from tests.batch.runs import plan_run


def test_plan_round_trips(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    assert read_plan(open_storage(tmp_path / "out")) == plan


def test_missing_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(open_storage(tmp_path))
    assert caught.value.code == "batch-no-plan"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "batch-plan-malformed"),
        ("[]", "batch-version"),
        ('{"format": 2}', "batch-version"),
        ('{"format": 1, "shards": 3}', "batch-plan-malformed"),
    ],
)
def test_rejects_malformed_or_newer_plan(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(IntegrityError) as caught:
        read_plan(open_storage(tmp_path))
    assert caught.value.code == code


def test_plan_contains_no_text(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    assert "heart attack" not in json.dumps(json.loads((tmp_path / "out" / "plan.json").read_text()))
