"""What a pack says of itself: `pack.json`, schema 1, frozen and typed. Unknown keys are refused.

There is no date and no path of a machine in it. It is written in one way only, so that the digest of its bytes, which list the
digests of all files, is the identity of the pack.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from onym.errors import InputError, IntegrityError
from onym.store.archive import Written
from onym.store.config import Strict

SCHEMA: Literal[1] = 1
FILE = "pack.json"
CARD, LICENCES = "README.md", "LICENSE.md"
NOT_STATED = "not stated"
_MAX_NAME = 200
_MAX_FILES = 9_999  # with the record, what an archive may hold
_PART = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
FILE_NAME = re.compile(rf"{_PART}(?:/{_PART})*")
"""The names that files of a pack may have: no system reads anything else into them."""
VERSION = r"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$"

FileName = Annotated[str, StringConstraints(pattern=rf"^{FILE_NAME.pattern}$", max_length=_MAX_NAME)]
ShortText = Annotated[str, StringConstraints(max_length=1_000)]


class PackedFile(Strict):
    """The size and the SHA-256 of a file."""

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class PackedSource(Strict):
    """A release that the knowledge base was built from. `vocabulary` is empty where Onym does not know it."""

    name: ShortText
    vocabulary: ShortText
    release: ShortText
    licence: ShortText


class PackedCorpus(Strict):
    """A corpus that a model of the pack was trained on."""

    name: ShortText
    documents: int = Field(ge=0)
    licence: ShortText


class PackedKb(Strict):
    """The knowledge base: its digest and its size."""

    digest: str = Field(pattern=r"^[0-9a-f]{16}$")
    concepts: int = Field(ge=0)
    names: int = Field(ge=0)


class PackName(Strict):
    """What a pack is called, and its version."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    version: str = Field(pattern=VERSION)


class PackRecord(PackName):
    """The content of `pack.json`. `restricted` says why a private pack may not be passed on."""

    schema_version: Literal[1] = SCHEMA
    kind: Literal["onym-pack"] = "onym-pack"
    onym: str = Field(max_length=50)
    private: bool
    restricted: tuple[ShortText, ...]
    kb: PackedKb
    sources: tuple[PackedSource, ...]
    corpora: tuple[PackedCorpus, ...]
    files: dict[FileName, PackedFile] = Field(max_length=_MAX_FILES)

    @model_validator(mode="after")
    def _require_apart(self) -> Self:
        """Refuse files that would be one on some system, and a file that has the name of a folder."""
        if FILE in self.files or CARD not in self.files or LICENCES not in self.files:
            raise ValueError("the files of a pack are a card, licences, and not the record itself")
        names = [name.casefold() for name in self.files]
        folders = {name[:at] for name in names for at in range(len(name)) if name[at] == "/"}
        if max(Counter(names).values()) > 1 or not folders.isdisjoint(names):
            raise ValueError("two files have one name")
        return self

    @property
    def listed(self) -> dict[str, Written]:
        """The files, with what each must be."""
        return {name: Written(each.bytes, each.sha256) for name, each in self.files.items()}

    @property
    def unstated(self) -> list[str]:
        """The sources and corpora whose licence nobody has stated."""
        found = [(each.name, each.licence) for each in self.sources] + [(each.name, each.licence) for each in self.corpora]
        return [name for name, licence in found if licence == NOT_STATED]

    def to_bytes(self) -> bytes:
        """Return the one way to write this record."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, indent=1, ensure_ascii=True).encode() + b"\n"

    @property
    def digest(self) -> str:
        """The beginning of the SHA-256 of the written record: the identity of the pack."""
        return hashlib.sha256(self.to_bytes()).hexdigest()[:16]

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> PackRecord:
        """Read a record, refusing anything that is not exactly one; that of a newer schema by a code of its own."""
        try:
            require_schema(json.loads(data), where)
            record = cls.model_validate_json(data, strict=True)
        except ValidationError as e:
            first = e.errors(include_input=False, include_url=False)[0]
            raise _malformed(f"{FILE}: {'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:200]}", where) from e
        except (ValueError, RecursionError) as e:
            raise _malformed(f"{FILE} is not valid JSON", where) from e
        if record.to_bytes() != data:
            raise _malformed(f"{FILE} is not written as Onym writes it", where)
        return record


def require_schema(values: Any, where: str) -> None:
    """Refuse a pack of a schema that this Onym does not know.

    >>> require_schema({"schema_version": 2}, "new.onymp")
    Traceback (most recent call last):
    onym.errors.IntegrityError: [pack-version] schema 2, while this Onym reads schema 1...
    """
    found = values.get("schema_version") if isinstance(values, dict) else None
    if type(found) is not int:
        raise _malformed(f"{FILE} has no schema version", where)
    if found != SCHEMA:
        what = f"schema {found}, while this Onym reads schema {SCHEMA}"
        fix = "upgrade Onym: pip install -U onym" if found > SCHEMA else "build the pack again"
        raise IntegrityError("pack-version", what, where=where, fix=fix)


def _malformed(what: str, where: str) -> InputError:
    return InputError("pack-malformed", what, where=where, fix="fetch or build the pack again")
