"""`onym serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.linking import PRECISION


def command(
    pipeline: Annotated[
        list[str],
        typer.Option(
            metavar="DIR|NAME=DIR",
            help="Pipeline to serve, or starter. Several as NAME=DIR: each at /v1/NAME/, the first also at /v1/.",
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs --token-file.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 chooses a free one.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Linker processes per pipeline.")] = 1,
    engine: Annotated[str, typer.Option(help="local: linker processes of this machine; ray: replicas of Ray Serve.")] = "local",
    address: Annotated[
        str, typer.Option(help="Ray cluster, such as auto or head:6379; by default one is started on this machine.")
    ] = "",
    max_workers: Annotated[
        int | None,
        typer.Option(min=1, max=4096, help="With --engine ray: replicas per pipeline under load."),
    ] = None,
    precision: Annotated[float | None, PRECISION] = None,
    match_precision: Annotated[
        float, typer.Option(help="Confidence at which a candidate of /reconcile, for OpenRefine, is a match.")
    ] = 0.95,
    public_url: Annotated[
        str, typer.Option(help="Address at which a proxy shows the service, for the addresses that /reconcile hands out.")
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(help="File whose first line is the token that clients send: Authorization: Bearer TOKEN.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate chain (PEM), for HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Value of the Host header that is answered too, such as the name at a proxy.")
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Maximum bytes of a request body or of a line.")] = 2_000_000,
    max_requests: Annotated[int, typer.Option(min=1, help="Maximum requests at the same time; others are answered 429.")] = 128,
    max_connections: Annotated[
        int, typer.Option(min=1, help="Maximum connections; beyond it the one that is idle for longest ends.")
    ] = 900,
    max_wait: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Maximum expected wait in seconds; beyond it requests are answered 429; by default half of --timeout.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds to the answer; beyond it the answer is 504.")] = 30.0,
    body_timeout: Annotated[float, typer.Option(min=0.001, help="Seconds in which a request body must arrive.")] = 10.0,
    keep_alive: Annotated[int, typer.Option(min=1, help="Seconds for which idle connections are kept.")] = 75,
    drain_delay: Annotated[
        float, typer.Option(min=0, help="Seconds between SIGTERM, after which /ready answers 503, and the end of listening.")
    ] = 5.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log warnings and errors only.")] = False,
) -> None:
    """Serve pipelines over HTTP: link texts, map terms, look concepts up. SIGTERM drains, SIGHUP opens new releases.

    Example: onym serve --pipeline mesh-pipeline
    Example: onym serve --pipeline starter --host 0.0.0.0 --token-file token.txt --workers 4
    Example: onym serve --pipeline /shared/mesh-pipeline --engine ray --address auto --workers 2 --max-workers 16
    """
    import logging

    from onym.errors import missing_extra
    from onym.packs.locate import read_pipeline
    from onym.serve.settings import ServeSettings, named_pipelines, read_token

    try:
        from onym.serve.server import run_service
    except ImportError as e:
        raise missing_extra("the service", "serve") from e
    settings = ServeSettings(
        pipelines=named_pipelines(pipeline),
        host=host,
        port=port,
        workers=workers,
        engine=engine,
        address=address,
        max_workers=max_workers,
        precision=precision,
        match_precision=match_precision,
        public_url=public_url,
        token=read_token(token_file) if token_file else "",
        tls_cert=tls_cert,
        tls_key=tls_key,
        allow_hosts=tuple(allow_host or ()),
        max_body=max_body,
        max_requests=max_requests,
        max_connections=max_connections,
        max_wait=max_wait,
        timeout=timeout,
        body_timeout=body_timeout,
        keep_alive=keep_alive,
        drain_delay=drain_delay,
    )
    for folder in settings.pipelines.values():
        read_pipeline(folder)
    level = logging.WARNING if quiet else logging.INFO
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("onym.serve").setLevel(level)
    run_service(settings)
