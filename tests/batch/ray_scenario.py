"""Runs on a real cluster of two nodes: `python -m tests.batch.ray_scenario FOLDER`, in its own network namespace.

The folder has three plans: `whole`; `poisoned`, whose second shard always kills its process; and `shrunk`, whose second node
is removed while it links a shard.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from onym.batch.on_ray import RayEngine, link_shard
from onym.batch.run import run_batch


def fail_poisoned(out: str, pipeline: str | None, number: int) -> dict[str, Any]:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return link_shard(out, pipeline, number)


def slow_on_other_nodes(out: str, pipeline: str | None, number: int) -> dict[str, Any]:
    marker = Path(out, "second-node-works")
    if os.environ.get("SECOND_NODE"):
        marker.touch()
        time.sleep(600)
    while not marker.exists():  # wait for the second node, or the first could link all shards alone
        time.sleep(0.05)
    return link_shard(out, pipeline, number)


class ShrinkingEngine(RayEngine):
    """Removes a node from the cluster as soon as it links a shard."""

    def __init__(self, out: Path, cluster: Any, node: Any) -> None:
        super().__init__(link=slow_on_other_nodes)
        self._out, self._cluster, self._node = out, cluster, node

    def run(self, queue: Any) -> None:
        shrinking = threading.Thread(target=self._shrink, daemon=True)
        shrinking.start()
        super().run(queue)
        shrinking.join()

    def _shrink(self) -> None:
        while not (self._out / "second-node-works").exists():
            time.sleep(0.05)
        self._cluster.remove_node(self._node, allow_graceful=False)
        (self._out / "second-node-is-gone").touch()


def main(folder: Path) -> None:
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100_000_000})
    second = cluster.add_node(num_cpus=1, object_store_memory=100_000_000, env_vars={"SECOND_NODE": "1"})
    cluster.wait_for_nodes()
    ray.init(cluster.address, log_to_driver=False)
    run_batch(folder / "whole", engine="ray")
    run_batch(folder / "poisoned", engine=RayEngine(link=fail_poisoned))
    run_batch(folder / "shrunk", engine=ShrinkingEngine(folder / "shrunk", cluster, second))
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
