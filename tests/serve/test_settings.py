"""Tests of validating the settings of the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from onym.errors import ConfigError
from onym.serve.settings import ServeSettings, parse_pipelines, read_token

HERE = {"default": Path("pipeline")}
TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.9"])
def test_loopback_needs_no_token(host: str) -> None:
    assert ServeSettings(pipelines=HERE, host=host).is_local


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
def test_public_host_needs_token(host: str) -> None:
    with pytest.raises(ConfigError, match="serve-token-needed"):
        ServeSettings(pipelines=HERE, host=host)
    assert not ServeSettings(pipelines=HERE, host=host, token=TOKEN).is_local


def test_allowed_hosts() -> None:
    assert ServeSettings(pipelines=HERE).hosts == {"localhost", "127.0.0.1", "::1"}
    assert "example.org" in ServeSettings(pipelines=HERE, allow_hosts=("Example.org",)).hosts
    assert ServeSettings(pipelines=HERE, host="0.0.0.0", token=TOKEN).hosts == frozenset()
    assert "example.org" in ServeSettings(pipelines=HERE, host="0.0.0.0", token=TOKEN, allow_hosts=("example.org",)).hosts


@pytest.mark.parametrize(
    "wrong",
    [
        {"tls_cert": Path("a")},
        {"tls_key": Path("a")},
        {"keep_alive": 5, "drain_delay": 5},
        {"engine": "spark"},
        {"address": "head:6379"},
        {"max_workers": 2},
        {"engine": "ray", "workers": 3, "max_workers": 2},
    ],
)
def test_rejects_inconsistent_settings(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        ServeSettings(pipelines=HERE, **wrong)


@pytest.mark.parametrize("wrong", [{"port": 70_000}, {"workers": 0}, {"unknown": 1}, {"pipelines": {}}])
def test_rejects_values_out_of_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ServeSettings(**{"pipelines": HERE, **wrong})


def test_repr_hides_token() -> None:
    assert TOKEN not in repr(ServeSettings(pipelines=HERE, token=TOKEN))


def test_parse_pipelines() -> None:
    assert parse_pipelines(["a/b"]) == {"default": Path("a/b")}
    assert parse_pipelines(["mesh=a", "hpo-2=b"]) == {"mesh": Path("a"), "hpo-2": Path("b")}


@pytest.mark.parametrize("wrong", [["link=a"], ["A=a"], ["a=b", "a=c"], ["a", "b"], ["a="], ["=a"], ["../x=a"]])
def test_rejects_invalid_pipeline_names(wrong: list[str]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        parse_pipelines(wrong)


def test_token_is_first_line_of_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\nmore\n")
    assert read_token(tmp_path / "token") == TOKEN


@pytest.mark.parametrize("content", ["", "short\n", "with a space in it\n", "\xe4" * 20, None])
def test_rejects_invalid_token_file(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "token").write_text(content, encoding="latin-1")
    with pytest.raises(ConfigError, match="serve-token-file") as caught:
        read_token(tmp_path / "token")
    assert not content or content.strip() not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        *({"match_precision": value} for value in (0.0, 1.0, -0.5, float("nan"))),
        *(
            {"public_url": value}
            for value in ("example.org", "ftp://example.org", "https://", "https://a b", "https://a?b", "javascript:x")
        ),
    ],
)
def test_rejects_invalid_reconcile_settings(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        ServeSettings(pipelines={"default": Path("p")}, **changes)


def test_public_url_may_have_a_path() -> None:
    assert ServeSettings(pipelines={"default": Path("p")}, public_url="https://example.org/onym").public_url.endswith("/onym")
