"""Outputs as one file."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.batch.exporting import export
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.errors import InputError, OnymError
from onym.pipeline.flat import read_flat
from onym.pipeline.folder import load
from tests.batch.runs import finished, planned


@pytest.mark.parametrize("name", ["links.parquet", "links.csv", "links.jsonl"])
def test_a_table_of_all_mentions(tiny_kb: Path, tmp_path: Path, name: str) -> None:
    counts = finished(tiny_kb, tmp_path).counts()
    assert export(tmp_path / "out", tmp_path / name) == counts["mentions"]
    table = read_flat(tmp_path / name)
    assert table.height == counts["mentions"]
    assert table.filter(pl.col("document") == "j0")["concept_id"].to_list() == ["MESH:D005334", "MESH:D009203"]


def test_documents_with_their_links(tiny_kb: Path, tmp_path: Path) -> None:
    finished(tiny_kb, tmp_path)
    assert export(tmp_path / "out", tmp_path / "linked.jsonl", "jsonl") == 25
    pipeline = load(tmp_path / "pipeline")
    wanted = {
        (doc.source, doc.id): [link.concept_id for link in pipeline.link(doc).links]
        for doc in documents_of(read_corpus(tmp_path / "notes"))
    }
    found = list(documents_of(read_corpus(tmp_path / "linked.jsonl")))
    assert [doc.id for doc in found] == [name for _, name in wanted]
    from onym.corpora.formats import jsonl
    from onym.store.files.source import Source

    linked = jsonl.read_linked(Source.open(tmp_path / "linked.jsonl"))
    assert [[link.concept_id for link in each.links] for each in linked] == list(wanted.values())


def test_pubtator(tiny_kb: Path, tmp_path: Path) -> None:
    finished(tiny_kb, tmp_path)
    assert export(tmp_path / "out", tmp_path / "linked.pubtator", "pubtator") == 25
    assert "j0\t5\t10\tfever" in (tmp_path / "linked.pubtator").read_text()


def test_what_is_not_done_or_has_changed_is_refused(tiny_kb: Path, tmp_path: Path) -> None:
    planned(tiny_kb, tmp_path)
    with pytest.raises(InputError) as caught:
        export(tmp_path / "out", tmp_path / "a.csv")
    assert caught.value.code == "batch-not-done"


def test_a_changed_input_is_refused(tiny_kb: Path, tmp_path: Path) -> None:
    finished(tiny_kb, tmp_path)
    (tmp_path / "notes" / "1.txt").write_text("Other text.")
    with pytest.raises(OnymError):
        export(tmp_path / "out", tmp_path / "a.jsonl", "jsonl")
    assert not (tmp_path / "a.jsonl").exists()
