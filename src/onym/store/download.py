"""Resumable downloads of files, and uploads to the Hugging Face Hub.

    NAME.part           the bytes received so far; NAME.part.json records the validator (ETag, date) and size of the file
    NAME                the complete file; NAME.json records its URL, size and SHA-256

Nothing is downloaded unless the user asks for it. Only https is allowed, or http to localhost. Redirects are followed only to
the same host and to hosts known to deliver its files. Redirects of a mirror must stay below the mirror's base URL.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from onym.errors import ConfigError, DownloadError, InputError, IntegrityError, LimitError, missing_extra
from onym.store.cache import cache_folder, file_digest
from onym.store.output import require_file, whole_file, writable
from onym.store.stage import exclusive_at

if TYPE_CHECKING:
    import httpx

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_DELIVERERS = MappingProxyType(
    {
        "github.com": (".githubusercontent.com",),
        "huggingface.co": (".huggingface.co", ".hf.co"),
    }
)
"""Hosts to which a host may redirect its downloads; a leading dot means all subdomains."""
_BROKEN, _CHANGED = "the connection was interrupted", "the file changed during the download"
_log = logging.getLogger("onym.download")
Advance = Callable[[int, int | None], None]
"""Progress callback: called with the bytes received and the total bytes, if known."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """The metadata stored with a downloaded file."""

    url: str
    bytes: int
    sha256: str
    etag: str
    last_modified: str


@dataclass(frozen=True, slots=True)
class Patience:
    """Retry and timeout settings of a download, and its maximum size in bytes."""

    attempts: int = 5
    pause_s: float = 1.0
    timeout_s: float = 30.0
    max_bytes: int = 64_000_000_000


def download(
    url: str,
    dest: Path,
    *,
    mirror: str = "",
    sha256: str = "",
    patience: Patience | None = None,
    advance: Advance = lambda _got, _all: None,
) -> Downloaded:
    """Download `url` to `dest`, resuming an earlier attempt; if `sha256` is given, the file must match it.

    If `url` is on a mirror, `mirror` is the mirror's base URL, and redirects must stay below it.
    """
    patience = patience or Patience()
    _require_safe(url)
    require_file(dest)
    part, trouble = _PartialDownload(dest), ""
    with writable(dest):
        dest.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(patience.attempts):
            if attempt:
                time.sleep(patience.pause_s * 2 ** (attempt - 1))
            trouble = _attempt(_Address(url, mirror), part, patience, advance, is_checked=bool(sha256))
            if not trouble:
                return part.finish(url, sha256)
    what = f"{trouble} ({patience.attempts} attempts); {part.size:,} bytes are kept"
    fix = "check the network and run the same command again to resume; or give a mirror with --mirror"
    raise DownloadError("download-interrupted", what, where=url, fix=fix)


def mirror_address(url: str, mirror: str) -> str:
    """Return the URL of the same path on the mirror; if `mirror` is empty, return the URL unchanged.

    >>> mirror_address("https://example.org/obo/hp.obo", "https://mirror.example.com/copies/")
    'https://mirror.example.com/copies/obo/hp.obo'
    """
    return f"{mirror.rstrip('/')}{urlsplit(url).path}" if mirror else url


def file_name(url: str) -> str:
    """Return the file name in a URL.

    >>> file_name("https://example.org/obo/hp.obo")
    'hp.obo'
    """
    return PurePosixPath(urlsplit(url).path).name


class _PartialDownload:
    """The incomplete file of a download, and its metadata."""

    def __init__(self, dest: Path) -> None:
        self.dest = dest
        self.path = dest.with_name(dest.name + ".part")
        self._note = dest.with_name(dest.name + ".part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def validator(self) -> str:
        """The file's ETag and Last-Modified date; if both are empty, the download cannot be resumed."""
        return str(self._read_note("validator") or "")

    def _read_note(self, key: str) -> Any:
        try:
            return json.loads(self._note.read_bytes())[key]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def is_whole(self) -> bool:
        """Whether all announced bytes were received. A process killed before the final rename leaves such a file."""
        return self.path.exists() and self._read_note("bytes") == self.size

    def begin(self, validator: str, total: int | None) -> None:
        self.path.unlink(missing_ok=True)
        with whole_file(self._note, force=True) as file:
            file.write(json.dumps({"validator": validator, "bytes": total}).encode())

    def append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def finish(self, url: str, expected: str) -> Downloaded:
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if expected and digest != expected:
            self.discard()
            raise DownloadError(
                "download-digest", "the file does not have the expected SHA-256", where=url, fix="check the expected digest"
            )
        etag, _, modified = self.validator.partition("\n")
        record = Downloaded(url=url, bytes=self.size, sha256=digest, etag=etag, last_modified=modified)
        with whole_file(self.dest.with_name(self.dest.name + ".json"), force=True) as file:
            file.write(json.dumps(asdict(record), indent=1).encode() + b"\n")
        self.path.replace(self.dest)
        self._note.unlink(missing_ok=True)
        return record


