"""Send requests at a fixed rate, without waiting for earlier responses (open loop).

    python -m tests.robustness.serve.open_loop URL RATE SECONDS CORE

It reads texts as lines of JSON from standard input, waits for all responses, and prints one line of JSON per request: the
status, and the seconds since the time at which the request was scheduled. With a rate of 0 it measures capacity instead:
several clients send the next request as soon as they have a response.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from itertools import cycle, islice

from benchmarks.serve.client import NOTHING, Connection, Got, link_request, load

_CLIENTS = 32
_PATIENCE_S = 30.0


async def capacity(url: str, requests: Sequence[bytes], seconds: float) -> float:
    """Return how many responses per second a service gives at full load."""
    await load(url, requests, _CLIENTS)
    answered, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        answers, _ = await load(url, requests, _CLIENTS)
        answered += sum(answer.status == 200 for answer in answers)
    return answered / passed


async def send_on_schedule(url: str, requests: Sequence[bytes], rate: float, seconds: float) -> list[tuple[int, float]]:
    """Send requests at a rate; return the status and the seconds since the scheduled time of each."""
    free: list[Connection] = []
    began = time.perf_counter()

    async def one(request: bytes, due: float) -> tuple[int, float]:
        is_kept = bool(free)
        connection = free.pop() if free else Connection(url)
        answer = await _answer(connection, request)
        if answer is NOTHING and is_kept:  # the service has closed an idle connection: retry on a new connection, as clients do
            answer = await _answer(connection, request)
        free.append(connection)
        return answer.status, time.perf_counter() - due

    tasks: list[asyncio.Task[tuple[int, float]]] = []
    for number, request in enumerate(islice(cycle(requests), int(rate * seconds))):
        due = began + number / rate
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.create_task(one(request, due)))
    return list(await asyncio.gather(*tasks))


async def _answer(connection: Connection, request: bytes) -> Got:
    try:
        return await connection.ask(request, _PATIENCE_S)
    except (TimeoutError, OSError):
        connection.close()
        return NOTHING


def main(url: str, rate: float, seconds: float, core: int) -> None:
    os.sched_setaffinity(0, {core})
    requests = [link_request(json.loads(line)) for line in sys.stdin]
    if not rate:
        print(json.dumps(asyncio.run(capacity(url, requests, seconds))))
        return
    for each in asyncio.run(send_on_schedule(url, requests, rate, seconds)):
        print(json.dumps(each))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
