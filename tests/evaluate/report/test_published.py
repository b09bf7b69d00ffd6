"""Tests that reports show published scores only if dataset and protocol match."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from onym.evaluate.content import ReportContent
from onym.evaluate.pages import linking_page
from onym.evaluate.published import find_published_for
from onym.evaluate.tables import tabulate_published

BARE = ReportContent("exact", "ncbi-disease-biosyn", "test", "biosyn", "MEDIC", ())
MANIFEST = {"dataset": {"name": "ncbi-disease-biosyn", "split": "test"}}


def test_published_scores_are_shown_for_matching_evaluation() -> None:
    figures = find_published_for(MANIFEST, "biosyn")
    made = linking_page(replace(BARE, published=figures))
    assert "SapBERT, fine-tuned" in made
    assert "92.3" in made
    file = io.StringIO()
    for table in tabulate_published(figures):
        Console(file=file, width=80).print(table)
    first = next(line for line in file.getvalue().splitlines() if "fine-tuned" in line)
    assert first.split()[-7:] == ["Liu", "and", "others", "2021,", "table", "2", "92.3"]


def test_no_published_scores_otherwise() -> None:
    for manifest, protocol in ((MANIFEST, "strict"), ({"dataset": {"name": "mine", "split": "test"}}, "biosyn")):
        assert "Published" not in linking_page(replace(BARE, published=find_published_for(manifest, protocol)))
        assert tabulate_published(find_published_for(manifest, protocol)) == []
