"""Onym as tools of an assistant, over the Model Context Protocol: link a text, explain its links, look a concept up, map terms.

Nothing is written and nothing is fetched. What is asked for is bounded, and an error is a code and a sentence, never a text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import WithJsonSchema

from onym._version import __version__
from onym.corpora.problems import require_complete
from onym.errors import InputError, LimitError, missing_extra, to_onym_error
from onym.kb.search import search
from onym.outputs.mapping import map_to_rows
from onym.types import Row, concept_to_dict, require_text

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

    from onym.pipeline.pipeline import Pipeline

MAX_TEXT, MAX_TERMS, MAX_TERM = 100_000, 1_000, 1_000
"""How long a text may be, how many terms may be mapped at once, and how long a term or a query may be: code points."""
_HITS = 10
# Checked here: an error of pydantic would show what it was given.
_Text = Annotated[Any, WithJsonSchema({"type": "string"})]
_Terms = Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "string"}})]


class Tools:
    """What an assistant may ask of a pipeline.

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

        A row for each mention: offsets in code points, text, type, concept id, names, score, confidence. A mention without a
        concept id is left unlinked; nil_reason says why.
        """
        _require_short(text, MAX_TEXT)
        (linked,) = require_complete([self._pipeline.link(text)])
        return [{name: value for name, value in row.items() if name != "document"} for row in linked.rows()]

    def explain(self, text: _Text) -> list[dict[str, Any]]:
        """Link a text, and explain each link.

        For each mention: the name that matched with its kind and source, reasons for the concept, effects of features against
        the runner-up, or why there is no answer. Then a row with `rejected` and `detail` for each name of the knowledge base
        in the text that was not taken as a mention.
        """
        _require_short(text, MAX_TEXT)
        return self._pipeline.explain(text).rows()

    def lookup(self, query: _Text) -> list[dict[str, Any]]:
        """Look up concepts by an id, such as MESH:D003924, or by a name, its beginning or some of its words; at most ten."""
        _require_short(query, MAX_TERM)
        kb = self._pipeline.kb
        rows = kb.concepts_with_id(query)
        found = [kb.concept(row) for row in rows] or [kb[hit.concept_id] for hit in search(kb, query, _HITS)]
        return [concept_to_dict(concept) for concept in found[:_HITS]]

    def map(self, terms: _Terms) -> list[dict[str, Any]]:
        """Map terms, such as the values of a column, to their best concepts: a row for each term, in their order."""
        if not isinstance(terms, list):
            raise InputError("type-text", "the terms are no list", fix="give a list of strings")
        if len(terms) > MAX_TERMS:
            raise LimitError("limit-record", f"more than {MAX_TERMS:,} terms", fix="give fewer at once")
        for term in terms:
            _require_short(term, MAX_TERM)
        return [{"term": term} | row for term, row in zip(terms, map_to_rows(terms, self._pipeline), strict=True)]


def build_server(pipeline: Pipeline) -> MCPServer:
    """Return the server of a pipeline's tools; `run()` serves standard input and output."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as e:
        raise missing_extra("the server of tools", "mcp") from e
    tools = Tools(pipeline)
    functions = {tool.__name__: tool for tool in (tools.link, tools.explain, tools.lookup, tools.map)}
    parameters = {name: tuple(signature(tool).parameters) for name, tool in functions.items()}

    class TextServer(MCPServer):
        """Check the names of arguments before the SDK does: its own message would show their values."""

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            if wrong := _argument_error(name, parameters[name], arguments):
                raise ToolError(wrong)
            return await super().call_tool(name, arguments, context)

    server = TextServer("onym", version=__version__, log_level="WARNING", middleware=[_hide_values(functions)])
    is_read_only = ToolAnnotations(read_only_hint=True, open_world_hint=False, idempotent_hint=True)
    for tool in functions.values():
        server.add_tool(_with_codes(tool), annotations=is_read_only)
    return server


def _argument_error(tool: str, parameters: Sequence[str], arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with the names of the arguments, or an empty string.

    >>> _argument_error("link", ("text",), {"txt": "High fever."})
    '[request-malformed] link needs the argument text'
    """
    for name in parameters:
        if name not in arguments:
            return f"[request-malformed] {tool} needs the argument {name}"
    return "" if len(arguments) == len(parameters) else f"[request-malformed] {tool} only takes {', '.join(parameters)}"


def _hide_values(tools: Collection[str]) -> ServerMiddleware[Any]:
    """Return middleware that replaces the SDK's messages about a request: they show names, addresses and values of it."""
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
                if e.code not in messages:  # of the protocol itself, such as an unsupported version
                    raise
                code = e.code
            except Exception:  # noqa: S110 - its message is replaced below
                pass
        raise MCPError(code, messages[code])

    return answer


def _with_codes(tool: Callable[..., list[Row]]) -> Callable[..., list[Row]]:
    """Return a tool whose errors are codes: the message of a foreign exception may hold text."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    def call(*arguments: Any, **named: Any) -> list[Row]:
        try:
            return tool(*arguments, **named)
        except Exception as e:
            error = to_onym_error(e, caught_in=__file__)
            message = f"[{error.code}] {error.what}"
        raise ToolError(message)  # outside of the handler, so that no cause with a text goes along

    return call


def _require_short(text: object, limit: int) -> None:
    require_text(text)
    if len(str(text)) > limit:
        raise LimitError("limit-record", f"longer than {limit:,} code points", fix="give it in parts")
