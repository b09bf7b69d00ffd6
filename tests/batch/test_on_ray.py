"""Tests of the Ray engine, on a fake cluster and on a real one in its own network namespace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from onym.batch.engines import DIED, ShardQueue
from onym.batch.ledger import status
from onym.batch.on_ray import RayEngine, link_shard
from onym.batch.planning import plan_batch
from onym.batch.run import run_batch
from onym.errors import ConfigError, InternalError, OnymError
from onym.store.storage import open_storage
from tests.batch.runs import InlineEngine, bytes_of, corpus_at, pipeline_at, plan_run
from tests.robustness.attacks.of_parquet import forge_rows
from tests.robustness.own_network import own_network


@pytest.mark.slow
def test_real_cluster_loses_processes_and_a_node(tiny_kb: Path, tmp_path: Path) -> None:
    pipeline, corpus = pipeline_at(tiny_kb, tmp_path), corpus_at(tmp_path)
    for name in ("inline", "whole", "poisoned", "shrunk"):
        plan = plan_batch([corpus], pipeline, tmp_path / name, shard_bytes=300)
    run_batch(tmp_path / "inline", engine=InlineEngine())
    _in_own_network("-m", "tests.batch.ray_scenario", str(tmp_path))
    right = bytes_of(tmp_path / "inline")
    assert bytes_of(tmp_path / "whole") == right
    poisoned = status(tmp_path / "poisoned")
    assert {number: each.code for number, each in poisoned.quarantined.items()} == {1: DIED}
    assert len(poisoned.receipts) == len(plan.shards) - 1
    assert (tmp_path / "shrunk" / "second-node-is-gone").exists()
    assert bytes_of(tmp_path / "shrunk") == right


@pytest.mark.slow
def test_command_line_starts_local_cluster(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    out = tmp_path / "out"
    _in_own_network("-m", "onym", "batch", "run", out.name, "--engine", "ray", "--workers", "1", at=tmp_path)
    by_ray = bytes_of(out)
    for path in (out / "shards").iterdir():
        path.unlink()
    run_batch(out, engine=InlineEngine())
    assert bytes_of(out) == by_ray


@pytest.mark.slow
def test_hostile_input_and_output_of_a_shard_are_as_harmless_as_on_one_machine(tiny_kb: Path, tmp_path: Path) -> None:
    pipeline, corpus, out = pipeline_at(tiny_kb, tmp_path), corpus_at(tmp_path), tmp_path / "out"
    text = pa.schema([("id", pa.string()), ("text", pa.string())])
    (corpus / "bomb.parquet").write_bytes(forge_rows(text, "text"))  # 3.6 GB of texts
    (corpus / "symbols.txt").write_text("(" * 100_000)
    (corpus / "bytes.jsonl").write_bytes(b'{"id": "1", "text": "\xff"}\n{"id": 1e400}\n\x00')
    plan_batch([corpus], pipeline, out, shard_bytes=300)
    run_batch(out, engine=InlineEngine())
    right = bytes_of(out)
    for path, content in zip(sorted((out / "shards").iterdir()), (forge_rows(text, "text"), b"PAR1", b""), strict=False):
        path.write_bytes(content)
    _in_own_network("-m", "onym", "batch", "run", out.name, "--engine", "ray", "--workers", "1", at=tmp_path, status=5)
    assert bytes_of(out) == right


class _CrashedError(Exception):
    pass


class _NoMemoryError(Exception):
    pass


class _InTaskError(Exception):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class _LostError(Exception):
    pass


class _MadeUpRay:
    """A fake of `ray` whose tasks return at once; `answer` gets the shard number and the number of calls."""

    exceptions = SimpleNamespace(
        WorkerCrashedError=_CrashedError, OutOfMemoryError=_NoMemoryError, RayTaskError=_InTaskError, RayError=Exception
    )

    def __init__(self, answer: Callable[[int, int], dict[str, Any]]) -> None:
        self._answer, self.calls, self.cancelled, self.at_once = answer, 0, 0, 0

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **options: Any) -> Any:
        assert options == {"max_retries": 0}  # retries by Ray itself would not be counted as failures
        return lambda link: SimpleNamespace(remote=lambda out, pipeline, number: (number, object()))

    def wait(self, references: list[Any], **options: Any) -> tuple[list[Any], list[Any]]:
        self.at_once = max(self.at_once, len(references))
        return references[:1], references[1:]

    def get(self, reference: Any) -> dict[str, Any]:
        self.calls += 1
        return self._answer(reference[0], self.calls)

    def cancel(self, reference: Any, **options: Any) -> None:
        self.cancelled += 1


@pytest.fixture
def queue(tiny_kb: Path, tmp_path: Path) -> ShardQueue:
    return ShardQueue.of(plan_run(tiny_kb, tmp_path).shards, open_storage(tmp_path / "out"))


def _run(queue: ShardQueue, ray: _MadeUpRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ray)
    RayEngine().run(queue)


def test_lost_node_does_not_count_as_failure(queue: ShardQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(number: int, call: int) -> dict[str, Any]:
        if call <= 20:
            raise _LostError
        return {"done": number}

    ray, wanted = _MadeUpRay(answer), {shard.number for shard in queue.waiting}
    _run(queue, ray, monkeypatch)
    assert (queue.done, queue.quarantined) == (wanted, {})
    assert ray.at_once == 3  # one task per CPU, plus one that makes the autoscaler add nodes


@pytest.mark.parametrize("failure", [_CrashedError, _NoMemoryError])
def test_dead_process_counts_as_failure(queue: ShardQueue, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]) -> None:
    def answer(number: int, call: int) -> dict[str, Any]:
        if number == 0:
            raise failure
        return {"done": number}

    _run(queue, _MadeUpRay(answer), monkeypatch)
    assert {number: each.code for number, each in queue.quarantined.items()} == {0: DIED}


def test_task_error_ends_the_run_without_text(queue: ShardQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(number: int, call: int) -> dict[str, Any]:
        raise _InTaskError(ModuleNotFoundError("patient Smith"))

    ray = _MadeUpRay(answer)
    with pytest.raises(InternalError) as caught:
        _run(queue, ray, monkeypatch)
    assert caught.value.code == "batch-cluster-failed"
    assert "ModuleNotFoundError" in caught.value.what
    assert "Smith" not in str(caught.value)
    assert ray.cancelled == 2


def test_link_shard_returns_error_of_the_plan(tmp_path: Path) -> None:
    assert link_shard(str(tmp_path), None, 0)["error"]["code"] == "batch-no-plan"


def test_error_without_ray_names_the_extra(queue: ShardQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError) as caught:
        RayEngine().run(queue)
    assert caught.value.fix == "pip install 'onym[ray]'"


def test_error_if_cluster_is_unreachable(queue: ShardQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(_MadeUpRay):
        def is_initialized(self) -> bool:
            return False

        def init(self, address: str, **options: Any) -> None:
            raise ConnectionError(address)

    monkeypatch.setitem(sys.modules, "ray", Silent(lambda number, call: {}))
    with pytest.raises(OnymError) as caught:
        RayEngine(address="head:6379").run(queue)
    assert (caught.value.code, caught.value.where) == ("batch-cluster-failed", "head:6379")


def _in_own_network(*words: str, at: Path | None = None, status: int = 0) -> None:
    root = Path(__file__).parents[2]
    command = own_network("env", "-C", str(at or root), sys.executable, *words)
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=300, check=False)
    assert done.returncode == status, done.stderr.decode()[-2000:]
