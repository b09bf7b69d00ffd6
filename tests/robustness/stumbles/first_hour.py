"""Repeat what failed newcomers in their first hour: the rows of `stumbles` in the modules `of_first_hour*`.

The figures are those of `stumbles`.
"""

from __future__ import annotations

import argparse

from tests.robustness.stumbles.stumbles import UPPER_BOUNDS, find_rows, repeat_rows

__all__ = ["UPPER_BOUNDS", "run"]


def run(_options: argparse.Namespace) -> dict[str, object]:
    return repeat_rows(row for row in find_rows() if ".of_first_hour" in row.check.__module__)
