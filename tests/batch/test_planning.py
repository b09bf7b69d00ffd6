"""Tests of creating plans: how files are divided into shards, the keys of shards, and rejected input."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from onym._version import __version__
from onym.batch.planning import plan_batch
from onym.errors import ConfigError, InputError
from onym.pipeline import PipelineOptions
from onym.pipeline.folder import build_pipeline
from tests.batch.runs import corpus_at, pipeline_at, plan_run, pubmed_at


def test_combines_small_files_and_splits_large_ones(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    names = [[part.name for group in shard.groups for part in group.files] for shard in plan.shards]
    assert names[0] == [f"{number}.txt" for number in range(5)]
    assert len(names) > 3
    assert {name for shard in names[1:] for name in shard} == {"many.jsonl"}
    ranges = [group.files[0] for shard in plan.shards[1:] for group in shard.groups]
    assert [part.start for part in ranges] == [sum(each.bytes for each in ranges[:number]) for number in range(len(ranges))]
    assert sum(part.bytes for part in ranges) == (tmp_path / "notes" / "many.jsonl").stat().st_size
    assert len({shard.key for shard in plan.shards}) == len(plan.shards)


def test_keeps_same_plan_and_rejects_another(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    sources, out = [tmp_path / "notes"], tmp_path / "out"
    assert plan_batch(sources, tmp_path / "pipeline", out, shard_bytes=300) == plan
    with pytest.raises(ConfigError) as caught:
        plan_batch(sources, tmp_path / "pipeline", out, shard_bytes=300, text=False)
    assert caught.value.code == "batch-plan-differs"


def test_rejects_private_over_existing_public_plan(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    with pytest.raises(ConfigError, match="not private"):
        plan_batch([tmp_path / "notes"], tmp_path / "pipeline", tmp_path / "out", shard_bytes=300, private=True)


def test_keys_do_not_depend_on_paths(tiny_kb: Path, tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    here, there = (plan_run(tiny_kb, tmp_path / name) for name in ("here", "there"))
    assert here.settings.pipeline != there.settings.pipeline
    assert [shard.key for shard in here.shards] == [shard.key for shard in there.shards]


def test_key_of_unsplit_file_is_stable(tiny_kb: Path, tmp_path: Path) -> None:
    path = pubmed_at(tmp_path, 3)
    plan = plan_batch([path], pipeline_at(tiny_kb, tmp_path), tmp_path / "out", shard_bytes=8)
    inputs = [["pubmed", [path.name, hashlib.sha256(path.read_bytes()).hexdigest(), None]]]
    said = {"inputs": inputs, "source": plan.source, "onym": __version__, "schema": 2, "text": True}
    key = hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    assert [shard.key for shard in plan.shards] == [key]


def test_document_ranges_are_separate_shards(tiny_kb: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    pubmed_at(corpus, 10)
    (corpus / "b.txt").write_text("fever")
    plan = plan_batch([corpus], pipeline_at(tiny_kb, tmp_path), tmp_path / "out", shard_bytes=400, shard_documents=4)
    parts = [[part for group in shard.groups for part in group.files] for shard in plan.shards]
    assert [[(part.name, part.first) for part in each] for each in parts] == [
        [("a.xml.gz", 1)], [("a.xml.gz", 4)], [("a.xml.gz", 7)], [("b.txt", None)],
    ]  # fmt: skip
    assert len({shard.key for shard in plan.shards}) == 4


def test_key_depends_on_concept_filter(tiny_kb: Path, tmp_path: Path) -> None:
    notes = corpus_at(tmp_path)
    keys = set()
    for number, concept in enumerate(("D005334", "D009203")):
        build_pipeline(tiny_kb, tmp_path / f"p{number}", options=PipelineOptions(concepts=(concept,)))
        keys.add(plan_batch([notes], tmp_path / f"p{number}", tmp_path / f"out{number}").shards[0].key)
    assert len(keys) == 2


def test_lists_ignored_and_unreadable_files(tiny_kb: Path, tmp_path: Path) -> None:
    notes = corpus_at(tmp_path)
    (notes / "README.md").write_text("about")
    (notes / "b.bin").write_bytes(b"\x00\x01\x02")
    plan = plan_batch([notes], pipeline_at(tiny_kb, tmp_path), tmp_path / "out")
    assert [(file.name, file.code) for file in plan.aside] == [("README.md", ""), ("b.bin", "format-unknown")]
    assert [file.name for file in plan.unreadable_files] == ["b.bin"]


def test_rejects_empty_input(tiny_kb: Path, tmp_path: Path) -> None:
    pipeline = pipeline_at(tiny_kb, tmp_path)
    with pytest.raises(ConfigError):
        plan_batch([], pipeline, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        plan_batch([tmp_path / "empty"], pipeline, tmp_path / "out")


def test_same_file_name_in_several_sources(tiny_kb: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text("fever")
    plan = plan_batch([tmp_path / "a", tmp_path / "b"], pipeline_at(tiny_kb, tmp_path), tmp_path / "out")
    assert len({part.name for shard in plan.shards for group in shard.groups for part in group.files}) == 2
    with pytest.raises(ConfigError) as caught:
        plan_batch([tmp_path / "a", tmp_path / "a"], tmp_path / "pipeline", tmp_path / "other")
    assert caught.value.code == "config-invalid"
