"""Tests that an invalid number anywhere in a calibration raises an error that says how to fix it."""

from __future__ import annotations

import pytest

from onym.calibrate.estimators import require
from onym.errors import InputError


def test_invalid_values_raise_an_error_with_a_fix() -> None:
    require(True, "nothing")
    with pytest.raises(InputError) as error:
        require([], "no knots", "fit it again")
    assert (error.value.code, error.value.what, error.value.fix) == ("calibration-invalid", "no knots", "fit it again")
