"""Tests of exporting a run: tables, documents, and the current view."""

from __future__ import annotations

import json
import random
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

from onym.batch.exporting import _read_linked, _rows, compact, export
from onym.batch.ledger import status, verify
from onym.batch.planning import plan_batch
from onym.batch.rows import flat_columns
from onym.batch.run import run_batch
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.errors import ConfigError, InputError, OnymError
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.outputs.base import ExportOptions, OutputContext, write_output
from onym.outputs.fhir import fhir_document
from onym.outputs.predictions import read_predictions
from onym.outputs.table import read_flat
from onym.packs.locate import load
from onym.pipeline import PipelineOptions
from onym.pipeline.folder import build_pipeline
from onym.store.storage import open_storage
from tests.batch.runs import InlineEngine, corpus_at, finish_run, pipeline_at, plan_run, rewrite_as_version_1


@pytest.mark.parametrize("name", ["links.parquet", "links.csv", "links.jsonl"])
def test_exports_table_of_all_mentions(tiny_kb: Path, tmp_path: Path, name: str) -> None:
    counts = finish_run(tiny_kb, tmp_path).counts()
    assert export(tmp_path / "out", tmp_path / name).mentions == counts["mentions"]
    table = read_flat(tmp_path / name)
    assert table.height == counts["mentions"]
    assert table.filter(pl.col("document") == "j0")["concept_id"].to_list() == ["MESH:D005334", "MESH:D009203"]


FEVERS = "id\tname\nmesh:D005334\tFever\nmesh:D011778\tQ fever\nmesh:D006255\tHay fever\nmesh:D003371\tCough\n"