class _Address(NamedTuple):
    """A URL, and the base URL of its mirror (empty if the URL is not on a mirror)."""

    url: str
    mirror: str

    def require_allowed(self, request: httpx.Request) -> None:
        """Reject forbidden redirects. httpx calls this method before each request."""
        to = str(request.url)
        _require_safe(to)
        if to == self.url:
            return
        if not (_is_below(to, self.mirror) if self.mirror else _is_delivered(to, self.url)):
            what = f"the server redirects to {_without_query(to)}, which is not {self._allowed}"
            fix = "download the file yourself and give its path, or give another mirror with --mirror"
            raise DownloadError("download-redirect", what, where=self.url, fix=fix)
        _log.info("%s redirects to %s", self.url, _without_query(to))

    @property
    def _allowed(self) -> str:
        return f"below {self.mirror}" if self.mirror else f"a URL of {urlsplit(self.url).netloc}"


def _attempt(address: _Address, part: _PartialDownload, patience: Patience, advance: Advance, *, is_checked: bool) -> str:
    """Try once to download; return why the file is incomplete, or "" if complete. Raise if a retry would not help.

    `is_checked` says whether the SHA-256 of the file is known.
    """
    import httpx

    if part.is_whole:
        return ""
    start = part.size if part.validator.strip() else 0
    headers = {"Accept-Encoding": "identity", "User-Agent": "onym"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": _if_range(part.validator)}
    hooks = {"request": [address.require_allowed]}
    try:
        with (
            httpx.Client(timeout=patience.timeout_s, follow_redirects=True, event_hooks=hooks) as client,
            client.stream("GET", address.url, headers=headers) as response,
        ):
            return _receive(response, part, start, patience, advance, is_checked=is_checked)
    except httpx.TooManyRedirects as e:
        fix = "tell the owner of the server, or give another mirror with --mirror"
        raise DownloadError("download-redirect", "too many redirects", where=address.url, fix=fix) from e
    except (httpx.ConnectError, httpx.ConnectTimeout):
        return "the server cannot be reached"
    except (httpx.TransportError, httpx.StreamError):
        return _BROKEN


def _receive(
    response: httpx.Response, part: _PartialDownload, start: int, patience: Patience, advance: Advance, *, is_checked: bool
) -> str:
    url, status = str(response.url), response.status_code
    if status == 416:  # the partial file is longer than the file on the server, so the file on the server has changed
        part.discard()
        return _CHANGED
    if status >= 500 or status == 429:
        return f"the server answered {status}"
    if status not in (200, 206):
        raise DownloadError("download-refused", f"the server answered {status}", where=url, fix="check the URL")
    validator = f"{response.headers.get('etag', '')}\n{response.headers.get('last-modified', '')}"
    resumed = status == 206 and validator == part.validator
    if status == 206 and not resumed:
        part.discard()
        return _CHANGED
    if resumed and not response.headers.get("content-range", "").startswith(f"bytes {start}-"):
        part.discard()
        return "the server sent another part of the file than requested"
    start = start if resumed else 0
    _require_whole(response, is_checked=is_checked)
    length = response.headers.get("content-length")
    total = start + int(length) if length and length.isdigit() else None
    if not resumed:
        part.begin(validator, total)
    for chunk in response.iter_raw():  # raw: every byte received is written at once, and is kept if the connection breaks
        part.append(chunk)
        if part.size > patience.max_bytes:
            part.discard()
            raise LimitError("limit-download", f"the file is larger than {patience.max_bytes:,} bytes", where=url)
        advance(part.size, total)
    return "" if total is None or part.size == total else _BROKEN


def _require_whole(response: httpx.Response, *, is_checked: bool) -> None:
    """Raise unless the bytes are those of the file, and their end is known: by length, by chunks or by a digest."""
    url, encoding = str(response.url), response.headers.get("content-encoding", "identity").lower()
    fix = "download the file yourself and give its path, or give another mirror with --mirror"
    if encoding != "identity" and not file_name(url).endswith((".gz", ".tgz")):  # servers declare .gz files as an encoding
        raise DownloadError("download-refused", "the server sent the file in another encoding", where=url, fix=fix)
    is_chunked = response.headers.get("transfer-encoding", "").lower() == "chunked"
    if not (is_checked or is_chunked or response.headers.get("content-length", "").isdigit()):
        what = "the server does not say how long the file is, and no SHA-256 is known: it may be truncated"
        raise DownloadError("download-refused", what, where=url, fix=fix)


def _if_range(validator: str) -> str:
    etag, _, modified = validator.partition("\n")
    return etag if etag and not etag.startswith("W/") else modified


def _require_safe(url: str) -> None:
    """Reject a URL that is neither https nor on localhost.

    >>> _require_safe("http://example.org/hp.obo")
    Traceback (most recent call last):
    onym.errors.ConfigError: [download-address] only https URLs can be downloaded...
    """
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    except ValueError:
        is_safe = False
    if not is_safe:
        raise ConfigError("download-address", "only https URLs can be downloaded", where=url, fix="use an https mirror")


def _is_below(url: str, mirror: str) -> bool:
    """Return whether a URL is below the base URL of a mirror.

    >>> mirror = "https://example.org/copies/"
    >>> [_is_below(f"https://example.org{path}", mirror) for path in ("/copies/a", "/copies2/a", "/copies/%2e%2e/a")]
    [True, False, False]
    """
    to, base = urlsplit(url), urlsplit(mirror)
    segments = unquote(to.path).replace("\\", "/").split("/")
    is_same = (to.scheme, to.hostname, to.port) == (base.scheme, base.hostname, base.port)
    return is_same and ".." not in segments and to.path.startswith(f"{base.path.rstrip('/')}/")


def _is_delivered(url: str, start: str) -> bool:
    """Return whether a redirect from `start` to `url` is allowed: to the same host, or to a host in `_DELIVERERS`.

    >>> _is_delivered("https://release-assets.githubusercontent.com/a", "https://github.com/mondo/a")
    True
    >>> _is_delivered("https://githubusercontent.com.evil.org/a", "https://github.com/mondo/a")
    False
    """
    to, base = urlsplit(url), urlsplit(start)
    if to.netloc == base.netloc:
        return to.scheme in (base.scheme, "https")
    host, known = to.hostname or "", _DELIVERERS.get(base.hostname or "", ())
    return to.scheme == "https" and any(host.endswith(each) if each.startswith(".") else host == each for each in known)


def _without_query(url: str) -> str:
    return url.partition("?")[0]  # the query may contain a signature


_FOLDER = "downloads"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A local file with its size and digest; `url` is empty unless it was downloaded."""

    path: Path
    url: str
    bytes: int
    sha256: str


def download_path(url: str) -> Path:
    """Return the path at which the download of a URL is stored. The file may not exist yet.

    >>> download_path("https://example.org/obo/hp.obo").name
    'hp.obo'
    """
    return cache_folder() / _FOLDER / hashlib.sha256(url.encode()).hexdigest()[:16] / file_name(url)


def fetch_file(
    url: str,
    *,
    mirror: str = "",
    sha256: str = "",
    patience: Patience | None = None,
    advance: Advance = lambda _got, _all: None,
) -> StoredFile:
    """Return the stored file of a URL. If it is missing, download it from the URL, or from the mirror if one is given.

    If `sha256` is given, the file must match it. Raise IntegrityError if another process is downloading the same file.
    """
    path = download_path(url)
    with exclusive_at(path.with_name(f"{path.name}.lock")):
        if not path.is_file():
            download(mirror_address(url, mirror), path, mirror=mirror, sha256=sha256, patience=patience, advance=advance)
        return _check_stored(path, sha256)


def local_file(path: Path, *, sha256: str = "") -> StoredFile:
    """Return a file that the user already has; if `sha256` is given, the file must match it.

    >>> path = getfixture("tmp_path") / "hp.obo"
    >>> _ = path.write_text("format-version: 1.2")
    >>> local_file(path).bytes
    19
    """
    return _require_expected(StoredFile(path, "", path.stat().st_size, file_digest(path)), sha256)


def _check_stored(path: Path, sha256: str) -> StoredFile:
    """Return a stored file; raise if it has changed since the download or does not match `sha256`."""
    try:
        record = json.loads(path.with_name(f"{path.name}.json").read_bytes())
        url, expected = str(record["url"]), str(record["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        url, expected = "", ""
    if file_digest(path) != expected:
        fix = f"remove {path.parent} and run the command again"
        raise IntegrityError("download-changed", "the file has changed since it was downloaded", where=str(path), fix=fix)
    return _require_expected(StoredFile(path, url, path.stat().st_size, expected), sha256)


def _require_expected(found: StoredFile, sha256: str) -> StoredFile:
    if sha256 and found.sha256 != sha256:
        fix = "get the release that the recipe specifies; a newer Onym may support a newer release"
        raise DownloadError("download-digest", "the file does not have the expected SHA-256", where=str(found.path), fix=fix)
    return found


def upload(folder: Path, name: str) -> str:
    """Upload a folder to the Hugging Face Hub as the model `OWNER/NAME`, and return its URL.

    Credentials are handled by huggingface_hub alone; Onym never sees them.
    """
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as e:
        raise missing_extra("an upload to the hub", "models") from e
    try:
        api = HfApi()
        address = str(api.create_repo(name, exist_ok=True))
        api.upload_folder(repo_id=name, folder_path=folder, commit_message="A pack of Onym")
    except (HfHubHTTPError, HFValidationError, OSError, ValueError) as e:
        fix = "check the name, the network, and that you are logged in: hf auth login"
        raise InputError("upload-failed", f"the upload to {name!r} failed", fix=fix) from e
    return address
