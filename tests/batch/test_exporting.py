"""Outputs as one file."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

from onym.batch.exporting import _linked, _rows, export
from onym.batch.run import run_batch
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.errors import ConfigError, InputError, OnymError
from onym.outputs.base import ExportOptions
from onym.outputs.fhir import fhir_document
from onym.outputs.table import read_flat
from onym.packs.locate import load
from onym.store.storage import open_storage
from tests.batch.runs import InlineEngine, finished, planned


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


def test_fhir_has_all_documents_with_their_marks(tiny_kb: Path, tmp_path: Path) -> None:
    planned(tiny_kb, tmp_path, assertion=True)
    run_batch(tmp_path / "out", engine=InlineEngine())
    assert export(tmp_path / "out", tmp_path / "linked.fhir.ndjson") == 25
    lines = (tmp_path / "linked.fhir.ndjson").read_bytes().splitlines()
    pipeline = load(tmp_path / "pipeline").with_assertion()
    docs = documents_of(read_corpus(tmp_path / "notes"))
    assert [json.loads(line) for line in lines] == [fhir_document(pipeline.link(doc)) for doc in docs]


def test_note_nlp_has_no_text_where_the_run_has_none(tiny_kb: Path, tmp_path: Path) -> None:
    planned(tiny_kb, tmp_path, text=False)
    counts = run_batch(tmp_path / "out", engine=InlineEngine()).counts()
    options = ExportOptions.of(nlp_date="2026-01-31", note_keys=tmp_path / "keys.csv")
    assert export(tmp_path / "out", tmp_path / "note_nlp.csv", options=options) == 25
    table = pl.read_csv(tmp_path / "note_nlp.csv")
    assert table.height == counts["mentions"]
    assert set(table["lexical_variant"]) == {"[omitted]"}
    assert pl.read_csv(tmp_path / "keys.csv").height == 25
    with pytest.raises(ConfigError, match="config-invalid"):
        export(tmp_path / "out", tmp_path / "links.csv", options=options)


def test_a_document_that_failed_is_in_no_export(tiny_kb: Path, tmp_path: Path) -> None:
    planned(tiny_kb, tmp_path)
    finished_run = run_batch(tmp_path / "out", engine=InlineEngine())
    shard = finished_run.plan.shards[0]
    storage = open_storage(tmp_path / "out")
    everything = list(_linked(shard, storage))
    first = everything[0].document
    rows = [row for row in _rows(shard, storage) if (row["source"], row["ordinal"]) != (first.source, first.ordinal)]
    with patch("onym.batch.exporting._rows", return_value=iter(rows)):
        kept = list(_linked(shard, storage, complete=True))
    assert [each.document for each in kept] == [each.document for each in everything[1:]]


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
