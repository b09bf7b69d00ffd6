"""Tests that linking a shard is a pure function: its output does not depend on the shards that were linked before."""

from __future__ import annotations

import errno
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from onym.batch import inputs
from onym.batch.inputs import open_group
from onym.batch.plan import BatchPlan, InputGroup
from onym.batch.planning import plan_batch
from onym.batch.shard import write_shard
from onym.corpora.reading import Group
from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.base import Linker, Rank
from onym.methods.dictionary.detector import DictionaryDetector
from onym.packs.locate import load
from onym.pipeline.pipeline import Pipeline
from onym.text.queries import Query
from onym.types import Candidate
from tests.batch.runs import pipeline_at, plan_run


class Drifting(Linker):
    """A linker whose scores vary slightly with the queries of a call, as those of a model do."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "drifting"}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        def rank(queries: Sequence[Query]) -> list[Ranked]:
            score = 0.5 + sum(len(query.text) for query in queries) * 2**-40
            return [Ranked((Candidate(self.kb.concept_ids[0], query.text, score),)) for query in queries]

        return rank


class _Keeping(Drifting):
    keeps_answers = True


def write_bytes(plan: BatchPlan, pipeline: Pipeline, number: int) -> bytes:
    file = io.BytesIO()
    write_shard(plan.shards[number], pipeline, file)
    return file.getvalue()


def test_output_does_not_depend_on_earlier_shards(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    alone = [write_bytes(plan, load(tmp_path / "pipeline"), number) for number in range(len(plan.shards))]
    pipeline = load(tmp_path / "pipeline")
    backwards = [write_bytes(plan, pipeline, number) for number in reversed(range(len(plan.shards)))]
    assert backwards[::-1] == alone


def test_no_answers_are_kept_between_shards(tiny_kb: Path, tmp_path: Path) -> None:
    """This linker's scores depend on which queries are computed together, so answers kept by text would change them."""
    plan, kb = plan_run(tiny_kb, tmp_path, shard_bytes=1), KnowledgeBase.open(tiny_kb)  # a shard for each file

    def write_all(linker: Linker, numbers: Sequence[int]) -> dict[int, bytes]:
        pipeline = Pipeline(linker, DictionaryDetector(kb))
        return {number: write_bytes(plan, pipeline, number) for number in numbers}

    numbers = range(len(plan.shards))
    alone = {number: write_all(Drifting(kb), [number])[number] for number in numbers}
    assert write_all(Drifting(kb), numbers) == alone
    assert write_all(Drifting(kb), numbers[::-1]) == alone
    assert write_all(_Keeping(kb), numbers) != alone  # with answers of earlier shards, the output would change


class _FailingDisk(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        raise OSError(errno.EIO, "Input/output error")


def test_disk_error_fails_the_whole_shard(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    pipeline = load(tmp_path / "pipeline")

    def failing(group: InputGroup) -> Group:
        files = [
            replace(file, opener=lambda: cast(BinaryIO, _FailingDisk())) if file.name == "3.txt" else file
            for file in open_group(group).files
        ]
        return Group(group.format, tuple(files))

    monkeypatch.setattr(inputs, "open_group", failing)
    with pytest.raises(InputError) as caught:
        write_bytes(plan, pipeline, 0)
    assert caught.value.code == "input-unreadable"
    monkeypatch.undo()
    assert write_bytes(plan, pipeline, 0)


def test_receipt_counts_malformed_documents_and_files(tiny_kb: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.jsonl").write_text('{"id": "1", "text": "fever"}\n{"id": "2"}\n{"id": "3", "text": "cough"}\n')
    (notes / "b.txt").write_bytes(b"\x81\xff")
    plan = plan_batch([notes], pipeline_at(tiny_kb, tmp_path), tmp_path / "out")
    receipt = write_shard(plan.shards[0], load(tmp_path / "pipeline"), io.BytesIO())
    assert receipt.documents == 2
    assert sum(receipt.problems.values()) == 2
    assert [(file.name, file.documents, bool(file.code)) for file in receipt.files] == [
        ("a.jsonl", 2, False),
        ("b.txt", 0, True),
    ]
