"""Published figures in reports."""

from __future__ import annotations

import io

from rich.console import Console

from onym.evaluate.report.published import published_for, published_section, published_tables

MANIFEST = {"dataset": {"name": "ncbi-disease-biosyn", "split": "test"}}


def test_they_stand_where_dataset_split_and_protocol_match() -> None:
    figures = published_for(MANIFEST, "biosyn")
    made = published_section(figures)
    assert "SapBERT, fine-tuned" in made
    assert "92.3" in made
    file = io.StringIO()
    for table in published_tables(figures):
        Console(file=file, width=80).print(table)
    first = next(line for line in file.getvalue().splitlines() if "fine-tuned" in line)
    assert first.split()[-7:] == ["Liu", "and", "others", "2021,", "table", "2", "92.3"]


def test_else_there_is_nothing() -> None:
    for manifest, protocol in ((MANIFEST, "strict"), ({"dataset": {"name": "mine", "split": "test"}}, "biosyn")):
        assert published_section(published_for(manifest, protocol)) == ""
        assert published_tables(published_for(manifest, protocol)) == []
