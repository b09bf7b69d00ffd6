"""How errors and bugs become messages and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.cli.command import onym


class PanicError(BaseException):
    """As libraries in Rust raise them."""


@pytest.mark.parametrize("error", [ValueError("the patient fell"), PanicError("the patient fell")])
def test_a_bug_is_told_by_its_type_and_lines_without_its_message(tmp_path: Path, error: BaseException) -> None:
    (tmp_path / "a.txt").write_text("the patient fell")
    with patch("onym.corpora.corpus.detect", side_effect=error):
        told = onym("corpus", "check", "a.txt", cwd=tmp_path, status=1).stderr
        plain = onym("corpus", "check", "a.txt", "--json", cwd=tmp_path, status=1).stderr
    assert f"[internal-error] {type(error).__name__} in corpora/corpus.py:" in told
    assert "read_source" in told  # where it was raised, line by line
    assert json.loads(plain)["error"]["code"] == "internal-error"
    assert "patient" not in told + plain
