"""`onym serve` and `onym mcp`: serve pipelines over HTTP, or as MCP tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.answering import PIPELINE_ANSWERS, Answering, AnswerOptions, use_default
from onym.cli.help import MORE
from onym.cli.options import ConfigOptions, command_with

if TYPE_CHECKING:
    from onym.serve.settings import ServeSettings

app = typer.Typer()


def _settings() -> type[ServeSettings]:
    from onym.serve.settings import ServeSettings

    return ServeSettings


_OWN = {"pipelines": "pipeline", "token": "token_file", "allow_hosts": "allow_host"}
_COMMON = ("host", "port", "workers", "engine", "tls_cert", "tls_key", "max_text", "timeout")
_ANSWERS = AnswerOptions(without=("pipeline", "kb", "linker", "download", "verify"))
_SETTINGS = ConfigOptions(_settings, own=_OWN, common=_COMMON)


@app.command(cls=command_with(config=_SETTINGS, answers=_ANSWERS))
def serve(
    context: typer.Context,
    pipeline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR|NAME=DIR",
            help="Pipeline to serve; by default the best installed one, at first the built-in starter. For several, repeat "
            "NAME=DIR: each is at /v1/NAME/, the first at /v1/.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File whose first line is the token that clients must send (Authorization: Bearer TOKEN)."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=MORE, help="Additional allowed Host header, such as the name of a proxy. May be repeated."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log warnings and errors only.")] = False,
) -> None:
    """Serve pipelines over HTTP: link texts, map terms, look up concepts. SIGTERM drains, SIGHUP reloads the pipelines.

    Example: onym serve
    Example: onym serve --pipeline mesh-pipeline --host 0.0.0.0 --token-file token.txt --workers 4
    Example: onym serve --pipeline /shared/mesh-pipeline --engine ray --address auto --workers 2 --max-workers 16
    """
    import logging

    from onym.errors import missing_extra
    from onym.packs.locate import read_pipeline
    from onym.serve.settings import ServeSettings, parse_pipelines, read_token

    try:
        from onym.serve.server import run_service
    except ImportError as e:
        raise missing_extra("the service", "serve") from e
    answers: Answering = context.obj["answers"]
    settings = ServeSettings(
        pipelines=parse_pipelines(pipeline or [str(use_default())]),
        options=answers.options.model_dump(mode="json", exclude_unset=True),
        components=answers.components,
        corrections=answers.corrections,
        token=read_token(token_file) if token_file else "",
        allow_hosts=tuple(allow_host or ()),
        **context.obj["config"],
    )
    for folder in settings.pipelines.values():
        read_pipeline(folder)
    level = logging.WARNING if quiet else logging.INFO
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("onym.serve").setLevel(level)
    run_service(settings)


@app.command(cls=command_with(answers=PIPELINE_ANSWERS))
def mcp(context: typer.Context) -> None:
    """Serve link, explain, lookup and map as tools for AI assistants (Model Context Protocol over stdin and stdout).

    Example: onym mcp
    """
    from onym.integrations.mcp import build_server

    answers: Answering = context.obj["answers"]
    build_server(answers.open()).run()
