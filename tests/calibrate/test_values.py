"""What the parts of a calibration share."""

from __future__ import annotations

import pytest

from onym.calibrate.estimators import require
from onym.errors import InputError


def test_what_makes_no_sense_is_refused_with_what_to_do() -> None:
    require(True, "nothing")
    with pytest.raises(InputError) as error:
        require([], "no knots", "fit it again")
    assert (error.value.code, error.value.what, error.value.fix) == ("calibration-invalid", "no knots", "fit it again")
