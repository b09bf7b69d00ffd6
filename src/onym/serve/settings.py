"""Settings of the service: addresses, limits and timeouts. By default it only listens on localhost."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from onym.errors import ConfigError
from onym.serve.routes import all_routes

DEFAULT = "default"
"""Name of a pipeline that was given without a name."""
RESERVED = frozenset({"pipelines", "suggest", "extend", "preview", *(route.path.split("/")[1] for route in all_routes())})
"""Path segments below /v1 and /reconcile, which cannot be names of pipelines."""
ENGINES = ("local", "ray")
MIN_TOKEN = 16
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_ADDRESS = re.compile(r"https?://[^\s?#]+")
_LOCAL = ("localhost", "127.0.0.1", "::1")


class ServeSettings(BaseModel):
    """Settings of a service. A field with a description is an option of `onym serve`.

    >>> ServeSettings(pipelines={"default": Path("mesh-pipeline")}).is_local
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    secured_by: ClassVar[str] = "--token-file"

    pipelines: dict[str, Path] = Field(min_length=1)
    host: str = Field(default="127.0.0.1", description="Address to listen on; other than loopback, it requires --token-file.")
    port: int = Field(default=8080, ge=0, le=65_535, description="Port to listen on; 0 chooses a free port.")
    workers: int = Field(default=1, ge=1, le=256, description="Linker processes per pipeline.")
    engine: str = Field(default=ENGINES[0], description="local: linker processes on this machine; ray: Ray Serve replicas.")
    address: str = Field(
        default="", description="Address of the Ray cluster, such as auto or head:6379; by default a local cluster is started."
    )
    max_workers: int | None = Field(
        default=None, ge=1, le=4_096, description="With --engine ray: maximum replicas per pipeline, for times of high load."
    )
    options: dict[str, Any] = Field(default={})
    components: tuple[str, ...] = ()
    corrections: Path | None = None
    match_precision: float = Field(
        default=0.95, description="Share of the matches of /reconcile (OpenRefine) that have to be right."
    )
    public_url: str = Field(
        default="", description="Public URL of the service behind a proxy; used in the URLs that /reconcile returns."
    )
    token: str = Field(default="", repr=False)
    tls_cert: Path | None = Field(default=None, description="Certificate chain (PEM), for HTTPS.")
    tls_key: Path | None = Field(default=None, description="Private key of the certificate (PEM).")
    allow_hosts: tuple[str, ...] = ()
    max_body: int = Field(default=2_000_000, ge=1, description="Maximum bytes of a request body; for /link/batch, of a line.")
    max_text: int = Field(
        default=200_000,
        ge=1,
        description="Maximum characters per link request. An annotated mention counts as its length plus 50.",
    )
    max_requests: int = Field(
        default=128, ge=1, description="Maximum concurrent requests whose bodies have arrived; further requests get status 429."
    )
    max_connections: int = Field(
        default=900, ge=1, description="Maximum open connections; at the limit, the longest-idle one is closed."
    )
    max_wait: float | None = Field(
        default=None,
        ge=0.001,
        description="Maximum expected queueing time in seconds; requests beyond it get status 429. Default: half of --timeout.",
    )
    timeout: float = Field(default=30.0, ge=0.001, description="Maximum seconds per request; slower requests get status 504.")
    body_timeout: float = Field(default=10.0, ge=0.001, description="Maximum seconds for a request body to arrive.")
    keep_alive: int = Field(default=75, ge=1, description="Seconds after which idle connections are closed.")
    drain_delay: float = Field(
        default=5.0, ge=0, description="Seconds to keep listening after SIGTERM, while /ready returns 503."
    )
    batch_characters: int = Field(default=32_000, ge=1)  # maximum characters per batch of jobs; not a command-line option

    @property
    def bearer_tokens(self) -> tuple[str, ...]:
        """The tokens that are accepted; empty if none is needed."""
        return (self.token,) if self.token else ()

    @property
    def is_local(self) -> bool:
        """True if the host is a loopback address."""
        return _is_loopback(self.host)

    @property
    def opening(self) -> dict[str, Any]:
        """What a linker process needs besides the folder of a pipeline: the options for all requests, and the corrections.

        >>> ServeSettings(pipelines={"default": Path("hpo")}, options={"under": ["HP:0000707"]}).opening["options"]
        {'under': ['HP:0000707']}
        """
        corrections = None if self.corrections is None else str(self.corrections.resolve())
        return {"options": self.options, "components": list(self.components), "corrections": corrections}

    @property
    def wait_limit(self) -> float:
        """Maximum expected queueing time in seconds; defaults to half of the timeout.

        >>> ServeSettings(pipelines={"default": Path("mesh-pipeline")}, timeout=2).wait_limit
        1.0
        """
        return self.timeout / 2 if self.max_wait is None else self.max_wait

    @property
    def hosts(self) -> frozenset[str]:
        """Allowed Host header values; empty means any host (token-protected)."""
        if self.allow_hosts or self.is_local:
            return frozenset((*_LOCAL, self.host.lower(), *(name.lower() for name in self.allow_hosts)))
        return frozenset()

    @model_validator(mode="after")
    def _require_safe(self) -> Self:
        if not self.is_local and not self.bearer_tokens:
            fix = f"give {self.secured_by}, or listen on 127.0.0.1 behind a proxy"
            raise ConfigError(
                "serve-token-needed", f"{self.host} can be reached from other machines, and no token is set", fix=fix
            )
        if self.engine not in ENGINES:
            raise ConfigError("config-invalid", f"unknown engine {self.engine!r}", fix=f"use one of {', '.join(ENGINES)}")
        if self.engine != "ray" and (self.address or self.max_workers):
            raise ConfigError("config-invalid", "--address and --max-workers need Ray", fix="add --engine ray")
        if self.max_workers is not None and self.max_workers < self.workers:
            raise ConfigError("config-invalid", "--workers is larger than --max-workers", fix="raise --max-workers")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("config-invalid", "TLS needs a certificate and its key", fix="give both --tls-cert and --tls-key")
        if not 0 < self.match_precision < 1:
            raise ConfigError("config-invalid", "--match-precision must lie between 0 and 1", fix="give a value such as 0.95")
        if self.public_url and not _ADDRESS.fullmatch(self.public_url):
            raise ConfigError("config-invalid", "--public-url is not an HTTP URL", fix="give a URL such as https://example.org")
        if self.keep_alive <= self.drain_delay:
            raise ConfigError("config-invalid", "--keep-alive must be longer than --drain-delay", fix="raise --keep-alive")
        return self


