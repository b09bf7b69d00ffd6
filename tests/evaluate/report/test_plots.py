"""The figures: what they show, the same bytes each time, and nothing left behind in matplotlib."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from lxml import etree

from onym.errors import ConfigError
from onym.evaluate.report.content import Bin, RecallPoint, SliceRow
from onym.evaluate.report.plots import recall_plot, similarity_plot, slices_plot
from tests.evaluate.report.sample import HOSTILE, sample

PLOTS: dict[str, Callable[[], str]] = {
    "slices": lambda: slices_plot(sample().slices),
    "similarity": lambda: similarity_plot(sample().bins),
    "recall": lambda: recall_plot(sample().recall_curve),
}


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize("name", PLOTS)
def test_it_is_well_formed_and_the_same_each_time(name: str) -> None:
    svg = PLOTS[name]()
    assert etree.fromstring(svg).tag == "svg"
    assert svg == PLOTS[name]()
    assert "<metadata" not in svg
    assert "<style" not in svg


def test_slices_show_title_share_interval_and_number() -> None:
    shown = texts(slices_plot(sample().slices))
    assert {"Overall", "90.1", "88.0–92.0", "n = 1,234", "fever", "50.0", "n = 20"} <= set(shown)
    assert "Composites" not in shown


def test_bins_show_accuracy_errors_and_number() -> None:
    svg = similarity_plot([Bin("0.0 to 0.2", 50, 30), Bin("0.8 to 1.0", 4000, 1)])
    assert {"40.0", "100.0", "30", "1", "0.0 to 0.2", "n = 50", "n = 4,000"} <= set(texts(svg))
    assert "<pattern" in svg


def test_a_bin_without_a_case_says_so() -> None:
    assert "no case" in texts(similarity_plot([Bin("0.0 to 0.2", 0, 0)]))


def test_recall_names_its_two_lines() -> None:
    shown = texts(recall_plot([RecallPoint(1, 0.5, 0.505), RecallPoint(10, 0.8, 0.81)]))
    assert {"all cases, 80.0", "cases within reach, 81.0", "1", "10"} <= set(shown)


def test_more_slices_make_it_higher() -> None:
    row = sample().slices[0]

    def height(count: int) -> float:
        box = re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', slices_plot([row] * count))
        assert box
        return float(box[1])

    assert height(10) - height(5) == pytest.approx(150)


def test_hostile_labels_are_text_alone() -> None:
    svg = slices_plot([SliceRow(HOSTILE, "", 1, 1.0, 1.0, 1.0)])
    root = etree.fromstring(svg)
    assert "script" not in {str(node.tag) for node in root.iter()}
    assert any("frac{1}{2}$" in (node.text or "") for node in root.iter("text"))


@pytest.mark.parametrize("draw", [lambda: slices_plot([]), lambda: similarity_plot([]), lambda: recall_plot([])])
def test_nothing_to_draw_is_an_empty_figure(draw: Callable[[], str]) -> None:
    assert etree.fromstring(draw()).tag == "svg"


def test_the_settings_of_the_user_neither_count_nor_change() -> None:
    import matplotlib as mpl

    expected = PLOTS["slices"]()
    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red", "svg.hashsalt": None}):
        before = dict(mpl.rcParams)
        assert PLOTS["slices"]() == expected
        assert dict(mpl.rcParams) == before


def test_pyplot_and_its_global_state_stay_away() -> None:
    code = (
        "import sys; from onym.evaluate.report import plots; assert 'matplotlib' not in sys.modules; "
        "plots.slices_plot([]); assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_figure_can_be_drawn_outside_the_main_thread() -> None:
    drawn: list[str] = []
    thread = threading.Thread(target=lambda: drawn.append(PLOTS["recall"]()))
    thread.start()
    thread.join()
    assert drawn == [PLOTS["recall"]()]


@pytest.mark.parametrize("name", PLOTS)
def test_without_matplotlib_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError) as caught:
        PLOTS[name]()
    assert caught.value.code == "extra-missing"
    assert "onym[report]" in caught.value.fix
