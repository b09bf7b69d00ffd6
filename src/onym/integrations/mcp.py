"""A Model Context Protocol (MCP) server for assistants, with tools that link text, explain links, look up concepts, map terms.

The tools are read-only and use no network. Requests are limited in size, and errors never contain text of a request.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from pydantic import ValidationError, WithJsonSchema

from onym._version import __version__
from onym.corpora.problems import require_complete
from onym.errors import InputError, LimitError, missing_extra, to_onym_error
from onym.kb.search import search
from onym.outputs.mapping import map_to_rows
from onym.types import Row, concept_to_dict, require_text

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
    from mcp.types import JSONRPCError

    from onym.pipeline.pipeline import Pipeline

MAX_TEXT, MAX_TERMS, MAX_TERM = 100_000, 1_000, 1_000
"""Maximum length of a text, number of terms per call, and length of a term or query; lengths in code points."""
_MAX_LINE = 16_000_000  # bytes: `MAX_TERMS` of `MAX_TERM` code points, each escaped with up to 12 bytes
_HITS = 10
# The type is Any, because an error message of pydantic would show the value. The tools check the types themselves.
_Text = Annotated[Any, WithJsonSchema({"type": "string"})]
_Terms = Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "string"}})]


class Tools:
    """The tools that an assistant can call.

    >>> from onym import build_pipeline
    >>> tools = Tools(build_pipeline(getfixture("tiny_kb"), getfixture("tmp_path") / "pipeline"))
    >>> [(row["start"], row["concept_id"]) for row in tools.link("High fever.")]
    [(5, 'MESH:D005334')]
    >>> tools.lookup("pyrexia")[0]["id"], tools.map(["pyrexia"])[0]["concept_id"]
    ('MESH:D005334', 'MESH:D005334')
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def link(self, text: _Text) -> list[dict[str, Any]]:
        """Find biomedical mentions in a text and link them to concepts.

        Returns a row for each mention: offsets in code points, text, type, concept id, names, score, confidence. If a mention
        is not linked, its concept id is null and nil_reason says why. If assertion has a value, the text does not say that the
        patient has it now: negated, possible, historical, hypothetical, other-experiencer (a relative).
        """
        _require_short(text, MAX_TEXT)
        (linked,) = require_complete([self._pipeline.link(text)])
        return [{name: value for name, value in row.items() if name != "document"} for row in linked.rows()]

    def explain(self, text: _Text) -> list[dict[str, Any]]:
        """Link a text and explain each link.

        Returns a row for each mention: the matched name with its kind and source, reasons for the concept, feature effects
        relative to the runner-up, or why the mention is not linked. Then a row with `rejected` and `detail` for each name of
        the knowledge base in the text that was not taken as a mention.
        """
        _require_short(text, MAX_TEXT)
        return self._pipeline.explain(text).rows()

    def lookup(self, query: _Text) -> list[dict[str, Any]]:
        """Look up at most ten concepts by id, such as MESH:D003924, or by a name, a prefix of a name or some of its words."""
        _require_short(query, MAX_TERM)
        kb = self._pipeline.kb
        rows = kb.concepts_with_id(query)
        found = [kb.concept(row) for row in rows] or [kb[hit.concept_id] for hit in search(kb, query, _HITS)]
        return [concept_to_dict(concept) for concept in found[:_HITS]]

    def map(self, terms: _Terms) -> list[dict[str, Any]]:
        """Map terms, such as the values of a column, to their best concepts: one row for each term, in the same order."""
        if not isinstance(terms, list):
            raise InputError("type-text", "terms is not a list", fix="pass a list of strings")
        if len(terms) > MAX_TERMS:
            raise LimitError("limit-record", f"more than {MAX_TERMS:,} terms", fix="send fewer terms per call")
        for term in terms:
            _require_short(term, MAX_TERM)
        return [{"term": term} | row for term, row in zip(terms, map_to_rows(terms, self._pipeline), strict=True)]


