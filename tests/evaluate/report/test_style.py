"""Tests that the colours of both schemes meet the WCAG contrast requirements."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLE = (files("onym.evaluate") / "templates/style.css").read_text()
LIGHT, DARK = (
    dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part))
    for part in STYLE.split("* {")[0].split("@media (prefers-color-scheme: dark)")
)


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_computation() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "soft"])
@pytest.mark.parametrize("text", ["ink", "muted", "strong"])
def test_text_has_enough_contrast(colors: dict[str, str], ground: str, text: str) -> None:
    assert contrast(colors[text], colors[ground]) >= 4.5


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_marks_have_enough_contrast(colors: dict[str, str]) -> None:
    assert contrast(colors["wrong"], colors["page"]) >= 3
    assert contrast(colors["ink"], colors["bar"]) >= 3  # because an interval is drawn on top of its bar
    assert contrast(colors["ink"], colors["strong"]) >= 1.6


def test_numbers_use_tabular_figures() -> None:
    assert "tabular-nums" in STYLE
