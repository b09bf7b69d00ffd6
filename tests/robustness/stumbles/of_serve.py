"""Check the HTTP service, its web page, and the MCP server."""

from __future__ import annotations

import asyncio
import io
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from benchmarks.serve.running import Running

from onym.packs.locate import load
from onym.store.files.xlsx import write_xlsx
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
    """Serve the starter within the block, and yield a client."""
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


@stumble("curl localhost:8080/v1/link with 40,000 overlapping mentions, deep parentheses, many abbreviations, one huge word")
def huge_requests_do_not_stop_small_ones(scene: Scene) -> str:
    with serve(scene) as client:
        for body in _huge_requests():
            answer = client.post("/v1/link", json=body)
            assert answer.status_code == 413, answer.text
        small = [client.post("/v1/link", json={"text": "High fever."}).status_code for _ in range(20)]
    assert small == [200] * 20, small
    assert "died with status" not in (scene.folder / "log.txt").read_text("utf-8")
    return f"413 {answer.json()['error']['code']}, and small requests are answered"


def _huge_requests() -> Iterator[dict[str, object]]:
    text = "heart attack and fever " * 4_000
    mentions = [{"start": start, "end": start + 50_000} for start in range(40_000)]
    yield {"document": {"id": "1", "text": text, "mentions": mentions}}
    yield {"text": "(" * 900_000 + "fever" + ")" * 900_000}
    yield {"text": "heart attack (HA) " * 100_000}
    yield {"text": "a" * 1_900_000}


@stumble("open the page of `onym serve`, and map a column of an .xlsx file")
def page_reads_workbooks_and_shows_candidates(scene: Scene) -> str:
    book = io.BytesIO()
    write_xlsx([("1", "fever"), ("2", "heart attack")], ("code", "term"), book)
    with serve(scene) as client:
        sheet = client.post("/v1/workbook", json={"content": b64encode(book.getvalue()).decode()})
        rows = client.post("/v1/map", json={"terms": ["breast cancer"], "candidates": 5}).json()["rows"]
        page = client.get("/").text
    assert sheet.json() == {"rows": [["code", "term"], ["1", "fever"], ["2", "heart attack"]]}, sheet.text
    assert 1 < len(rows[0]["candidates"]) <= 5
    assert ".xlsx" in page
    assert 'id="row-threshold"' in page
    return "an .xlsx is read, rows have candidates, and a slider filters them by confidence"