def build_server(pipeline: Pipeline) -> MCPServer:
    """Build the MCP server of a pipeline; its `run()` serves standard input and output."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.server.stdio import stdio_server
        from mcp.shared.message import SessionMessage
        from mcp.types import ToolAnnotations
    except ImportError as e:
        raise missing_extra("the MCP server", "serve") from e
    tools = Tools(pipeline)
    functions = {tool.__name__: tool for tool in (tools.link, tools.explain, tools.lookup, tools.map)}
    parameters = {name: tuple(signature(tool).parameters) for name, tool in functions.items()}

    class TextServer(MCPServer):
        """An MCP server that checks argument names itself, because the error message of the SDK would show the values.

        It also answers lines that are no messages: the SDK drops them, and their sender would wait forever.
        """

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            if wrong := _argument_error(name, parameters[name], arguments):
                raise ToolError(wrong)
            return await super().call_tool(name, arguments, context)

        async def run_stdio_async(self) -> None:
            async def messages() -> AsyncIterator[str]:
                async for line in _read_lines(sys.stdin.buffer):
                    if error := _message_error(line):
                        await write.send(SessionMessage(error))
                    else:
                        yield line.decode()

            lines: Any = messages()  # the SDK only iterates over its lines
            async with stdio_server(lines) as (read, write):
                lowlevel = self._lowlevel_server
                await lowlevel.run(read, write, lowlevel.create_initialization_options())

    server = TextServer("onym", version=__version__, log_level="WARNING", middleware=[_hide_values(functions)])
    is_read_only = ToolAnnotations(read_only_hint=True, open_world_hint=False, idempotent_hint=True)
    for tool in functions.values():
        server.add_tool(_with_codes(tool), annotations=is_read_only)
    return server


async def _read_lines(stream: BinaryIO) -> AsyncIterator[bytes]:
    """Yield the lines of a stream, except for blank ones; the rest of a line that is too long is skipped."""
    from anyio.to_thread import run_sync

    while line := await run_sync(stream.readline, _MAX_LINE):
        if line.strip():
            yield line
        while len(line) == _MAX_LINE and not line.endswith(b"\n"):
            line = await run_sync(stream.readline, _MAX_LINE)


def _message_error(line: bytes) -> JSONRPCError | None:
    """Return the response to a line that is no JSON-RPC message, or None; it has the id of the request if there is one.

    >>> _message_error(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    >>> _message_error(b'{"jsonrpc": "2.0", "id": 1, "method": "' + bytes([92]) + b'ud800"}').id
    1
    """
    from mcp.types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCNotification, jsonrpc_message_adapter

    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not (isinstance(message, JSONRPCNotification) and _has_id(line)):
            return None
        what = (
            "the id of a request is neither an integer nor a string"  # it would be taken for a notification, and not answered
        )
    except ValidationError:
        what = f"the line is no JSON-RPC message of at most {_MAX_LINE:,} bytes, in UTF-8 without half surrogate pairs"
    error = ErrorData(code=INVALID_REQUEST, message=f"[request-malformed] {what}")
    return JSONRPCError(jsonrpc="2.0", id=_id_of(line), error=error)


def _has_id(line: bytes) -> bool:
    """Return whether a message has an id, of whatever type."""
    try:
        return "id" in json.loads(line)
    except (ValueError, RecursionError):
        return b'"id"' in line


def _id_of(line: bytes) -> int | str | None:
    """Return the id of a malformed request, or None if it cannot be sent back."""
    try:
        request = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    number = request.get("id") if isinstance(request, dict) else None
    is_valid = type(number) is int or (isinstance(number, str) and not any("\ud800" <= char <= "\udfff" for char in number))
    return number if is_valid else None


def _argument_error(tool: str, parameters: Sequence[str], arguments: Mapping[str, Any]) -> str:
    """Return an error message if the argument names are wrong, else an empty string.

    >>> _argument_error("link", ("text",), {"txt": "High fever."})
    '[request-malformed] link needs the argument text'
    """
    for name in parameters:
        if name not in arguments:
            return f"[request-malformed] {tool} needs the argument {name}"
    return "" if len(arguments) == len(parameters) else f"[request-malformed] {tool} only takes {', '.join(parameters)}"


def _hide_values(tools: Collection[str]) -> ServerMiddleware[Any]:
    """Return middleware that replaces the SDK's error messages, because they show names, URIs and values of the request."""
    from mcp.shared.exceptions import MCPError
    from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND

    known = f"this server only has the tools {', '.join(tools)}"
    messages = {
        INVALID_PARAMS: f"[request-malformed] invalid parameters; {known}",
        METHOD_NOT_FOUND: f"unknown method; {known}",
    }

    async def answer(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        code = INVALID_PARAMS
        if ctx.method != "tools/call" or (ctx.params or {}).get("name") in list(tools):
            try:
                return await call_next(ctx)
            except MCPError as e:
                if e.code not in messages:  # a protocol error, such as an unsupported version
                    raise
                code = e.code
            except Exception:  # noqa: S110 - its message is replaced below
                pass
        raise MCPError(code, messages[code])

    return answer


def _with_codes(tool: Callable[..., list[Row]]) -> Callable[..., list[Row]]:
    """Wrap a tool so that all errors have a code. Messages of other exceptions are dropped: they may contain request text."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    def call(*arguments: Any, **named: Any) -> list[Row]:
        try:
            return tool(*arguments, **named)
        except Exception as e:
            error = to_onym_error(e, caught_in=__file__)
            message = f"[{error.code}] {error.what}"
        raise ToolError(message)  # outside of `except`, so that no __context__ with request text is attached

    return call


def _require_short(text: object, limit: int) -> None:
    require_text(text)
    if len(str(text)) > limit:
        raise LimitError("limit-record", f"the input is longer than {limit:,} code points", fix="split it into parts")
