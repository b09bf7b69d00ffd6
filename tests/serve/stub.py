"""A stub linker process with the real protocol, controlled by the text: it replies, sleeps, dies or breaks the protocol."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx

from onym.serve.pool import LinkerPool
from onym.serve.process import Processes
from onym.serve.server import Service
from onym.serve.settings import ServeSettings

T = TypeVar("T")
_SCRIPT = """
import json, os, sys, time
first = json.loads(sys.stdin.readline())
try:
    release = open(os.path.join(first["pipeline"], "release")).read()
except OSError:
    error = {"code": "pipeline-missing", "what": "none", "where": "", "fix": ""}
    print(json.dumps({"error": error, "kind": "InputError"}), flush=True)
    sys.exit(3)
if release == "dies":
    os._exit(7)
print(json.dumps({"ready": True, "release": release, "kb": "kb-" + release}), flush=True)
out = sys.stdout.buffer
for line in sys.stdin:
    jobs = json.loads(line)["jobs"]
    for job in jobs:
        text = job.get("text") or job.get("q") or job.get("id") or ""
        if text == "die":
            os._exit(9)
        if text == "nonsense":
            out.write(b"what?\\n")
            out.flush()
        if text.startswith("sleep"):
            time.sleep(float(text.split()[1]))
        body = json.dumps({"text": text, "job": job, "release": release, "together": len(jobs)}).encode()
        out.write(b"%d %d\\n%b" % (200, len(body), body))
        out.flush()
"""
STUB = (sys.executable, "-I", "-S", "-c", _SCRIPT)


def stubs(size: int = 1) -> Processes:
    """Return a factory of stub processes."""
    return Processes(size, STUB)


class Ignored:
    """A `PoolWatch` for tests: records the size of each batch, and counts the linkers that died."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.deaths = 0

    def batch(self, jobs: Any, waited: float, seconds: float) -> None:
        self.batches.append(len(jobs))

    def death(self) -> None:
        self.deaths += 1


def folder_of(tmp_path: Path, release: str = "r1") -> Path:
    """Write a pipeline folder for the stub, and return it."""
    (tmp_path / "release").write_text(release)
    return tmp_path


def settings_of(folder: Path, **changes: Any) -> ServeSettings:
    values: dict[str, Any] = {"pipelines": {"default": folder}, "timeout": 5.0} | changes
    return ServeSettings(**values)


def with_pool(folder: Path, act: Callable[[LinkerPool], Awaitable[T]], watch: Ignored | None = None, **changes: Any) -> T:
    """Run a coroutine with a pool of stubs, and return its result."""

    async def run() -> T:
        pool = LinkerPool(folder, settings_of(folder, **changes), watch or Ignored(), stubs())
        await pool.start()
        try:
            return await act(pool)
        finally:
            await pool.close()

    return asyncio.run(run())


def with_service(folder: Path, act: Callable[[httpx.AsyncClient, Service], Awaitable[T]], **changes: Any) -> T:
    """Run a coroutine with a client of an in-process service of stubs, and return its result."""

    async def run() -> T:
        service = Service(settings_of(folder, **changes), lambda _: stubs())
        await service.open()
        transport = httpx.ASGITransport(service.admission)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await act(client, service)
        finally:
            await service.close()

    return asyncio.run(run())
