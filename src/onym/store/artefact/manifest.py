"""What an artefact says of itself: format, files with sizes and digests, configuration, inputs, counts.

There is no date and no path in it: two builds of the same input have the same manifest, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.errors import IntegrityError

_DIGEST = r"^[0-9a-f]{64}$"
_MAX_LISTS = 50_000


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileEntry(_Strict):
    """One file of an artefact; `dtype` and `length` where it is a column."""

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=_DIGEST)
    dtype: str | None = None
    length: int | None = Field(default=None, ge=0)


class InputEntry(_Strict):
    """One file that the artefact was made from."""

    name: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=_DIGEST)


class Manifest(_Strict):
    """The record that an artefact carries."""

    kind: str
    format: int
    config: dict[str, Any]
    inputs: tuple[InputEntry, ...]
    counts: dict[str, int]
    files: dict[str, FileEntry]

    def to_bytes(self) -> bytes:
        """Return the one way to write this manifest."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, indent=1, ensure_ascii=True).encode() + b"\n"

    def digest(self) -> str:
        """Return the SHA-256 of the written manifest: the artefact's identity."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Manifest:
        """Read a manifest, refusing anything that is not exactly one."""
        if data.count(b"{") + data.count(b"[") > _MAX_LISTS:  # each costs a parser hundreds of bytes
            raise IntegrityError("artefact-corrupt", "the manifest is too large", where=where, fix="build it again")
        try:
            manifest = cls.model_validate_json(data)
        except ValidationError as e:
            raise IntegrityError("artefact-corrupt", "the manifest cannot be read", where=where, fix="build it again") from e
        bad = [
            name for name in manifest.files if "/" in name or "\\" in name or name.startswith(".") or name == "manifest.json"
        ]
        if bad:
            raise IntegrityError("artefact-corrupt", "the manifest names a file outside the artefact", where=where)
        return manifest
