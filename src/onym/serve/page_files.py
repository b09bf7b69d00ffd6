"""The files of the page at `/`, by their paths: small, without secrets, in memory from the start."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""What the page may do: load its own files and ask its own service. No text becomes a script, and no form is sent."""
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class PageFile(NamedTuple):
    """A file as it is answered."""

    content: bytes
    media_type: str


def _read() -> dict[str, PageFile]:
    found = {}
    for file in files("onym.serve").joinpath("static").iterdir():
        media_type = _TYPES.get(f".{file.name.rpartition('.')[2]}")
        if media_type:
            path = "/" if file.name == "index.html" else f"/page/{file.name}"
            found[path] = PageFile(file.read_bytes(), f"{media_type}; charset=utf-8")
    return found


PAGE_FILES = _read()
"""All files of the page."""
