"""Tests that the suite `inputs-accounted` detects lost, renamed and unaccounted files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from onym.corpora import reading
from onym.corpora.base import Item
from onym.corpora.reading import Reading
from onym.kb import gather
from onym.store.files.table import QuoteCheck
from onym.types import Document
from tests.robustness.cli.input_trees import Maker, Tree
from tests.robustness.cli.inputs_accounted import _judge, _Judged
from tests.robustness.cli.release_trees import judge_release, judge_table

FIGURES = ("unaccounted", "lost", "renamed")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A tree without unreadable files, because root can read all files."""
    (tmp_path / "tree").mkdir()
    maker = Maker(tmp_path / "tree", tmp_path, 7)
    (tmp_path / "secret.txt").write_text("Secret words")
    for kind in (Maker.text, Maker.pubtator, Maker.jsonl, Maker.brat, Maker.aside, Maker.unknown, Maker.add_torn_xml):
        kind(maker)
    maker.link_out()
    return maker.tree


def judge_tree(tree: Tree, to: str = "jsonl") -> tuple[int, ...]:
    found: _Judged = _judge(tree, tree.folder.parent / "out", to)
    return tuple(found.figures[name] for name in FIGURES)


@pytest.mark.parametrize("to", ["jsonl", "text"])
def test_every_file_of_a_tree_is_accounted_for(tree: Tree, to: str) -> None:
    assert judge_tree(tree, to) == (0, 0, 0)


def test_detects_renamed_document(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    real = reading.number_items

    def renaming(*arguments: Any) -> Iterator[Item]:
        return (replace(item, id=f"{item.id}#2") if isinstance(item, Document) else item for item in real(*arguments))

    monkeypatch.setattr(reading, "number_items", renaming)
    assert judge_tree(tree)[2] > 0


def test_detects_unlisted_file(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reading, "files", property(lambda self: tuple(self._files.values())[1:]))
    assert judge_tree(tree)[0] > 0


def test_detects_lost_document(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    real = reading.number_items
    monkeypatch.setattr(reading, "number_items", lambda *arguments: islice(real(*arguments), 1, None))
    assert judge_tree(tree)[1] > 0


@pytest.mark.parametrize("seed", range(4))
def test_every_terminology_file_is_accounted_for(tmp_path: Path, seed: int) -> None:
    assert judge_release(tmp_path, seed)[1] == []


def test_detects_unlisted_terminology_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "find_ignored", lambda *_: [])
    assert judge_release(tmp_path, 23)[1]


def test_detects_rows_swallowed_by_unclosed_quote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not [line for seed in range(20) for line in judge_table(tmp_path, seed)]
    monkeypatch.setattr(QuoteCheck, "feed", lambda *_: None)
    assert [line for seed in range(20) for line in judge_table(tmp_path, seed)]
