"""Tests of downloads from a local server that interrupts, redirects and changes files."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from onym.errors import ConfigError, DownloadError, LimitError
from onym.store.download import Patience, download

BODY = bytes(range(256)) * 4000
QUICK = Patience(attempts=4, pause_s=0.0, timeout_s=5.0)


@dataclass
class Script:
    """The behaviour of the server."""

    body: bytes = BODY
    etag: str = '"one"'
    cuts: list[int] = field(default_factory=list)  # close the connection after this many bytes, one entry per request
    statuses: list[int] = field(default_factory=list)  # respond with this status, one entry per request
    redirect: str = ""
    redirect_once: str = ""
    ranges: list[str] = field(default_factory=list)  # Range headers received
    change_after_first: bytes = b""
    shift: int = 0  # a resumed response starts this many bytes later than requested
    headers: dict[str, str] = field(default_factory=dict)
    has_length: bool = True


class Handler(BaseHTTPRequestHandler):
    script: Script

    def do_GET(self) -> None:
        script = self.script
        script.ranges.append(self.headers.get("Range", ""))
        if target := script.redirect or script.redirect_once:
            script.redirect_once = ""
            self.send_response(302)
            self.send_header("Location", target)
            self.end_headers()
            return
        if script.statuses:
            self.send_response(script.statuses.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if script.change_after_first and len(script.ranges) > 1:
            script.body, script.etag = script.change_after_first, '"two"'
        start = 0
        wanted = self.headers.get("Range", "")
        if wanted and self.headers.get("If-Range") == script.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            start += script.shift
        body = script.body[start:]
        self.send_response(206 if start else 200)
        self.send_header("ETag", script.etag)
        for name, value in script.headers.items():
            self.send_header(name, value)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(script.body) - 1}/{len(script.body)}")
        if script.has_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = script.cuts.pop(0) if script.cuts else len(body)
        self.wfile.write(body[:cut])
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def script_server() -> Iterator[tuple[str, Script]]:
    with script_serving() as served:
        yield served


@contextmanager
def script_serving() -> Iterator[tuple[str, Script]]:
    """Serve a script on this machine; yield the URL of its file, and the script."""
    script = Script()
    handler = type("Bound", (Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hp.obo", script
    server.shutdown()
    thread.join()
    server.server_close()


def test_downloads_a_file_and_its_record(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, _ = script_server
    seen = []
    record = download(url, tmp_path / "hp.obo", patience=QUICK, advance=lambda got, total: seen.append((got, total)))
    assert (tmp_path / "hp.obo").read_bytes() == BODY
    assert record.sha256 == hashlib.sha256(BODY).hexdigest()
    assert json.loads((tmp_path / "hp.obo.json").read_text())["sha256"] == record.sha256
    assert seen[-1] == (len(BODY), len(BODY))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hp.obo", "hp.obo.json"]


def test_resumes_an_interrupted_download(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.cuts = [100_000, 50_000]
    download(url, tmp_path / "hp.obo", patience=QUICK)
    assert (tmp_path / "hp.obo").read_bytes() == BODY
    assert script.ranges == ["", "bytes=100000-", "bytes=150000-"]


def test_resumes_in_a_later_run(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.cuts = [70_000]
    with pytest.raises(DownloadError, match="download-interrupted"):
        download(url, tmp_path / "hp.obo", patience=Patience(attempts=1, pause_s=0))
    assert not (tmp_path / "hp.obo").exists()
    assert (tmp_path / "hp.obo.part").stat().st_size == 70_000
    download(url, tmp_path / "hp.obo", patience=QUICK)
    assert (tmp_path / "hp.obo").read_bytes() == BODY
    assert script.ranges == ["", "bytes=70000-"]


def test_restarts_if_the_file_changed(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.cuts = [100_000]
    script.change_after_first = b"another file altogether"
    download(url, tmp_path / "hp.obo", patience=QUICK)
    assert (tmp_path / "hp.obo").read_bytes() == b"another file altogether"


def test_a_part_at_another_offset_is_not_appended(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.cuts, script.shift = [4], 3
    download(url, tmp_path / "hp.obo", patience=QUICK)
    assert (tmp_path / "hp.obo").read_bytes() == BODY
    assert len(script.ranges) == 3  # cut, refused, whole


def test_a_file_in_another_encoding_is_refused(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.headers = {"Content-Encoding": "gzip"}
    with pytest.raises(DownloadError, match="download-refused"):
        download(url, tmp_path / "hp.obo", patience=QUICK)
    assert not (tmp_path / "hp.obo").exists()


def test_a_file_of_unknown_length_needs_a_digest(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.has_length = False
    with pytest.raises(DownloadError, match="download-refused"):
        download(url, tmp_path / "hp.obo", patience=QUICK)
    download(url, tmp_path / "hp.obo", patience=QUICK, sha256=hashlib.sha256(BODY).hexdigest())
    assert (tmp_path / "hp.obo").read_bytes() == BODY


def test_truncated_file_never_gets_its_final_name(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.cuts = [10, 10, 10, 10]
    with pytest.raises(DownloadError, match="download-interrupted"):
        download(url, tmp_path / "hp.obo", patience=QUICK)
    assert not (tmp_path / "hp.obo").exists()


def test_retries_if_the_server_is_busy(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.statuses = [503, 429]
    download(url, tmp_path / "hp.obo", patience=QUICK)
    assert (tmp_path / "hp.obo").read_bytes() == BODY


def test_does_not_retry_client_errors(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.statuses = [404]
    with pytest.raises(DownloadError, match="download-refused.*404"):
        download(url, tmp_path / "hp.obo", patience=QUICK)


def test_discards_a_part_longer_than_the_file(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    (tmp_path / "hp.obo.part").write_bytes(b"x" * 10)
    (tmp_path / "hp.obo.part.json").write_text(json.dumps({"validator": '"one"\n'}))
    script.statuses = [416]
    download(url, tmp_path / "hp.obo", patience=QUICK)
    assert (tmp_path / "hp.obo").read_bytes() == BODY


def test_rejects_a_wrong_digest(script_server: tuple[str, Script], tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="download-digest"):
        download(script_server[0], tmp_path / "hp.obo", sha256="0" * 64, patience=QUICK)
    assert list(tmp_path.iterdir()) == []


def test_rejects_a_file_larger_than_the_limit(script_server: tuple[str, Script], tmp_path: Path) -> None:
    with pytest.raises(LimitError, match="limit-download"):
        download(script_server[0], tmp_path / "hp.obo", patience=Patience(max_bytes=1000))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    ["http://example.org/a", "ftp://example.org/a", "file:///etc/passwd", "http://127.0.0.1.example.org/", "https://[::1/a"],
)
def test_rejects_urls_that_are_not_https_or_localhost(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="download-address"):
        download(url, tmp_path / "a", patience=QUICK)


def test_rejects_redirects_to_other_hosts(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.redirect = "http://10.0.0.1/secret"
    with pytest.raises(ConfigError, match="download-address"):
        download(url, tmp_path / "a", patience=QUICK)


def test_redirect_loop_raises(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    script.redirect = url
    with pytest.raises(DownloadError, match="download-redirect.*too many redirects") as caught:
        download(url, tmp_path / "a", patience=QUICK)
    assert caught.value.where == url


@pytest.mark.parametrize("path", ["/internal", "/mirror2/a", "/mirror/../internal", "/mirror/%2e%2e/internal", "/mirror"])
def test_rejects_redirects_out_of_a_mirror(script_server: tuple[str, Script], tmp_path: Path, path: str) -> None:
    url, script = script_server
    mirror = url.replace("/hp.obo", "/mirror")
    script.redirect = url.replace("/hp.obo", path)
    with pytest.raises(DownloadError, match="download-redirect") as caught:
        download(f"{mirror}/hp.obo", tmp_path / "a", mirror=mirror, patience=QUICK)
    assert script.redirect.replace("/mirror/..", "") in caught.value.what, "the error names the redirect target"
    assert len(script.ranges) == 1, "no request was sent to the other URL"


def test_a_redirect_to_another_port_or_host_is_rejected(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    for target in ("http://127.0.0.1:9/hp.obo", "http://localhost:9/hp.obo", "https://example.org/hp.obo"):
        script.redirect = target
        with pytest.raises(DownloadError, match="download-redirect"):
            download(url, tmp_path / "a", patience=QUICK)


def test_a_redirect_within_a_mirror_is_followed(script_server: tuple[str, Script], tmp_path: Path) -> None:
    url, script = script_server
    mirror, script.redirect_once = url.replace("/hp.obo", "/mirror"), url.replace("/hp.obo", "/mirror/v2/hp.obo")
    download(f"{mirror}/hp.obo", tmp_path / "a", mirror=mirror, patience=QUICK)
    assert (tmp_path / "a").read_bytes() == BODY


def test_unreachable_server_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="download-interrupted.*cannot be reached") as caught:
        download("http://127.0.0.1:9/hp.obo", tmp_path / "a", patience=QUICK)
    assert "--mirror" in caught.value.fix


def test_does_not_overwrite_an_existing_file(script_server: tuple[str, Script], tmp_path: Path) -> None:
    (tmp_path / "hp.obo").write_text("mine")
    with pytest.raises(ConfigError, match="output-exists"):
        download(script_server[0], tmp_path / "hp.obo", patience=QUICK)
