"""Tests of the MCP server, called by the client of the MCP SDK."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from onym.errors import ConfigError, InputError, LimitError
from onym.integrations import mcp as integration
from onym.integrations.mcp import _MAX_LINE, MAX_TERM, MAX_TERMS, MAX_TEXT, Tools, build_server
from onym.pipeline import Pipeline, build_pipeline

SECRET = "patient Smith"


@pytest.fixture(scope="session")
def folder(tiny_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "pipeline"
    build_pipeline(tiny_kb, path)
    return path


@pytest.fixture
def pipeline(folder: Path, tiny_kb: Path, tmp_path: Path) -> Pipeline:
    return build_pipeline(tiny_kb, tmp_path / "pipeline")


def call_tools(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Call tools and return their results."""

    async def act() -> list[Any]:
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(act())


@pytest.mark.slow
@pytest.mark.ci
def test_client_over_stdio(folder: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key.startswith(("PYTHON", "ONYM", "PATH"))}
    command = ["-m", "onym", "mcp", "--pipeline", str(folder)]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment)
    linked, explained, found, mapped, refused = call_tools(
        server,
        ("link", {"text": "High fever, no heart attack."}),
        ("explain", {"text": "Pyrexia."}),
        ("lookup", {"query": "mesh:D005334"}),
        ("map", {"terms": ["MI", "xyz"]}),
        ("link", {"text": SECRET * MAX_TEXT}),
    )
    rows = linked.structured_content["result"]
    assert [(row["start"], row["end"], row["concept_id"]) for row in rows] == [
        (5, 10, "MESH:D005334"),
        (15, 27, "MESH:D009203"),
    ]
    assert [row["assertion"] for row in rows] == [None, "negated"]
    (explanation,) = explained.structured_content["result"]
    assert (explanation["matched_name"], explanation["reasons"][0]["kind"]) == ("Pyrexia", "same-name")
    assert found.structured_content["result"][0]["preferred_name"] == "Fever"
    assert [row["nil_reason"] for row in mapped.structured_content["result"]] == [None, "no-candidate"]
    assert refused.is_error
    assert "limit-record" in refused.content[0].text
    assert "Smith" not in refused.content[0].text


def test_tools_are_read_only_and_have_schemas(pipeline: Pipeline) -> None:
    async def list_tools() -> Any:
        async with Client(build_server(pipeline)) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(list_tools())}
    assert set(tools) == {"link", "explain", "lookup", "map"}
    assert all(tool.annotations.read_only_hint and not tool.annotations.open_world_hint for tool in tools.values())
    assert all(tool.description for tool in tools.values())
    assert tools["link"].input_schema["properties"]["text"]["type"] == "string"
    assert tools["map"].input_schema["properties"]["terms"]["items"] == {"type": "string"}


def test_link_returns_rows_of_the_pipeline(pipeline: Pipeline) -> None:
    expected = [{key: value for key, value in row.items() if key != "document"} for row in pipeline.link("fever").rows()]
    assert Tools(pipeline).link("fever") == expected


@pytest.mark.parametrize("query", ["mesh:D005334", "MESH:D005334", "D005334", "Fever", "pyrex"])
def test_looks_up_concept_by_id_and_name(pipeline: Pipeline, query: str) -> None:
    first, *_ = Tools(pipeline).lookup(query)
    assert (first["id"], first["names"][0]) == ("MESH:D005334", "fever")


def test_returns_empty_list_if_nothing_is_found(pipeline: Pipeline) -> None:
    assert Tools(pipeline).lookup("zzz") == Tools(pipeline).lookup("mesh:D999999") == Tools(pipeline).lookup("") == []
    assert Tools(pipeline).map([]) == []
    assert Tools(pipeline).link("") == []


def test_limits_sizes(pipeline: Pipeline) -> None:
    tools = Tools(pipeline)
    assert len(tools.map(["fever"] * MAX_TERMS)) == MAX_TERMS
    calls: tuple[Callable[[], object], ...] = (
        lambda: tools.link("a" * (MAX_TEXT + 1)),
        lambda: tools.lookup("a" * (MAX_TERM + 1)),
        lambda: tools.map(["fever"] * (MAX_TERMS + 1)),
        lambda: tools.map(["a" * (MAX_TERM + 1)]),
    )
    for call in calls:
        with pytest.raises(LimitError, match="limit-record"):
            call()


@pytest.mark.parametrize("wrong", [7, None, [SECRET], {"a": SECRET}])
def test_rejects_non_text(pipeline: Pipeline, wrong: Any) -> None:
    tools = Tools(pipeline)
    calls: tuple[Callable[[], object], ...]
    calls = (lambda: tools.link(wrong), lambda: tools.lookup(wrong), lambda: tools.map([wrong]))
    for call in calls:
        with pytest.raises(InputError, match="type-text"):
            call()
    with pytest.raises(InputError, match="type-text"):
        Tools(pipeline).map(SECRET)


