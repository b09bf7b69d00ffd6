"""Tests of drawing name plots: content, determinism, and escaping of hostile names."""

from __future__ import annotations

import struct
import sys
from typing import Any

import numpy as np
import pytest
from lxml import etree

from onym.errors import ConfigError
from onym.evaluate import names_plot as plot_module
from onym.evaluate.names import MAX_CONCEPTS
from onym.evaluate.names_plot import COLOURS, Format, Panel, _short, fit_square, look_of, medoid, names_plot
from tests.evaluate.report.samples import HOSTILE

OWNERS = np.repeat(np.arange(5), 4)
LABELS = ["Fever", "Stroke", "Gout", "Measles", "Vertigo"]


def panel(model: str = "tiny", seed: int = 0, share: float = 0.875) -> Panel:
    random = np.random.default_rng(seed)
    return Panel(model, random.normal(size=(5, 2))[OWNERS] * 10 + random.normal(size=(20, 2)), share)


def read_words(monkeypatch: pytest.MonkeyPatch, *args: Any) -> list[str]:
    """Return the texts of a plot, recorded while drawing because the file stores them as shapes."""
    from matplotlib.axes import Axes

    found: list[str] = []
    plain = Axes.text

    def text(self: Any, x: float, y: float, words: str, **more: Any) -> Any:
        found.append(words)
        return plain(self, x, y, words, **more)

    monkeypatch.setattr(Axes, "text", text)
    names_plot(*args)
    return found


def size(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return int(width), int(height)


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_output_is_deterministic(kind: Format) -> None:
    drawn = names_plot([panel()], LABELS, OWNERS, "a note", kind)
    assert drawn == names_plot([panel()], LABELS, OWNERS, "a note", kind)
    assert drawn != names_plot([panel(seed=1)], LABELS, OWNERS, "a note", kind)
    assert b"Software" not in drawn
    assert b"<metadata" not in drawn or b"date>" not in drawn


def test_png_and_svg() -> None:
    png = names_plot([panel(), panel("other")], LABELS, OWNERS)
    assert png.startswith(b"\x89PNG")
    assert size(png)[0] > 1.8 * size(names_plot([panel()], LABELS, OWNERS))[0]
    root = etree.fromstring(names_plot([panel()], LABELS, OWNERS, kind="svg"))
    assert etree.QName(root).localname == "svg"
    assert not list(root.iter("{*}text")), "type is drawn as shapes: labels are as wide as they were measured"


def test_plot_shows_title_share_and_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    words = read_words(monkeypatch, [panel("minilm")], LABELS, OWNERS)
    assert "minilm" in words
    assert any("87.5 %" in word for word in words)
    assert set(LABELS) <= set(words)


def test_no_label_without_points(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Absent" not in read_words(monkeypatch, [panel()], [*LABELS, "Absent"], OWNERS)


def test_hostile_labels_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    words = read_words(monkeypatch, [panel(HOSTILE)], [HOSTILE, "$\\frac{1}{2}$", "", "発熱", "x" * 500], OWNERS)
    assert "$\\frac{1}{2}$" in words
    assert not any("\x1b" in word or "\u202e" in word for word in words)
    root = etree.fromstring(names_plot([panel(HOSTILE)], [HOSTILE] * 5, OWNERS, HOSTILE, "svg"))
    assert "script" not in {etree.QName(node).localname for node in root.iter() if isinstance(node.tag, str)}


def test_long_label_is_shortened_in_the_middle() -> None:
    one, other = (_short(f"spinocerebellar ataxia autosomal recessive {number}") for number in (17, 20))
    assert one.startswith("spinocerebellar ataxi")
    assert one.endswith("…ecessive 17")
    assert one != other
    assert max(map(len, (one, other))) <= 34
    assert _short("x" * 34) == "x" * 34


def test_each_concept_has_unique_colour_and_marker() -> None:
    looks = [look_of(concept) for concept in range(MAX_CONCEPTS)]
    assert len(set(looks)) == MAX_CONCEPTS
    assert all(len({colour for colour, _ in looks[first : first + 4]}) == 4 for first in range(36))


def test_labels_have_enough_contrast() -> None:
    def light(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)

    for colour in COLOURS:
        red, green, blue = map(light, plot_module._dark(colour))
        contrast = 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
        assert contrast >= 4.5, colour


def test_points_fill_the_square_and_keep_aspect_ratio() -> None:
    found = fit_square(np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 5.0]]), 100)
    assert np.linalg.norm(found[1] - found[0]) == pytest.approx(2 * np.linalg.norm(found[2] - found[1]))
    assert found.min() >= 0
    assert found.max() <= 100
    assert fit_square(np.zeros((3, 2)), 100).tolist() == [[50.0, 50.0]] * 3


def test_medoid_is_one_of_the_points() -> None:
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [100.0, 100.0]])
    assert medoid(points).tolist() == [1.0, 1.0]


def test_user_settings_are_ignored_and_preserved() -> None:
    import matplotlib as mpl

    expected = names_plot([panel()], LABELS, OWNERS)
    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red", "savefig.bbox": "tight"}):
        before = dict(mpl.rcParams)
        assert names_plot([panel()], LABELS, OWNERS) == expected
        assert dict(mpl.rcParams) == before


def test_missing_matplotlib_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError) as caught:
        names_plot([panel()], LABELS, OWNERS)
    assert caught.value.code == "extra-missing"
    assert "onym[report]" in caught.value.fix
