"""Tests of the whole service: listener, signals, connections."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from benchmarks.serve.running import Running

from onym.errors import ConfigError
from onym.packs import load
from onym.pipeline import build_pipeline
from onym.serve.server import Lifecycle, listening, protocol_with
from tests.serve.test_pool import until

SECRET = "patient Smith"


@pytest.fixture(scope="module")
def folder(tiny_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "pipeline"
    build_pipeline(tiny_kb, path)
    return path


@pytest.fixture(scope="module")
def running(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    service = Running(folder, tmp_path_factory.mktemp("log") / "log.txt", "--body-timeout", "1")
    service.wait_until_ready()
    yield service
    assert service.stop() == 0


def raw(running: Running, data: bytes, *, seconds: float = 10.0) -> bytes:
    """Send bytes and return everything received until the connection is closed."""
    parts = urlsplit(running.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=seconds) as connection:
        connection.sendall(data)
        found = b""
        while part := connection.recv(65_536):
            found += part
    return found


def test_replies_equal_command_output(running: Running, folder: Path) -> None:
    text = "High fever, no heart attack."
    with httpx.Client(base_url=running.url) as client:
        answers = [client.post("/v1/link", json={"text": text}) for _ in range(3)]
        assert client.get("/v1/concepts/D005334").json()["id"] == "MESH:D005334"
        assert client.get("/v1/search", params={"q": "pyrexia"}).json()["hits"][0]["match"] == "exact"
        assert client.post("/v1/map", json={"terms": ["pyrexia"]}).json()["rows"][0]["concept_id"] == "MESH:D005334"
    printed = subprocess.run(
        [sys.executable, "-m", "onym", "link", text, "--pipeline", str(folder), "--json"], capture_output=True, check=True
    )
    first = json.loads(printed.stdout.splitlines()[0])
    assert [answer.json() | {"id": ""} for answer in answers] == [_expect_named(first)] * 3
    assert first["links"][0]["concept_id"] == "MESH:D005334"


def _expect_named(answer: dict[str, object]) -> dict[str, object]:
    """Return the output of `onym link`, with the document id that the service assigns."""
    links: list[dict[str, object]] = answer["links"]  # type: ignore[assignment]
    return {**answer, "id": "", "links": [{**link, "document": "1"} for link in links]}


def test_streams_replies_while_lines_arrive(running: Running) -> None:
    def lines() -> Iterator[bytes]:
        for number in range(200):
            yield json.dumps({"document": {"id": str(number), "text": "fever"}}).encode() + b"\n"

    headers = {"content-type": "application/x-ndjson"}
    with httpx.Client(base_url=running.url) as client:
        answer = client.post("/v1/link/batch", content=lines(), headers=headers)
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == [str(number) for number in range(200)]


def test_survives_incomplete_and_invalid_requests(running: Running) -> None:
    head = b"POST /v1/link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    slow = raw(running, head + b"Content-Length: 100\r\nConnection: close\r\n\r\n{")
    assert b" 408 " in slow.splitlines()[0]
    assert b"serve-slow-body" in slow
    assert b" 400 " in raw(running, b"nonsense\r\n\r\n").splitlines()[0]
    large = raw(running, head + b"Content-Length: 99999999\r\n\r\n")
    assert b" 413 " in large.splitlines()[0]
    assert httpx.get(f"{running.url}/live").status_code == 200


def test_replaces_killed_linker_process(running: Running) -> None:
    (before,) = running.linker_pids()
    os.kill(before, signal.SIGKILL)
    with httpx.Client(base_url=running.url) as client:
        statuses = [client.post("/v1/link", json={"text": "fever"}).status_code for _ in range(3)]
        assert statuses[1:] == [200, 200]
        assert "onym_linker_deaths_total 1.0" in client.get("/metrics").text
    assert running.linker_pids() != [before]


def test_no_text_is_logged(running: Running) -> None:
    with httpx.Client(base_url=running.url) as client:
        for body in ({"text": SECRET}, {"text": [SECRET]}, {SECRET: 1}, {"document": {"text": SECRET, "mentions": 1}}):
            answer = client.post("/v1/link", json=body, headers={"x-request-id": "of-this-test"})
            assert SECRET not in answer.text or answer.status_code == 200
        client.get("/v1/search", params={"q": SECRET})
        client.get(f"/v1/concepts/{SECRET}")
        client.get(f"/{SECRET}")
        raw(running, f"GET /{SECRET} HTTP/1.1\r\nSmith\r\n\r\n".encode())
    assert "of-this-test POST /v1/link 200" in running.read_log()
    assert "Smith" not in running.read_log()


def test_reload_switches_release(running: Running, folder: Path) -> None:
    before = httpx.get(f"{running.url}/v1/pipelines").json()["default"]["release"]
    config = folder / "pipeline.json"
    config.write_text(config.read_text().replace('"top_k": 10', '"top_k": 9'))
    assert load(folder).source()["top_k"] == 9
    running.process.send_signal(signal.SIGHUP)
    until = time.monotonic() + 30
    while httpx.get(f"{running.url}/v1/pipelines").json()["default"]["release"] == before:
        assert time.monotonic() < until
        assert httpx.post(f"{running.url}/v1/link", json={"text": "fever"}).status_code == 200
    answer = httpx.post(f"{running.url}/v1/link", json={"text": "fever"})
    assert answer.headers["onym-release"] != before


@pytest.mark.slow
@pytest.mark.ci
def test_shutdown_under_load_loses_no_request(folder: Path, tmp_path: Path) -> None:
    service = Running(folder, tmp_path / "log.txt", "--drain-delay", "0.5")
    service.wait_until_ready()
    statuses: list[int] = []

    def ask() -> None:
        with httpx.Client(base_url=service.url) as client:
            while client.get("/ready").status_code == 200:
                statuses.append(client.post("/v1/link", json={"text": "fever " * 50}).status_code)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 30
    while len(statuses) <= 4 and time.monotonic() < deadline:  # on a busy machine, the first replies take longer
        time.sleep(0.05)
    service.process.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join(30)
    assert service.process.wait(30) == 0
    assert set(statuses) == {200}
    assert len(statuses) > 4


def run_refused(*options: str) -> tuple[int, bytes]:
    """Return the exit status and output of a service that does not start."""
    command = [sys.executable, "-m", "onym", "serve", "--port", "0", *options]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.slow
def test_exits_if_pipeline_cannot_be_opened(folder: Path, tmp_path: Path) -> None:
    status, said = run_refused("--pipeline", str(tmp_path / "none"))
    assert (status, b"pipeline-missing" in said) == (3, True)
    config = json.loads((folder / "pipeline.json").read_text())
    config["kb"]["digest"] = "0" * 16
    (tmp_path / "pipeline.json").write_text(json.dumps(config))
    status, said = run_refused("--pipeline", str(tmp_path))
    assert status == 4, said


def test_error_if_port_is_in_use() -> None:
    with listening("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(ConfigError, match="serve-address"):
            listening("127.0.0.1", taken.getsockname()[1])


def test_public_host_needs_token(folder: Path) -> None:
    status, said = run_refused("--pipeline", str(folder), "--host", "0.0.0.0")
    assert (status, b"serve-token-needed" in said) == (2, True)


@pytest.mark.slow
def test_missing_packages_error_names_the_extra(folder: Path) -> None:
    script = "import sys; sys.modules['uvicorn'] = None; sys.argv = sys.argv[1:]; from onym.cli import main; main()"
    command = [sys.executable, "-c", script, "onym", "serve", "--pipeline", str(folder)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, b"onym[serve]" in done.stderr) == (2, True)


def test_drains_before_it_stops() -> None:
    async def act() -> None:
        stopped = asyncio.Event()
        lifecycle = Lifecycle(0.05, stopped.set)
        lifecycle.drain()
        lifecycle.drain()
        assert lifecycle.is_draining
        assert not stopped.is_set()
        await asyncio.wait_for(stopped.wait(), 5)

    asyncio.run(act())


def test_signals() -> None:
    async def act() -> None:
        stopped, reloaded = asyncio.Event(), asyncio.Event()
        lifecycle = Lifecycle(60, stopped.set)
        with lifecycle.on_signals(reloaded.set):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.wait_for(reloaded.wait(), 5)
            assert not lifecycle.is_draining
            os.kill(os.getpid(), signal.SIGTERM)
            await until(lambda: lifecycle.is_draining)
            assert not stopped.is_set()
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.wait_for(stopped.wait(), 5)

    before = signal.getsignal(signal.SIGINT)
    try:
        asyncio.run(act())
    finally:
        signal.signal(signal.SIGINT, before)


REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def app(scope: object, receive: object, send: object) -> None:
    await asyncio.sleep(0.4)  # longer than the headers timeout
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b"ok"})  # type: ignore[operator]


async def read_until_end(data: bytes, port: int, again: bytes = b"") -> tuple[bytes, float]:
    """Return everything received until the connection is closed, and the seconds until then."""
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    found = b""
    while part := await asyncio.wait_for(reader.read(65_536), 10):
        found += part
        if again:
            writer.write(again)
            again = b""
    writer.close()
    return found, time.monotonic() - began


@asynccontextmanager
async def serving(asgi: Any, head_timeout: float, connections: int, keep_alive: int) -> AsyncIterator[int]:
    """Serve an application within the block, and yield its port."""
    with listening("127.0.0.1", 0) as listener:
        http = protocol_with(head_timeout, connections)
        config = uvicorn.Config(asgi, http=http, lifespan="off", log_config=None, timeout_keep_alive=keep_alive)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        yield listener.getsockname()[1]
        server.should_exit = True
        await task


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_closes_connections_with_incomplete_headers(data: bytes) -> None:
    async def act() -> None:
        async with serving(app, 0.2, 100, 1) as port:
            found, seconds = await read_until_end(data, port)
            assert (found, seconds < 1.0) == (b"", True)
            found, _ = await read_until_end(REQUEST, port, again=REQUEST)
            assert found.count(b"200 OK") == 2
            found, seconds = await read_until_end(REQUEST, port, again=b"GET / HT")
            assert (found.count(b"200 OK"), seconds < 5.0) == (1, True)

    asyncio.run(act())


def test_rejects_large_headers_while_they_arrive() -> None:
    async def act() -> None:
        async with serving(app, 60, 100, 60) as port:
            for head in (b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"GET /", b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 9_000):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head + b"a" * 400_000)
                assert (await reader.readline()).split()[1] in (b"431", b"400")
                writer.transport.abort()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            assert b"200 OK" in await reader.readuntil(b"ok")
            writer.transport.abort()

    asyncio.run(act())


def test_closes_longest_idle_connection_at_limit() -> None:
    async def act() -> None:
        async with serving(app, 60, 3, 60) as port:
            busy, idle, new = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            busy[1].write(REQUEST)
            idle[1].write(REQUEST)
            await idle[0].readuntil(b"ok")  # the first connection got its response and is kept alive
            busy[1].write(REQUEST)
            newest = await asyncio.open_connection("127.0.0.1", port)
            # The longest-idle connection, which has sent no request, is closed.
            assert await asyncio.wait_for(has_ended(new[0]), 10)
            newest[1].write(REQUEST)
            assert b"200 OK" in await asyncio.wait_for(newest[0].readuntil(b"ok"), 10)
            assert (await asyncio.wait_for(busy[0].readuntil(b"ok"), 10)).count(b"200 OK") == 1
            for _, writer in (busy, idle, new, newest):
                writer.close()

    asyncio.run(act())


def test_closes_new_connection_if_none_is_idle() -> None:
    async def act() -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def until_it_may_end(scope: object, receive: object, send: object) -> None:
            begun.set()
            await may_end.wait()
            await app(scope, receive, send)

        async with serving(until_it_may_end, 60, 1, 60) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            await begun.wait()
            other, other_writer = await asyncio.open_connection("127.0.0.1", port)
            assert await asyncio.wait_for(has_ended(other), 10)
            may_end.set()
            assert b"200 OK" in await asyncio.wait_for(reader.readuntil(b"ok"), 10)
            writer.close()
            other_writer.close()

    asyncio.run(act())


async def has_ended(reader: asyncio.StreamReader) -> bool:
    """Wait until the connection is closed."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True
