"""Runs on real Ray clusters of this machine, each in a network of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.batch.made import Process, children, known
from benchmarks.own_network import own_network

_DRIVER = """
import sys, time
from onym.batch.on_ray import RayEngine, link_shard
from onym.batch.run import run_batch
seconds = float(sys.argv[2])
def slow(*arguments):
    time.sleep(seconds)
    return link_shard(*arguments)
run_batch(sys.argv[1], engine=RayEngine(2, link=slow))
"""
_NODES = """
import random, sys, threading, time
import ray
from ray.cluster_utils import Cluster
from onym.batch.on_ray import RayEngine, link_shard
from onym.batch.run import run_batch
out, kills, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
rng, store = random.Random(kills), {"object_store_memory": 100_000_000}
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **store})
nodes = [cluster.add_node(num_cpus=1, **store) for _ in range(kills + 1)]
cluster.wait_for_nodes()
ray.init(cluster.address, log_to_driver=False)
killed, is_over = 0, threading.Event()
def kill():
    global killed
    while killed < kills and not is_over.wait(rng.uniform(0.2, 2.0)):
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        killed += 1
def slow(*arguments):
    time.sleep(seconds)
    return link_shard(*arguments)
killer = threading.Thread(target=kill)
killer.start()
run_batch(out, engine=RayEngine(link=slow))
is_over.set()
killer.join()
ray.shutdown()
cluster.shutdown()
print(killed)
"""
_MEASURED = """
import json, sys
import ray
from benchmarks.batch.on_ray import tree_cpu_s
from onym.batch import on_ray as engine
from onym.batch.run import run_batch
with engine.cluster(engine.LOCAL, 2):
    start_s = tree_cpu_s()
    run_batch(sys.argv[1], engine="ray")
    print(json.dumps([start_s, tree_cpu_s() - start_s]))
"""
_TASK, _TICKS = "ray::", os.sysconf("SC_CLK_TCK")


def ray_driver(out: Path, seconds: float = 0.2) -> subprocess.Popen[bytes]:
    """Start a run on a cluster of its own with two CPUs; each shard takes so long at least."""
    return subprocess.Popen(
        own_network(sys.executable, "-c", _DRIVER, str(out), str(seconds)), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )


def measured_on_ray(out: Path) -> tuple[float, float]:
    """Run on a cluster with two CPUs; return the CPU seconds of its start, and those of all its processes after that."""
    words = own_network(sys.executable, "-c", _MEASURED, str(out))
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    start_s, run_s = json.loads(done.stdout.splitlines()[-1])
    return start_s, run_s


def tree_cpu_s() -> float:
    """Return the CPU seconds of this process, of those that it started, and of those that ended before and were waited for."""
    return sum(_cpu_s(pid) for pid in [os.getpid(), *descendants(os.getpid())])


def kill_nodes(out: Path, kills: int, seconds: float = 0.3) -> tuple[int, set[Process]]:
    """Run on a cluster, and take nodes from it until one is left; return how many before the end, and all processes seen."""
    words = own_network(sys.executable, "-c", _NODES, str(out), str(kills), str(seconds))
    seen: set[Process] = set()
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        while process.poll() is None:
            seen |= known(descendants(process.pid))
            time.sleep(0.1)
        printed = process.stdout.read() if process.stdout else ""
        if process.returncode:
            log.seek(0)
            sys.exit(f"a run on several nodes failed: {log.read()[-2000:]}")
    return int(printed.split()[-1]), seen


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that these started."""
    found = children(pid)
    return [*found, *(each for child in found for each in descendants(child))]


def tasks(pid: int) -> list[int]:
    """Return the worker processes of the cluster that a driver started."""
    return [each for each in descendants(pid) if _title(each).startswith(_TASK) and "Agent" not in _title(each)]


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
