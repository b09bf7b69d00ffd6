"""No attack with texts or requests works."""

from __future__ import annotations

import pytest

from tests.robustness.attacks import text_and_service


@pytest.mark.parametrize("name", text_and_service.ATTACKS)
def test_attack_fails(name: str) -> None:
    getattr(text_and_service, name)()
