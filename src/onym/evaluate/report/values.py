"""Values that reports share: shares in percent, and bars with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bar:
    """A share with its 95 % confidence interval, over `n` items."""

    label: str
    n: int
    share: float
    low: float
    high: float


def percent(share: float) -> str:
    """Return a share in percent, to one decimal.

    >>> percent(0.91349)
    '91.3'
    """
    return f"{100 * share:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval in percent, or nothing.

    >>> interval(0.9, 0.925)
    '90.0–92.5'
    """
    return "" if low is None or high is None else f"{percent(low)}–{percent(high)}"


def share_cells(shares: Iterable[tuple[float, tuple[float, float]]]) -> list[str]:
    """Return two cells for each share: the share and its interval, in percent.

    >>> share_cells([(0.8, (0.75, 0.85))])
    ['80.0', '75.0–85.0']
    """
    return [cell for share, bounds in shares for cell in (percent(share), interval(*bounds))]


def flat(value: dict[str, Any], path: str = "") -> list[tuple[str, str]]:
    """Return nested values as one list of names and values.

    >>> flat({"kb": {"digest": "ab"}, "onym": "1"})
    [('kb.digest', 'ab'), ('onym', '1')]
    """
    rows = []
    for key, member in value.items():
        name = f"{path}{key}"
        rows += flat(member, f"{name}.") if isinstance(member, dict) else [(name, str(member))]
    return rows
