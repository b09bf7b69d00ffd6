"""Tests of the resolution of overlapping spans; the input order must not matter."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from onym.methods.detector import Span, resolve_overlaps

SPANS = st.lists(
    st.builds(
        lambda start, length, score, kind: Span(start, start + length, score, kind),
        st.integers(0, 30),
        st.integers(1, 12),
        st.sampled_from([0.1, 0.5, 1.0]),
        st.sampled_from(["", "a"]),
    ),
    max_size=12,
)


def crosses(one: Span, other: Span) -> bool:
    is_apart = one.end <= other.start or other.end <= one.start
    is_inside = (one.start <= other.start and other.end <= one.end) or (other.start <= one.start and one.end <= other.end)
    return not is_apart and not is_inside


def plain(spans: list[Span], *, nested: bool) -> list[Span]:
    """Resolve overlaps by brute force, comparing all pairs."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (-s.score, s.start - s.end, s.start, s.type)):
        apart = [span.end <= other.start or other.end <= span.start for other in kept]
        same = [(span.start, span.end) == (other.start, other.end) for other in kept]
        fine = [not crosses(span, other) for other in kept]
        if all(
            is_apart or (nested and is_fine and not is_same)
            for is_apart, is_same, is_fine in zip(apart, same, fine, strict=True)
        ):
            kept.append(span)
    return sorted(kept, key=lambda s: (s.start, s.end))


@given(SPANS, st.booleans(), st.randoms())
def test_agrees_with_brute_force(spans: list[Span], nested: bool, random: object) -> None:
    expected = plain(spans, nested=nested)
    random.shuffle(spans)  # type: ignore[attr-defined]
    assert sorted(resolve_overlaps(spans, nested=nested), key=lambda s: (s.start, s.end)) == expected


@given(SPANS)
def test_spans_do_not_overlap(spans: list[Span]) -> None:
    found = resolve_overlaps(spans)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert bool(found) == bool(spans)


@given(SPANS)
def test_nested_spans_do_not_cross(spans: list[Span]) -> None:
    found = resolve_overlaps(spans, nested=True)
    assert not any(crosses(one, other) for one in found for other in found)
    assert len({(span.start, span.end) for span in found}) == len(found)


def test_the_better_score_wins_over_the_longer_span() -> None:
    assert resolve_overlaps([Span(0, 20, 0.4), Span(5, 8, 0.6)]) == [Span(5, 8, 0.6)]
    assert resolve_overlaps([Span(0, 20, 0.6), Span(5, 8, 0.6)]) == [Span(0, 20, 0.6)]
    assert resolve_overlaps([Span(3, 8, 0.6), Span(0, 5, 0.6)]) == [Span(0, 5, 0.6)]
