"""What a service is started with: addresses, limits and times. Safe by default: this machine alone."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from onym.errors import ConfigError
from onym.serve.routes import all_routes

DEFAULT = "default"
"""The name of a pipeline that is served without one."""
RESERVED = frozenset({"pipelines", "suggest", "extend", "preview", *(route.path.split("/")[1] for route in all_routes())})
"""What stands below /v1 and /reconcile where the name of a pipeline may stand."""
ENGINES = ("local", "ray")
MIN_TOKEN = 16
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_ADDRESS = re.compile(r"https?://[^\s?#]+")
_LOCAL = ("localhost", "127.0.0.1", "::1")


class ServeSettings(BaseModel):
    """Where a service listens, whom it answers, and what it refuses. A field with a description is an option of `onym serve`.

    >>> ServeSettings(pipelines={"default": Path("mesh-pipeline")}).is_local
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pipelines: dict[str, Path] = Field(min_length=1)
    host: str = Field(default="127.0.0.1", description="Address to listen on; any but this machine's own needs --token-file.")
    port: int = Field(default=8080, ge=0, le=65_535, description="Port to listen on; 0 chooses a free one.")
    workers: int = Field(default=1, ge=1, le=256, description="Linker processes per pipeline.")
    engine: str = Field(default=ENGINES[0], description="local: linker processes of this machine; ray: replicas of Ray Serve.")
    address: str = Field(
        default="", description="Ray cluster, such as auto or head:6379; by default one is started on this machine."
    )
    max_workers: int | None = Field(
        default=None, ge=1, le=4_096, description="With --engine ray: replicas per pipeline under load."
    )
    precision: float | None = None
    match_precision: float = Field(
        default=0.95, description="Confidence at which a candidate of /reconcile, for OpenRefine, is a match."
    )
    public_url: str = Field(
        default="", description="Address at which a proxy shows the service, for the addresses that /reconcile hands out."
    )
    token: str = Field(default="", repr=False)
    tls_cert: Path | None = Field(default=None, description="Certificate chain (PEM), for HTTPS.")
    tls_key: Path | None = Field(default=None, description="Private key of the certificate (PEM).")
    allow_hosts: tuple[str, ...] = ()
    max_body: int = Field(default=2_000_000, ge=1, description="Maximum bytes of a request body or of a line.")
    max_text: int = Field(
        default=200_000,
        ge=1,
        description="Maximum characters to link in a request: of the text, and for each annotated mention its own and 50 more.",
    )
    max_requests: int = Field(default=128, ge=1, description="Maximum requests at the same time; others are answered 429.")
    max_connections: int = Field(
        default=900, ge=1, description="Maximum connections; beyond it the one that is idle for longest ends."
    )
    max_wait: float | None = Field(
        default=None,
        ge=0.001,
        description="Maximum expected wait in seconds; beyond it requests are answered 429; by default half of --timeout.",
    )
    timeout: float = Field(default=30.0, ge=0.001, description="Seconds to the answer; beyond it the answer is 504.")
    body_timeout: float = Field(default=10.0, ge=0.001, description="Seconds in which a request body must arrive.")
    keep_alive: int = Field(default=75, ge=1, description="Seconds for which idle connections are kept.")
    drain_delay: float = Field(
        default=5.0, ge=0, description="Seconds between SIGTERM, after which /ready answers 503, and the end of listening."
    )
    batch_characters: int = Field(default=32_000, ge=1)  # of texts that a linker process gets together; not an option

    @property
    def is_local(self) -> bool:
        """True where only programs of this machine can connect."""
        return _is_loopback(self.host)

    @property
    def wait_limit(self) -> float:
        """Expected seconds in the queue beyond which a request is refused; half of the time limit, unless it is set.

        >>> ServeSettings(pipelines={"default": Path("mesh-pipeline")}, timeout=2).wait_limit
        1.0
        """
        return self.timeout / 2 if self.max_wait is None else self.max_wait

    @property
    def hosts(self) -> frozenset[str]:
        """The values of the header Host that are answered; none where all are, since a token is needed."""
        if self.allow_hosts or self.is_local:
            return frozenset((*_LOCAL, self.host.lower(), *(name.lower() for name in self.allow_hosts)))
        return frozenset()

    @model_validator(mode="after")
    def _require_safe(self) -> Self:
        if not self.is_local and not self.token:
            fix = "give --token-file, or listen on 127.0.0.1 behind a proxy"
            raise ConfigError(
                "serve-token-needed", f"{self.host} can be reached from other machines, and no token is set", fix=fix
            )
        if self.engine not in ENGINES:
            raise ConfigError("config-invalid", f"{self.engine!r} is no engine", fix=f"name one of {', '.join(ENGINES)}")
        if self.engine != "ray" and (self.address or self.max_workers):
            raise ConfigError("config-invalid", "an address or more workers than at first need Ray", fix="give --engine ray")
        if self.max_workers is not None and self.max_workers < self.workers:
            raise ConfigError("config-invalid", "there are more workers than the maximum", fix="raise --max-workers")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("config-invalid", "TLS needs a certificate and its key", fix="give --tls-cert and --tls-key")
        if not 0 < self.match_precision < 1:
            raise ConfigError("config-invalid", "a precision lies between 0 and 1", fix="give --match-precision such as 0.95")
        if self.public_url and not _ADDRESS.fullmatch(self.public_url):
            raise ConfigError(
                "config-invalid", "this is no address of HTTP", fix="give --public-url such as https://example.org"
            )
        if self.keep_alive <= self.drain_delay:
            raise ConfigError("config-invalid", "keep-alive is not longer than the drain delay", fix="raise --keep-alive")
        return self


def parse_pipelines(values: list[str]) -> dict[str, Path]:
    """Return pipelines by name: each is `DIR` or `NAME=DIR`; the first is also the one without a name in the path.

    >>> parse_pipelines(["mesh=pipelines/mesh", "hpo=pipelines/hpo"])["hpo"].name
    'hpo'
    """
    found: dict[str, Path] = {}
    for value in values:
        name, is_named, folder = value.partition("=")
        name, folder = (name, folder) if is_named else (DEFAULT, value)
        if not _NAME.fullmatch(name) or name in RESERVED or name in found or not folder:
            what = f"{name!r} cannot name a pipeline, or names two"
            fix = f"write NAME=DIR with lower-case letters, digits and hyphens; not {', '.join(sorted(RESERVED))}"
            raise ConfigError("config-invalid", what, fix=fix)
        found[name] = Path(folder)
    return found


def read_token(path: Path) -> str:
    """Return the token in a file: its first line."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        fix = "write a long random line into it"
        raise ConfigError("serve-token-file", "the file of the token cannot be read", where=str(path), fix=fix) from e
    token = lines[0].strip() if lines else ""
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        what = f"a token has at least {MIN_TOKEN} ASCII characters and no space"
        raise ConfigError("serve-token-file", what, where=str(path), fix="openssl rand -hex 32 > FILE")
    return token


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
