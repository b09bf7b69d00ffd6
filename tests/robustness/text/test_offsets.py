"""Tests that the suite `offsets` accepts correct normalisers and detects wrong ones."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator

import pytest

from onym.corpora.formats._bioc import Units
from onym.text.analysis import Step, Stretch, collapse, lower, nfkc, punctuation
from onym.text.boundaries import sentences, words
from onym.types import Offsets
from tests.robustness.text import offsets
from tests.robustness.text.offsets import CHAINS, Chain, iter_cases, iter_contexts, violations_of

OPTIONS = argparse.Namespace(cases=2_000, seed=1, workers=1, quick=True)


@pytest.fixture(autouse=True)
def few_scalars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "SCALARS", (*range(0x20, 0x400), *range(0x1100, 0x1200), *range(0xFB00, 0xFC00)))


def test_finds_no_violations_in_correct_code() -> None:
    assert offsets.run(OPTIONS) == {"scalars": len(offsets.SCALARS), "cases": 2_000, "violations": 0}


def whole(text: str) -> Iterator[Stretch]:
    """Normalise the whole text as one unit, which loses the offsets."""
    yield 0, len(text), offsets.plain_nfkc(text)


def shift_space(text: str) -> Iterator[Stretch]:
    """Drop trailing spaces, but shift the offset as if they were leading spaces."""
    kept = text.rstrip()
    yield len(text) - len(kept), len(text), kept


def lossy(text: str) -> Iterator[Stretch]:
    """Drop non-ASCII characters."""
    yield from ((offset, offset + 1, char if char.isascii() else "") for offset, char in enumerate(text))


def backwards(text: str) -> Iterator[Stretch]:
    yield from ((len(text) - 1 - offset, len(text) - offset, char) for offset, char in enumerate(text))


def reorder_step(step: Step) -> Step:
    """Return a step that treats reordered characters as unchanged, because their number is the same."""

    def wrong(text: str) -> Iterable[Stretch]:
        clusters: dict[int, Stretch] = {}
        for start, end, new in step(text):
            clusters[start] = (start, end, clusters[start][2] + new if start in clusters else new)
        return clusters.values()

    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "plain"),
    [
        ((whole,), offsets.plain_nfkc),
        ((reorder_step(nfkc),), offsets.plain_nfkc),
        ((shift_space,), str.rstrip),
        ((lossy,), offsets.plain_nfkc),
        ((lower,), str.casefold),
        ((backwards,), str),
        ((lower, punctuation, collapse), str.lower),
    ],
)
def test_detects_wrong_normaliser(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], steps: tuple[Step, ...], plain: Callable[[str], str]
) -> None:
    monkeypatch.setattr(offsets, "CHAINS", (*CHAINS, Chain("wrong", steps, plain, is_by_character=False)))
    figures = offsets.run(OPTIONS)
    assert isinstance(figures["violations"], int)
    assert figures["violations"] > 0
    assert "of wrong '" in capsys.readouterr().err


def shorter(split: Callable[[str], list[Offsets]]) -> Callable[[str], list[Offsets]]:
    return lambda text: [(start, end - 1) for start, end in split(text)]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("words", shorter(words)),
        ("sentences", shorter(sentences)),
        ("words", lambda _: []),
        ("sentences", lambda text: [(0, len(text) + 1)]),
        ("Units", lambda text, _: Units(text, "utf8")),
    ],
)
def test_detects_wrong_boundaries_and_units(monkeypatch: pytest.MonkeyPatch, name: str, wrong: object) -> None:
    monkeypatch.setattr(offsets, name, wrong)
    assert {what for what, _ in violations_of(["\u03b1-actin fell.", "\U0001f9ec a"])} == {name.lower()}


def test_cases_are_deterministic_for_a_seed() -> None:
    assert list(iter_cases(1, 0, 50)) == list(iter_cases(1, 0, 50))
    assert list(iter_cases(1, 0, 50)) != list(iter_cases(2, 0, 50))


def test_covers_each_scalar_in_each_context() -> None:
    texts = " ".join(iter_contexts([0x41, 0x4E00, 0x301, 0x4E01])).split(" ")
    assert sorted(texts) == sorted(context.format(char) for context in offsets.CONTEXTS for char in "A\u4e00\u0301\u4e01")