def parse_pipelines(values: list[str]) -> dict[str, Path]:
    """Parse `DIR` or `NAME=DIR` arguments, and return the folders by pipeline name, in the given order.

    >>> parse_pipelines(["mesh=pipelines/mesh", "hpo=pipelines/hpo"])["hpo"].name
    'hpo'
    """
    found: dict[str, Path] = {}
    for value in values:
        name, is_named, folder = value.partition("=")
        name, folder = (name, folder) if is_named else (DEFAULT, value)
        if not _NAME.fullmatch(name) or name in RESERVED or name in found or not folder:
            what = f"{name!r} is not a valid pipeline name, or is used twice"
            fix = f"write NAME=DIR; a name has lower-case letters, digits and hyphens, and is not {', '.join(sorted(RESERVED))}"
            raise ConfigError("config-invalid", what, fix=fix)
        found[name] = Path(folder)
    return found


def read_token(path: Path) -> str:
    """Return the token, which is the first line of the file."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        fix = "write a long random line into it"
        raise ConfigError("serve-token-file", "cannot read the token file", where=str(path), fix=fix) from e
    token = lines[0].strip() if lines else ""
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        what = f"the token must have at least {MIN_TOKEN} ASCII characters and no space"
        raise ConfigError("serve-token-file", what, where=str(path), fix="openssl rand -hex 32 > FILE")
    return token


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
