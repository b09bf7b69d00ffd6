"""Tasks of a Ray cluster, one for each shard: `pip install onym[ray]`.

A worker process of the cluster opens the pipeline once and keeps it. As many tasks are under way as the cluster has CPUs at
the time, and one more, which tells an autoscaler that there is work: a cluster may grow and shrink. Ray itself never repeats a
task: what failed is counted here, as with processes of this machine. A node that is lost is no failure of the shard.

Ray is told the address of the output, that of the pipeline and the number of a shard; nothing of a document goes through it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from onym.batch.engines import DIED, Failure, ShardQueue
from onym.batch.plan import Shard
from onym.batch.shard import ShardRunner
from onym.errors import ConfigError, InternalError, OnymError, missing_extra
from onym.store.storage import absolute
from onym.workers import error_reply

LOCAL = "local"
"""The address of a cluster of this machine alone, which lives as long as the run; never one that somebody left running."""
_ENVIRONMENT = {
    "RAY_worker_niceness": "0",  # or all that is started is of the lowest priority
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is told to anybody
    "RAY_raylet_start_wait_time_s": "180",  # 30 are short on a busy machine
    "RAY_prestart_worker_first_driver": "0",  # a driver waits for these workers without end, if one of them dies
}
_STORE_BYTES = 100_000_000  # for objects that tasks exchange: ours exchange none
_PATIENCE_S = 2.0  # after which the cluster is asked again how large it is


def link_shard(out: str, pipeline: str | None, number: int) -> dict[str, Any]:
    """Link a shard in a process of the cluster, and return what a worker of this machine would reply."""
    try:
        return _runner(out, pipeline).run(number)
    except OnymError as e:
        return error_reply(e)


@lru_cache(maxsize=1)
def _runner(out: str, pipeline: str | None) -> ShardRunner:
    """Return the pipeline that this process has open."""
    return ShardRunner(out, pipeline)


class RayEngine:
    """Links shards by tasks of a cluster: at most `workers` at once, or as many as it has CPUs. `link` does one of them."""

    def __init__(self, workers: int | None = None, address: str = LOCAL, link: Callable[..., Any] = link_shard) -> None:
        self._workers, self._address, self._link = workers, address, link

    def run(self, queue: ShardQueue) -> None:
        """Link until nothing waits."""
        with cluster(self._address, self._workers) as ray:
            _RayRun(ray, queue, self._workers, self._link).to_the_end()


class _RayRun:
    """A run while it goes on."""

    def __init__(self, ray: Any, queue: ShardQueue, limit: int | None, link: Callable[..., Any]) -> None:
        self._ray, self._queue, self._limit = ray, queue, limit
        self._task = ray.remote(max_retries=0)(link)
        self._out = absolute(queue.storage.url)
        self._running: dict[Any, Shard] = {}

    def to_the_end(self) -> None:
        try:
            while self._queue.waiting or self._running:
                self._submit()
                done, _ = self._ray.wait([*self._running], num_returns=1, timeout=_PATIENCE_S)
                for reference in done:
                    self._finish(reference)
        finally:
            for reference in self._running:
                with suppress(Exception):  # of a cluster that is gone
                    self._ray.cancel(reference, force=True)

    def _submit(self) -> None:
        at_once = self._limit or int(self._ray.cluster_resources().get("CPU", 0)) + 1
        while self._queue.waiting and len(self._running) < at_once:
            shard = self._queue.waiting.popleft()
            self._running[self._task.remote(self._out, self._queue.pipeline, shard.number)] = shard

    def _finish(self, reference: Any) -> None:
        shard = self._running.pop(reference)
        failures = self._ray.exceptions
        try:
            reply = self._ray.get(reference)
        except (failures.WorkerCrashedError, failures.OutOfMemoryError) as e:
            self._queue.note_failure(shard, Failure(DIED, f"the process that linked it ended: {type(e).__name__}"))
        except failures.RayTaskError as e:
            what = f"a task of the cluster failed before it could link: {type(e.cause).__name__}"
            raise InternalError("batch-cluster-failed", what, fix="install the same version of Onym on each node") from None
        except failures.RayError:  # its node is gone, or its result with it
            self._queue.waiting.append(shard)
        else:
            self._queue.note_reply(shard, reply)


@contextmanager
def cluster(address: str, cpus: int | None) -> Iterator[Any]:
    """Give Ray, connected to a cluster: the one that the caller is connected to, or that of an address until the block ends."""
    try:
        import ray
    except ImportError as e:
        raise missing_extra("the engine of Ray clusters", "ray") from e
    if ray.is_initialized():
        yield ray
        return
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    own: dict[str, Any] = (
        {"num_cpus": cpus, "object_store_memory": _STORE_BYTES, "include_dashboard": False} if address == LOCAL else {}
    )
    try:
        ray.init(address, log_to_driver=False, configure_logging=False, **own)
    except (ConnectionError, RuntimeError, ValueError) as e:
        what = f"the Ray cluster cannot be reached or started: {type(e).__name__}"
        raise ConfigError("batch-cluster-failed", what, where=address, fix="check the address, or use --engine local") from e
    try:
        yield ray
    finally:
        ray.shutdown()
