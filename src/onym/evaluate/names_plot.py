"""Draw name embeddings as scatter plots: one panel per model, side by side, each concept labelled near its points.

Each concept has its own combination of colour and marker, the same in all panels. The colours are the colour-blind-safe palette
of Okabe and Ito without black and yellow. Labels are placed inside the plot, near their points, covering few points and never
another label. The output is deterministic. Needs `onym[report]`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from onym.errors import missing_extra, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = npt.NDArray[np.float64]
Size = tuple[float, float]
_GAP = 3.0  # minimum distance between two labels, in points
_NEAR = 9.0  # minimum distance from a label to its anchor, in points
_ANGLES = np.linspace(0, 2 * np.pi, 24, endpoint=False)  # candidate label directions around an anchor
_RINGS = 14  # number of candidate label distances from an anchor
_SWEEPS = 3  # number of passes of the label placement
Format = Literal["png", "svg"]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
SHAPES = ("o", "^", "s", "D", "v", "P", "X")
_INK, _MUTED, _LINE, _PAGE = "#1c2329", "#586470", "#dfe4e8", "#ffffff"
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "onym", "svg.fonttype": "path", "text.parse_math": False, "font.family": "sans-serif", "font.size": 11.0,
    "text.color": _INK, "axes.edgecolor": _LINE, "axes.linewidth": 1.0,
}  # fmt: skip
_SIDE = 620.0  # side length of a panel, in points
_EDGE, _ABOVE, _BELOW, _BETWEEN = 16.0, 62.0, 40.0, 20.0  # margins around and between panels, in points
_LABEL_SIZE, _LABEL_PAD, _LABEL_HEIGHT = 9.5, 3.0, 14.0  # font size, padding and height of a label, in points
_MAX_LABEL, _MAX_TITLE = 34, 54  # maximum characters of a label, and of a model name
_DARKER = 0.68  # label text is darker than points by this factor, because small letters need more contrast
_MARGIN = 0.07  # share of a panel that stays empty at each side
_DPI = 144
_POINTS_AN_INCH = 72.0


@dataclass(frozen=True, slots=True)
class Panel:
    """The panel of one model: a point per name, and the share of names whose nearest name belongs to the same concept."""

    model: str
    points: Points
    share: float


def names_plot(
    panels: Sequence[Panel], labels: Sequence[str], owners: npt.NDArray[np.int64], note: str = "", kind: Format = "png"
) -> bytes:
    """Draw the panels. `labels` are the concept names, `owners` holds the index of each point's concept in `labels`.

    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [5.0, 6.0]])
    >>> names_plot([Panel("tiny", points, 1.0)], ["Fever", "Stroke"], np.array([0, 0, 1, 1]))[1:4]
    b'PNG'
    """
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as e:
        raise missing_extra("plotting names", "report") from e
    width = 2 * _EDGE + len(panels) * _SIDE + (len(panels) - 1) * _BETWEEN
    height = _ABOVE + _SIDE + _BELOW
    file = BytesIO()
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a missing glyph is drawn as an empty box
        figure = Figure(figsize=(width / _POINTS_AN_INCH, height / _POINTS_AN_INCH), dpi=_POINTS_AN_INCH, facecolor=_PAGE)
        for number, panel in enumerate(panels):
            left = _EDGE + number * (_SIDE + _BETWEEN)
            axes = figure.add_axes((left / width, _BELOW / height, _SIDE / width, _SIDE / height))
            _draw_panel(axes, panel, [_short(label) for label in labels], owners)
        figure.text(_EDGE / width, 15 / height, printable(note), color=_MUTED, fontsize=10)
        _save(figure, file, kind)
    return file.getvalue()


def _save(figure: Figure, file: BytesIO, kind: Format) -> None:
    metadata = {"Software": None} if kind == "png" else dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format=kind, dpi=_DPI if kind == "png" else _POINTS_AN_INCH, metadata=metadata)


def _draw_panel(axes: Axes, panel: Panel, labels: Sequence[str], owners: npt.NDArray[np.int64]) -> None:
    """Draw a panel with axis limits in typographic points, so that label sizes and positions use one unit."""
    axes.set_xlim(0, _SIDE)
    axes.set_ylim(0, _SIDE)
    axes.set_xticks([])
    axes.set_yticks([])
    share = f"nearest other name is of the same concept: {100 * panel.share:.1f} % of names"
    axes.text(0, _SIDE + 28, _short(panel.model, _MAX_TITLE), fontsize=15, fontweight="bold")
    axes.text(0, _SIDE + 10, share, fontsize=11, color=_MUTED)
    points = fit_square(panel.points)
    present = [concept for concept in range(len(labels)) if (owners == concept).any()]
    for concept in present:
        _draw_points(axes, points[owners == concept], concept, size=34)
    anchors = np.array([medoid(points[owners == concept]) for concept in present])
    sizes = [(_width(labels[concept]), _LABEL_HEIGHT) for concept in present]
    for concept, anchor, box in zip(present, anchors, arrange_labels(anchors, sizes, points, (_SIDE, _SIDE)), strict=True):
        if box:
            _draw_label(axes, labels[concept], concept, box, anchor)


def fit_square(points: Points, side: float = _SIDE) -> Points:
    """Scale the points to fit a square with a margin, keeping the aspect ratio.

    >>> fit_square(np.array([[0.0, 0.0], [2.0, 1.0]]), 100).round().tolist()
    [[7.0, 28.0], [93.0, 72.0]]
    """
    low, high = points.min(0), points.max(0)
    scale = side * (1 - 2 * _MARGIN) / max(float((high - low).max()), 1e-9)
    return np.asarray((points - (low + high) / 2) * scale + side / 2)


def medoid(points: Points) -> npt.NDArray[np.float64]:
    """Return the point with the smallest total distance to all others: a label anchor that is robust to outliers.

    >>> medoid(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    far = np.linalg.norm(points[:, None] - points[None], axis=2).sum(1)
    return np.asarray(points[int(np.argmin(far))])


def look_of(concept: int) -> tuple[str, str]:
    """Return the colour and marker of a concept; the pair is unique, and adjacent concepts differ in colour.

    >>> look_of(0), len({look_of(concept) for concept in range(40)})
    (('#0072B2', 'o'), 40)
    """
    return COLOURS[concept % len(COLOURS)], SHAPES[(concept // len(COLOURS)) % len(SHAPES)]


def _draw_points(axes: Axes, points: Points, concept: int, size: float) -> None:
    colour, shape = look_of(concept)
    axes.scatter(points[:, 0], points[:, 1], s=size, c=colour, marker=shape, edgecolors=_PAGE, linewidths=0.6, zorder=2)


def _draw_label(axes: Axes, label: str, concept: int, box: Box, anchor: npt.NDArray[np.float64]) -> None:
    """Draw a label on a light background, with a line to its anchor, which is drawn with a dark outline."""
    from matplotlib.patches import Rectangle

    colour, shape = look_of(concept)
    end = np.clip(anchor, (box.x, box.y), (box.x + box.width, box.y + box.height))
    axes.plot(*zip(anchor, end, strict=True), color=colour, linewidth=1.2, zorder=2.5)
    axes.scatter(anchor[0], anchor[1], s=52, c=colour, marker=shape, edgecolors=_INK, linewidths=1.1, zorder=2.6)
    axes.add_patch(Rectangle((box.x, box.y), box.width, box.height, facecolor=_PAGE, alpha=0.8, linewidth=0, zorder=3))
    middle = box.y + box.height / 2
    axes.text(box.x + _LABEL_PAD, middle, label, fontsize=_LABEL_SIZE, color=_dark(colour), va="center_baseline", zorder=4)


def _dark(colour: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(_DARKER * part for part in to_rgb(colour))


def _width(label: str) -> float:
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), label or "-", size=_LABEL_SIZE).get_extents().x1) + 2 * _LABEL_PAD


def _short(label: str, max_length: int = _MAX_LABEL) -> str:
    """Shorten a label in its middle, because names of similar concepts often differ only at the end."""
    label = printable(label)
    head = 2 * max_length // 3
    return label if len(label) <= max_length else f"{label[:head].rstrip()}…{label[head + 1 - max_length :].lstrip()}"


@dataclass(frozen=True, slots=True)
class Box:
    """The bounding box of a label: its lower left corner, width and height."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: Box, gap: float = 0.0) -> bool:
        """Return whether two boxes overlap or are closer to each other than `gap`.

        >>> Box(0, 0, 10, 10).meets(Box(9, 9, 5, 5)), Box(0, 0, 10, 10).meets(Box(10, 0, 5, 5))
        (True, False)
        """
        is_next = self.x + self.width + gap <= other.x or other.x + other.width + gap <= self.x
        is_above = self.y + self.height + gap <= other.y or other.y + other.height + gap <= self.y
        return not (is_next or is_above)


def arrange_labels(anchors: Points, sizes: Sequence[Size], points: Points, picture: Size) -> list[Box | None]:
    """Return a position for each label, or None if there is no space for it.

    `anchors` (labels, 2) are the points that the labels belong to; `points` (points, 2) are the points that labels should not
    cover. Labels are placed greedily, in several passes.

    >>> boxes = arrange_labels(np.array([[50.0, 50.0], [50.0, 50.0]]), [(20, 10)] * 2, np.zeros((0, 2)), (100, 100))
    >>> boxes[0].meets(boxes[1])
    False
    """
    choices = [_choices(anchor, size, points, anchors, picture) for anchor, size in zip(anchors, sizes, strict=True)]
    found: list[Box | None] = [None] * len(sizes)
    for _ in range(_SWEEPS):
        for label, size in enumerate(sizes):
            found[label] = None
            others = [box for box in found if box]
            found[label] = _first_free(choices[label], size, others)
    return found


def _first_free(corners: Points, size: Size, others: Sequence[Box]) -> Box | None:
    """Return the first position that is free, or None; `corners` (positions, 2) are ordered, best first."""
    width, height = size
    is_free = np.ones(len(corners), dtype=bool)
    for other in others:
        x, y = corners[:, 0], corners[:, 1]
        is_next = (x + width + _GAP <= other.x) | (other.x + other.width + _GAP <= x)
        is_free &= is_next | (y + height + _GAP <= other.y) | (other.y + other.height + _GAP <= y)
    if not is_free.any():
        return None
    x, y = corners[int(np.argmax(is_free))].tolist()
    return Box(x, y, width, height)


def _choices(anchor: npt.NDArray[np.float64], size: Size, points: Points, anchors: Points, picture: Size) -> Points:
    """Return the corners of candidate positions inside the plot, best first: near the anchor, covering few points."""
    width, height = size
    half = np.array([width / 2, height / 2])
    way = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)  # shape (angles, 2)
    # distance from the centre of the box to its edge in each direction, so that rings are measured from the edge
    radius = 1 / np.maximum(np.abs(way[:, 0]) / half[0], np.abs(way[:, 1]) / half[1])
    rings = _NEAR * 1.45 ** np.arange(_RINGS)
    around = (anchor + (radius + rings[:, None])[:, :, None] * way).reshape(-1, 2) - half
    lattice = np.stack(np.meshgrid(np.arange(0, picture[0], 16), np.arange(0, picture[1], 8)), axis=-1).reshape(-1, 2)
    corners = np.concatenate([around, lattice])
    corners = corners[((corners >= 0) & (corners + 2 * half <= np.array(picture))).all(1)]
    far = np.linalg.norm(np.maximum(np.abs(corners + half - anchor) - half, 0), axis=1)
    cost = far + 12 * _count_covered(corners, size, points) + 60 * _count_covered(corners, size, anchors)
    return np.asarray(corners[np.argsort(cost, kind="stable")])


def _count_covered(corners: Points, size: Size, points: Points) -> npt.NDArray[np.int64]:
    """Return how many points each box covers or touches."""
    if not len(points) or not len(corners):
        return np.zeros(len(corners), dtype=np.int64)
    after = points[None] >= corners[:, None] - _GAP
    before = points[None] <= corners[:, None] + np.array(size) + _GAP
    return np.asarray((after & before).all(2).sum(1), dtype=np.int64)
