"""The engine for Ray clusters, with one task per shard: `pip install onym[ray]`.

A worker process of the cluster opens the pipeline once and keeps it. There are as many running tasks as the cluster has CPUs at
the moment, plus one waiting task that makes an autoscaler add nodes. Ray never retries a task; failures are counted by the
shard queue, as with local processes. The loss of a node does not count as a failure of the shard.

Ray only gets the address of the output, the path of the pipeline and the number of the shard, and no content of documents.
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
"""Address that starts a new cluster on this machine for the time of the run, and never joins an existing one."""
_ENVIRONMENT = {
    "RAY_worker_niceness": "0",  # normal priority; by default, Ray starts workers with low priority
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray sends no telemetry
    "RAY_raylet_start_wait_time_s": "180",  # seconds; the default of 30 is too short on a busy machine
    "RAY_prestart_worker_first_driver": "0",  # off, because the driver waits forever if a prestarted worker dies
}
_STORE_BYTES = 100_000_000  # size of Ray's object store; small, because our tasks exchange no objects
_PATIENCE_S = 2.0  # seconds between two checks of the cluster size


def link_shard(out: str, pipeline: str | None, number: int) -> dict[str, Any]:
    """Link a shard in a process of the cluster, and return the same reply as a local worker."""
    try:
        return _runner(out, pipeline).run(number)
    except OnymError as e:
        return error_reply(e)


@lru_cache(maxsize=1)
def _runner(out: str, pipeline: str | None) -> ShardRunner:
    """Return the runner of this process; it opens the pipeline only once."""
    return ShardRunner(out, pipeline)


class RayEngine:
    """Links shards as Ray tasks: at most `workers` at a time, by default one per CPU. `link` is the task for one shard."""

    def __init__(self, workers: int | None = None, address: str = LOCAL, link: Callable[..., Any] = link_shard) -> None:
        self._workers, self._address, self._link = workers, address, link

    def run(self, queue: ShardQueue) -> None:
        """Link all shards of the queue."""
        with cluster(self._address, self._workers) as ray:
            _RayRun(ray, queue, self._workers, self._link).to_the_end()


class _RayRun:
    """The state of a running `RayEngine`."""

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
                with suppress(Exception):  # the cluster may have been shut down
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
            self._queue.note_failure(shard, Failure(DIED, f"the worker process died: {type(e).__name__}"))
        except failures.RayTaskError as e:
            what = f"a task of the cluster failed to start linking: {type(e.cause).__name__}"
            raise InternalError("batch-cluster-failed", what, fix="install the same version of Onym on each node") from None
        except failures.RayError:  # the node was lost: retry, without counting a failure
            self._queue.waiting.append(shard)
        else:
            self._queue.note_reply(shard, reply)


@contextmanager
def cluster(address: str, cpus: int | None) -> Iterator[Any]:
    """Yield `ray`, connected to a cluster. An existing connection is reused; a new one to `address` is closed afterwards."""
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
        what = f"could not connect to or start the Ray cluster: {type(e).__name__}"
        raise ConfigError("batch-cluster-failed", what, where=address, fix="check the address, or use --engine local") from e
    try:
        yield ray
    finally:
        ray.shutdown()
