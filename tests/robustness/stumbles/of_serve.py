"""Stumbles of the HTTP service, its page, and the MCP server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from benchmarks.serve.running import Running

from onym.packs.locate import load
from tests.robustness.stumbles.rows import Scene, stumble


@stumble('onym mcp --pipeline starter; call link with {"txt": "..."}')
def mcp_error_shows_no_argument_value(_: Scene) -> str:
    from mcp import Client

    from onym.integrations.mcp import build_server

    async def call() -> str:
        async with Client(build_server(load("starter"))) as client:
            result = await client.call_tool("link", {"txt": "patient Smith"})
        assert result.is_error
        return str(result.content[0])

    message = asyncio.run(call())
    assert "Smith" not in message, message
    return message


@contextmanager
def serve(scene: Scene, *options: str) -> Iterator[httpx.Client]:
    """Serve the starter, and yield a client."""
    service = Running("starter", scene.folder / "log.txt", "--drain-delay", "0", *options)
    try:
        service.wait_until_ready()
        with httpx.Client(base_url=service.url, timeout=60.0) as client:
            yield client
    finally:
        service.stop()


@stumble("""curl localhost:8080/reconcile -d 'queries={"q0": {"query": "fever", "limit": NaN}}'""")
def limit_that_is_not_a_number_is_refused_with_a_code(scene: Scene) -> str:
    with serve(scene) as client:
        for limit in ("NaN", "Infinity", "1e400", "-1", "true", '"3"'):
            answer = client.post("/reconcile", data={"queries": f'{{"q0": {{"query": "fever", "limit": {limit}}}}}'})
            assert answer.status_code == 400, (limit, answer.text)
    return f"400 {answer.json()['error']['code']}"
