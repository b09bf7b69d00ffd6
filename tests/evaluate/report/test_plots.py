"""Tests of plots: content, determinism, and no changes to matplotlib's global state."""

from __future__ import annotations

import re
import subprocess
import sys
import threading

import pytest
from lxml import etree

from onym.errors import ConfigError
from onym.evaluate.content import Bar
from onym.evaluate.pages import interval_plot
from tests.evaluate.report.samples import HOSTILE

BARS = [Bar("Overall", 1234, 0.901, 0.88, 0.92), Bar("fever", 20, 0.5, 0.3, 0.7)]


def draw_plot() -> str:
    return interval_plot("bars", "Recall by subgroup", BARS, "recall@1")


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_plot_is_well_formed_and_deterministic() -> None:
    svg = draw_plot()
    assert etree.fromstring(svg).tag == "svg"
    assert svg == draw_plot()
    assert "<metadata" not in svg
    assert "<style" not in svg


def test_bars_show_label_share_interval_count_and_measure() -> None:
    shown = texts(draw_plot())
    assert {"Overall", "90.1", "88.0–92.0", "n = 1,234", "fever", "50.0", "n = 20", "recall@1, %"} <= set(shown)


def test_height_grows_with_number_of_bars() -> None:
    def height(count: int) -> float:
        box = re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', interval_plot("bars", "title", BARS[:1] * count, "recall"))
        assert box
        return float(box[1])

    assert height(10) - height(5) == pytest.approx(150)


def test_hostile_labels_are_escaped() -> None:
    svg = interval_plot("bars", "title", [Bar(HOSTILE, 1, 1.0, 1.0, 1.0)], "recall")
    root = etree.fromstring(svg)
    assert "script" not in {str(node.tag) for node in root.iter()}
    assert any("frac{1}{2}$" in (node.text or "") for node in root.iter("text"))


def test_no_data_gives_an_empty_plot() -> None:
    assert etree.fromstring(interval_plot("bars", "title", [], "recall")).tag == "svg"


def test_user_settings_are_ignored_and_preserved() -> None:
    import matplotlib as mpl

    expected = draw_plot()
    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red", "svg.hashsalt": None}):
        before = dict(mpl.rcParams)
        assert draw_plot() == expected
        assert dict(mpl.rcParams) == before


def test_pyplot_is_not_imported() -> None:
    code = (
        "import sys; from onym.evaluate import pages; assert 'matplotlib' not in sys.modules; "
        "pages.interval_plot('bars', 'title', [], 'recall'); assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_plots_work_outside_the_main_thread() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(draw_plot()))
    thread.start()
    thread.join()
    assert found == [draw_plot()]


def test_missing_matplotlib_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError) as caught:
        draw_plot()
    assert caught.value.code == "extra-missing"
    assert "onym[report]" in caught.value.fix
