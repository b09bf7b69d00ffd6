"""Downloads that are kept once on this machine, whoever needs them: by address, in the cache directory.

    downloads/<16 hex digits>/NAME         the file; its folder is named by the official address, also if a mirror had it
    downloads/<16 hex digits>/NAME.json    address, size and SHA-256, recorded when it came

A file that is there is never fetched again. It is hashed once on a machine, and again where it was touched.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from onym.errors import DownloadError, IntegrityError
from onym.store.artefact.lock import exclusive_at
from onym.store.cache import cache_folder
from onym.store.digests import file_digest
from onym.store.download import Advance, Patience, download, file_name, mirrored

_FOLDER = "downloads"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file on this machine: where it is, the address that it came from (none for a file that was here), and its digest."""

    path: Path
    url: str
    bytes: int
    sha256: str


def download_path(url: str) -> Path:
    """Return where the file of an address is kept, whether it is there or not.

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
    """Return the file of an address: the kept one, or one that is fetched now, from the mirror where there is one.

    A digest that is given must be met. Two processes never fetch the same file at once: the second is refused.
    """
    path = download_path(url)
    with exclusive_at(path.with_name(f"{path.name}.lock")):
        if not path.is_file():
            download(mirrored(url, mirror), path, sha256=sha256, patience=patience, advance=advance)
        return _checked(path, sha256)


def local_file(path: Path, *, sha256: str = "") -> StoredFile:
    """Return a file that a person has already. A digest that is given must be met.

    >>> path = getfixture("tmp_path") / "hp.obo"
    >>> _ = path.write_text("format-version: 1.2")
    >>> local_file(path).bytes
    19
    """
    return _require_expected(StoredFile(path, "", path.stat().st_size, file_digest(path)), sha256)


def _checked(path: Path, sha256: str) -> StoredFile:
    """Return a kept file that is what it was when it came, and what is expected now."""
    try:
        record = json.loads(path.with_name(f"{path.name}.json").read_bytes())
        url, expected = str(record["url"]), str(record["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        url, expected = "", ""
    if file_digest(path) != expected:
        fix = f"remove {path.parent}, and run the command again"
        raise IntegrityError("download-changed", "the file has changed since it was downloaded", where=str(path), fix=fix)
    return _require_expected(StoredFile(path, url, path.stat().st_size, expected), sha256)


def _require_expected(found: StoredFile, sha256: str) -> StoredFile:
    if sha256 and found.sha256 != sha256:
        fix = "get the release that the recipe names; a newer Onym may know a newer one"
        raise DownloadError("download-digest", "the file is not the one expected", where=str(found.path), fix=fix)
    return found
