"""The current view of update files, against a plain reference."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from onym.batch.compaction import compact
from onym.batch.planning import plan_batch
from onym.batch.run import run_batch
from onym.errors import InputError
from tests.batch.runs import InlineEngine, pipeline_at

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


def test_it_is_what_a_plain_reference_says(tiny_kb: Path, tmp_path: Path) -> None:
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


def test_what_is_not_done_is_refused(tiny_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("fever")
    plan_batch([tmp_path / "1.txt"], pipeline_at(tiny_kb, tmp_path), tmp_path / "out")
    with pytest.raises(InputError) as caught:
        compact(tmp_path / "out", tmp_path / "current.parquet")
    assert caught.value.code == "batch-not-done"
