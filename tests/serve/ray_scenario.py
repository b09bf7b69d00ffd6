"""A service on a real Ray cluster: `python -m tests.serve.ray_scenario FOLDER`, in its own network namespace.

Clients send requests while the replica is killed, a new release is loaded and the service is shut down. Prints counts as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
from benchmarks.serve.running import Running

from tests.robustness.serve import clients as clients_module
from tests.robustness.serve.clients import Clients, make_exchanges, start

CLIENTS = 4
_PATIENCE_S = 240.0  # timeout in seconds, long enough for a busy machine
_WORDS = ("--engine", "ray", "--timeout", "200", "--max-wait", "1000", "--drain-delay", "1")


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.05)


async def use(service: Running, clients: Clients, pipeline: Path) -> list[str]:
    """Kill the replica, reload and shut down while clients send requests; return the releases before and after."""

    async def some_answers() -> None:
        wanted = clients.counts["answers"] + 20
        await until(lambda: clients.counts["answers"] >= wanted)

    async def release() -> str:
        answer = await asyncio.to_thread(httpx.get, f"{service.url}/v1/pipelines", timeout=_PATIENCE_S)
        return str(answer.json()["default"]["release"])

    asking = start(clients, CLIENTS)
    await some_answers()
    (before,) = service.replica_pids()
    os.kill(before, signal.SIGKILL)
    await until(lambda: service.replica_pids() not in ([], [before]))
    await some_answers()
    releases = [await release()]
    config = pipeline / "pipeline.json"
    config.write_text(config.read_text().replace('"top_k": 10', '"top_k": 9'))
    service.process.send_signal(signal.SIGHUP)
    async with asyncio.timeout(_PATIENCE_S):
        while (now := await release()) == releases[0]:
            await asyncio.sleep(0.1)
    await some_answers()
    await until(lambda: len(service.replica_pids()) == 1)  # wait until the replica of the old release has exited
    clients.is_ending = True
    service.process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(asyncio.gather(*asking), _PATIENCE_S)
    return [*releases, now]


def main(folder: Path) -> None:
    clients_module.PATIENCE_S = _PATIENCE_S
    pipeline = folder / "pipeline"
    exchanges = make_exchanges(pipeline)
    service = Running(pipeline, folder / "log.txt", *_WORDS, patience_s=_PATIENCE_S)
    clients = Clients(service.url, exchanges)
    try:
        service.wait_until_ready()
        releases = asyncio.run(use(service, clients, pipeline))
        status = service.process.wait(_PATIENCE_S)
    finally:
        service.stop(signal.SIGKILL)
    print(json.dumps({"status": status, "releases": releases, "notes": clients.notes, **clients.counts}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
