"""Tests that the suite `request-fuzz` sends unmutated requests that are answered, and reports internal errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from tests.robustness.serve import request_fuzz
from tests.robustness.serve.request_fuzz import FOLDER, REQUESTS, SUITE, Servers, make_base


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    make_base(folder)
    return folder


def test_requests_that_are_not_mutated_are_answered(base: Path) -> None:
    servers = Servers(base)
    statuses = [servers.ask(reader, request)[0] for reader, requests in REQUESTS.items() for request in requests]
    assert statuses.count(200) == len(statuses) - 2  # the pipeline is not calibrated, and a decision has the id of another


def test_internal_errors_are_reported(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(base))
    monkeypatch.setattr(KnowledgeBase, "resolve", lambda *_: 1 / 0)
    monkeypatch.setattr(request_fuzz, "_make_request", lambda *_: REQUESTS["link"][-1])
    with pytest.raises(AssertionError, match="internal-error"):
        SUITE.judge(0, "link", 0)