@pytest.mark.parametrize(("threshold", "assertion"), [(None, False), (1.5, True)])
def test_predictions_equal_single_process_output(tmp_path: Path, threshold: float | None, assertion: bool) -> None:
    (tmp_path / "fevers.tsv").write_text(FEVERS)
    build_kb(Recipe(sources=(SourceConfig(path="fevers.tsv", name="fevers"),)), tmp_path / "kb", root=tmp_path)
    build_pipeline(
        tmp_path / "kb", tmp_path / "pipeline", linker="tfidf", options=PipelineOptions(threshold=threshold, top_k=2)
    )
    plan_batch(
        [corpus_at(tmp_path)],
        tmp_path / "pipeline",
        tmp_path / "out",
        options=PipelineOptions(assertion=assertion),
        shard_bytes=300,
    )
    linked_mentions = run_batch(tmp_path / "out", engine=InlineEngine()).counts()["linked"]
    assert export(tmp_path / "out", tmp_path / "batch.jsonl", "predictions").documents == 25
    pipeline = load(tmp_path / "pipeline").with_assertion(assertion)
    linked = pipeline.link_many(documents_of(read_corpus(tmp_path / "notes")))
    write_output(linked, "predictions", OutputContext(tmp_path / "one.jsonl", pipeline.source()))
    assert (tmp_path / "batch.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    found = read_predictions(tmp_path / "batch.jsonl")
    assert max(len(each.answers) for each in found) == 2
    assert {each.nil_reason for each in found} == {"below-threshold" if threshold else None}
    assert (linked_mentions > 0) == (threshold is None)


@pytest.mark.parametrize("old", [1, 99])  # how many of the shards are rewritten in version 1: one, or all
def test_reads_output_of_version_1(tiny_kb: Path, tmp_path: Path, old: int) -> None:
    finish_run(tiny_kb, tmp_path)
    out = tmp_path / "out"

    def export_all(name: str) -> list[bytes]:
        export(out, tmp_path / f"{name}.csv")
        export(out, tmp_path / f"{name}.parquet")
        export(out, tmp_path / f"{name}.pubtator", "pubtator")
        return [(tmp_path / f"{name}{ending}").read_bytes() for ending in (".csv", ".parquet", ".pubtator")]

    new = export_all("new")
    compact(out, tmp_path / "new.current.parquet")
    for path in sorted((out / "shards").iterdir())[:old]:
        rewrite_as_version_1(path)
    assert status(out).is_done
    assert verify(out) == []
    assert export_all("old") == new
    compact(out, tmp_path / "old.current.parquet")
    current = pl.read_parquet(tmp_path / "old.current.parquet")
    assert current.columns == list(flat_columns())
    assert current.filter(pl.col("document") == "j0")["concept_id"].to_list() == ["MESH:D005334", "MESH:D009203"]
    assert current.sort(["source", "ordinal", "start"]).equals(
        pl.read_parquet(tmp_path / "new.current.parquet").sort(["source", "ordinal", "start"])
    )
    with pytest.raises(ConfigError, match="config-invalid"):
        export(out, tmp_path / "predictions.jsonl", "predictions")
    assert not (tmp_path / "predictions.jsonl").exists()


def test_exports_documents_with_links(tiny_kb: Path, tmp_path: Path) -> None:
    finish_run(tiny_kb, tmp_path)
    assert export(tmp_path / "out", tmp_path / "linked.jsonl", "jsonl").documents == 25
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


def test_exports_pubtator(tiny_kb: Path, tmp_path: Path) -> None:
    finish_run(tiny_kb, tmp_path)
    written = export(tmp_path / "out", tmp_path / "linked.pubtator", "pubtator")
    export(tmp_path / "out", tmp_path / "links.parquet")
    marked = {row["document"] for row in read_flat(tmp_path / "links.parquet").to_dicts() if row["assertion"]}
    assert written.documents == 25
    assert written.lost == {"assertion marks": len(marked)}
    assert "j0\t5\t10\tfever" in (tmp_path / "linked.pubtator").read_text()


def test_fhir_has_all_documents_with_assertions(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path, options=PipelineOptions(assertion=True))
    run_batch(tmp_path / "out", engine=InlineEngine())
    assert export(tmp_path / "out", tmp_path / "linked.fhir.ndjson").documents == 25
    lines = (tmp_path / "linked.fhir.ndjson").read_bytes().splitlines()
    pipeline = load(tmp_path / "pipeline").with_assertion()
    docs = documents_of(read_corpus(tmp_path / "notes"))
    assert [json.loads(line) for line in lines] == [fhir_document(pipeline.link(doc)) for doc in docs]


def test_note_nlp_of_run_without_text(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path, text=False)
    counts = run_batch(tmp_path / "out", engine=InlineEngine()).counts()
    options = ExportOptions.of(nlp_date="2026-01-31", note_keys=tmp_path / "keys.csv")
    assert export(tmp_path / "out", tmp_path / "note_nlp.csv", options=options).documents == 25
    table = pl.read_csv(tmp_path / "note_nlp.csv")
    assert table.height == counts["mentions"]
    assert set(table["lexical_variant"]) == {"[omitted]"}
    assert pl.read_csv(tmp_path / "keys.csv").height == 25
    with pytest.raises(ConfigError, match="config-invalid"):
        export(tmp_path / "out", tmp_path / "links.csv", options=options)


def test_failed_document_is_not_exported(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    finished_run = run_batch(tmp_path / "out", engine=InlineEngine())
    shard = finished_run.plan.shards[0]
    storage = open_storage(tmp_path / "out")
    everything = list(_read_linked(shard, storage))
    first = everything[0].document
    rows = [row for row in _rows(shard, storage) if (row["source"], row["ordinal"]) != (first.source, first.ordinal)]
    with patch("onym.batch.exporting._rows", return_value=iter(rows)):
        kept = list(_read_linked(shard, storage, complete=True))
    assert [each.document for each in kept] == [each.document for each in everything[1:]]


def test_export_rejects_unfinished_run(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    with pytest.raises(InputError) as caught:
        export(tmp_path / "out", tmp_path / "a.csv")
    assert caught.value.code == "batch-not-done"


def test_rejects_changed_input(tiny_kb: Path, tmp_path: Path) -> None:
    finish_run(tiny_kb, tmp_path)
    (tmp_path / "notes" / "1.txt").write_text("Other text.")
    with pytest.raises(OnymError):
        export(tmp_path / "out", tmp_path / "a.jsonl", "jsonl")
    assert not (tmp_path / "a.jsonl").exists()


_WORDS = ("fever", "cough", "heart attack", "nothing")


def article(pmid: int, version: int, text: str) -> str:
    return (
        f"<PubmedArticle><MedlineCitation><PMID Version='{version}'>{pmid}</PMID><Article><ArticleTitle>{text}</ArticleTitle>"
        "</Article></MedlineCitation></PubmedArticle>"
    )


def file_of(articles: list[tuple[int, int, str]], deleted: list[tuple[int, int]]) -> str:
    body = "".join(article(*each) for each in articles)
    ids = "".join(f"<PMID Version='{version}'>{pmid}</PMID>" for pmid, version in deleted)
    return f"<PubmedArticleSet>{body}{f'<DeleteCitation>{ids}</DeleteCitation>' if ids else ''}</PubmedArticleSet>"


def test_compact_equals_reference_implementation(tiny_kb: Path, tmp_path: Path) -> None:
    rng = random.Random(5)
    (tmp_path / "pubmed").mkdir()
    current: dict[tuple[int, int], str] = {}
    tombstones: set[tuple[int, ...]] = set()
    for number in range(12):
        articles = [(rng.randrange(8), rng.choice((1, 1, 2)), f"{rng.choice(_WORDS)} {number}") for _ in range(5)]
        deleted = [(rng.randrange(8), 1) for _ in range(2)]
        (tmp_path / "pubmed" / f"pubmed26n{number:04}.xml").write_text(file_of(articles, deleted))
        current |= {(pmid, version): text for pmid, version, text in articles}
        tombstones = (tombstones - {each[:2] for each in articles}) | set(deleted)
        current = {key: text for key, text in current.items() if key not in deleted}
    plan_batch([tmp_path / "pubmed"], pipeline_at(tiny_kb, tmp_path), tmp_path / "out", shard_bytes=1000)
    run_batch(tmp_path / "out", engine=InlineEngine())
    found = compact(tmp_path / "out", tmp_path / "current.parquet")
    rows = pl.read_parquet(tmp_path / "current.parquet")
    names = {f"{pmid}.{version}" if version > 1 else str(pmid): text for (pmid, version), text in current.items()}
    assert set(rows["document"]) == set(names)
    assert found.documents == len(names)
    assert found.later_versions == sum("." in name for name in names)
    assert found.tombstones == len(tombstones)
    for name, source in rows.select("document", "source").unique().iter_rows():
        assert source == f"pubmed26n{int(names[name].split()[-1]):04}.xml"
    latest = compact(tmp_path / "out", tmp_path / "latest.parquet", latest=True)
    kept = set(pl.read_parquet(tmp_path / "latest.parquet")["document"])
    assert latest.documents == len({pmid for pmid, _ in current}) == len(kept)
    assert all(f"{name}.2" not in names for name in kept if "." not in name)


def test_compact_rejects_unfinished_run(tiny_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("fever")
    plan_batch([tmp_path / "1.txt"], pipeline_at(tiny_kb, tmp_path), tmp_path / "out")
    with pytest.raises(InputError) as caught:
        compact(tmp_path / "out", tmp_path / "current.parquet")
    assert caught.value.code == "batch-not-done"
