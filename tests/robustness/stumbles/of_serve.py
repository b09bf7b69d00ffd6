"""Stumbles of the HTTP service, its page, and the MCP server."""

from __future__ import annotations

import asyncio

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