def test_errors_have_codes_and_no_text(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, caplog: Any, capfd: Any) -> None:
    def fail(_: object, text: str) -> Any:
        raise ValueError(text)

    monkeypatch.setattr(Pipeline, "link", fail)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("link", {"text": SECRET}),
        ("link", {"text": [SECRET]}),
        ("map", {"terms": SECRET}),
        ("map", {"terms": [{"a": SECRET}]}),
    ]
    results = call_tools(build_server(pipeline), *calls)
    codes = ["internal-error", "type-text", "type-text", "type-text"]
    assert [code in result.content[0].text for code, result in zip(codes, results, strict=True)] == [True] * 4
    said = " ".join(result.content[0].text for result in results) + caplog.text + "".join(capfd.readouterr())
    assert all(result.is_error for result in results)
    assert "Smith" not in said


@pytest.mark.parametrize("tool", ["link", "explain", "lookup", "map"])
def test_error_for_misnamed_argument_shows_no_value(pipeline: Pipeline, tool: str) -> None:
    calls = [(tool, arguments) for arguments in ({"txt": SECRET}, {}, {SECRET: [SECRET]}, {"text": SECRET, "query": SECRET})]
    results = call_tools(build_server(pipeline), *calls)
    assert all(result.is_error and "[request-malformed]" in result.content[0].text for result in results)
    assert not any("Smith" in result.content[0].text for result in results)


def test_rejects_unknown_argument(pipeline: Pipeline) -> None:
    (result,) = call_tools(build_server(pipeline), ("link", {"text": "fever", SECRET: SECRET}))
    assert result.content[0].text == "[request-malformed] link only takes text"


def test_error_for_malformed_request_shows_no_value(folder: Path) -> None:
    answers, logged = ask_raw(
        folder,
        ("tools/call", {"name": SECRET, "arguments": {"text": SECRET}}),
        ("tools/call", {"name": [SECRET], "arguments": {"text": SECRET}}),
        ("tools/call", {"name": "link", "arguments": SECRET}),
        ("tools/call", {"name": "link", "arguments": [SECRET]}),
        ("tools/call", {}),
        ("resources/read", {"uri": f"file:///{SECRET}"}),
        ("prompts/get", {"name": SECRET}),
        ("completion/complete", {"argument": {"name": "a", "value": SECRET}}),
        (SECRET, {"name": SECRET}),
    )
    messages = {answer["error"]["message"].partition("; ")[2] for answer in answers}
    assert messages == {"this server only has the tools link, explain, lookup, map"}
    assert "Smith" not in json.dumps(answers) + logged


def test_answers_lines_that_are_no_messages(folder: Path) -> None:
    call = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": {"name": "link", "arguments": {"text": "%s"}}}'
    answers, logged = ask_raw(
        folder,
        ("tools/call", {"name": "link", "arguments": {"text": f"{SECRET} \ud800"}}),
        "",  # ignored
        SECRET,
        "[" * 100_000,
        f"[{call % (1, SECRET)}]",
        call % ('"\\ud800"', SECRET),
        call % ("1" * 5_000, SECRET),
        '{"jsonrpc": "2.0", "id": "a", "method": 7}',
        call % (8, SECRET + "x" * (_MAX_LINE + 10)),
        ("tools/call", {"name": "link", "arguments": {"text": "fever"}}),
    )
    assert [answer["id"] for answer in answers] == [1, *[None] * 5, "a", None, 10]
    *refused, linked = answers
    assert all("[request-malformed]" in answer["error"]["message"] for answer in refused)
    assert linked["result"]["structuredContent"]["result"][0]["concept_id"] == "MESH:D005334"
    assert "Smith" not in json.dumps(answers) + logged


def ask_raw(folder: Path, *requests: tuple[str, dict[str, Any]] | str) -> tuple[list[dict[str, Any]], str]:
    """Send malformed requests or whole lines to the server, and return its responses and its log."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    first, *numbered = (
        request
        if isinstance(request, str)
        else json.dumps({"jsonrpc": "2.0", "method": request[0], "params": request[1], "id": number})
        for number, request in enumerate([("initialize", about), *requests])
    )
    lines = [first, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), *numbered]
    command = [sys.executable, "-m", "onym", "mcp", "--pipeline", str(folder)]
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        deadline = threading.Timer(60, process.kill)  # if a line has no answer
        deadline.start()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for line in (first, *numbered) if line]
        deadline.cancel()
        process.stdin.close()
        return [answer for answer in answers if answer["id"] != 0], process.stderr.read()


def test_missing_mcp_error_names_the_extra(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(ConfigError, match=r"pip install 'onym\[serve\]'"):
        integration.build_server(pipeline)
