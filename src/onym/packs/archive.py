"""Reads and writes pack files and their record `pack.json` (schema 1; unknown keys are rejected).

`pack.json` contains no dates and no local paths, lists the digests of all files, and has one canonical serialisation, so the
digest of its bytes identifies the pack.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from onym.config import Strict
from onym.errors import ConfigError, InputError, IntegrityError, OnymError, format_id
from onym.packs.provenance import NOT_STATED, FileDigest, PackedCorpus, PackedSource, Provenance, ShortText
from onym.pipeline.config import FILE as PIPELINE
from onym.pipeline.config import PipelineConfig
from onym.pipeline.folder import parse_pipeline
from onym.store.archive import ArchiveWriter, Content, WrittenMember, read_member, require_plausible, unpack, whole_archive
from onym.store.artefact import artefact_files
from onym.store.cache import cache_folder
from onym.store.files.archives import zip_files
from onym.store.files.input_file import InputFile
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.store.models import digest_of_files, read_small
from onym.store.output import remove_folder, whole_folder

SCHEMA: Literal[1] = 1
FILE = "pack.json"
CARD, LICENCES = "README.md", "LICENSE.md"
_MAX_NAME = 200  # maximum characters of a path in a pack
_MAX_FILES = 9_999  # maximum number of files; with pack.json, this is the limit of 10,000 archive members
_PART = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
FILE_NAME = re.compile(rf"{_PART}(?:/{_PART})*")
"""Allowed file names in a pack: safe on every operating system."""
VERSION = r"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$"

FileName = Annotated[str, StringConstraints(pattern=rf"^{FILE_NAME.pattern}$", max_length=_MAX_NAME)]


class PackedKb(Strict):
    """Digest and size of the knowledge base."""

    digest: str = Field(pattern=r"^[0-9a-f]{16}$")
    concepts: int = Field(ge=0)
    names: int = Field(ge=0)


class PackName(Strict):
    """Name and version of a pack."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    version: str = Field(pattern=VERSION)


class PackRecord(PackName):
    """The content of `pack.json`. `restricted` lists the reasons why a private pack may not be redistributed."""

    schema_version: Literal[1] = SCHEMA
    kind: Literal["onym-pack"] = "onym-pack"
    onym: str = Field(pattern=r"^[0-9][0-9A-Za-z.+]{0,49}$")
    private: bool
    restricted: tuple[ShortText, ...]
    kb: PackedKb
    sources: tuple[PackedSource, ...]
    corpora: tuple[PackedCorpus, ...]
    files: dict[FileName, FileDigest] = Field(max_length=_MAX_FILES)

    @model_validator(mode="after")
    def _require_apart(self) -> Self:
        """Reject file names that clash on case-insensitive file systems, and a file that has the name of a folder."""
        if FILE in self.files or CARD not in self.files or LICENCES not in self.files:
            raise ValueError(f"the files of a pack must include {CARD} and {LICENCES}, but not {FILE}")
        names = [name.casefold() for name in self.files]
        folders = {name[:at] for name in names for at in range(len(name)) if name[at] == "/"}
        if max(Counter(names).values()) > 1 or not folders.isdisjoint(names):
            raise ValueError("two files have the same name")
        return self

    @property
    def files_by_path(self) -> dict[str, WrittenMember]:
        """The expected size and digest of each file."""
        return {name: WrittenMember(each.bytes, each.sha256) for name, each in self.files.items()}

    @property
    def sources_without_licence(self) -> list[str]:
        """The names of the sources and corpora without a stated licence."""
        sources = [each.name for each in self.sources if each.licence == NOT_STATED]
        return sources + [each.name for each in self.corpora if each.licence == NOT_STATED]

    @property
    def provenance(self) -> dict[str, Sequence[Provenance]]:
        """Sources and corpora, by the heading of their section on the licence page."""
        return {"Knowledge base": self.sources, "Training data of the models": self.corpora}

    def to_bytes(self) -> bytes:
        """Return the canonical serialisation of the record."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, indent=1, ensure_ascii=True).encode() + b"\n"

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the record, which identify the pack."""
        return hashlib.sha256(self.to_bytes()).hexdigest()[:16]

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> PackRecord:
        """Parse a record; raise if it is invalid or not in canonical form. Another schema version has its own error code."""
        try:
            require_schema(json.loads(data), where)
            record = cls.model_validate_json(data, strict=True)
        except ValidationError as e:
            first = e.errors(include_input=False, include_url=False)[0]
            raise _make_error(f"{FILE}: {'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:200]}", where) from e
        except (ValueError, RecursionError) as e:
            raise _make_error(f"{FILE} is not valid JSON", where) from e
        if record.to_bytes() != data:
            raise _make_error(f"{FILE} is not in canonical form", where)
        return record


def require_schema(values: Any, where: str) -> None:
    """Raise IntegrityError if the schema version is not supported.

    >>> require_schema({"schema_version": 2}, "new.onymp")
    Traceback (most recent call last):
    onym.errors.IntegrityError: [pack-version] the pack has schema 2, but this Onym reads schema 1...
    """
    found = values.get("schema_version") if isinstance(values, dict) else None
    if type(found) is not int:
        raise _make_error(f"{FILE} has no schema version", where)
    if found != SCHEMA:
        what = f"the pack has schema {found}, but this Onym reads schema {SCHEMA}"
        fix = "upgrade Onym: pip install -U onym" if found > SCHEMA else "build the pack again"
        raise IntegrityError("pack-version", what, where=where, fix=fix)


def _make_error(what: str, where: str) -> InputError:
    return InputError("pack-malformed", what, where=where, fix="download or build the pack again")


_UNPACKED = "packs"
_FIRST = b"PK\x03\x04"
EXTRA_MISSING = "extra-missing"
"""Code of the error for missing optional packages. It does not mean that the pack is damaged."""


@dataclass(frozen=True)
class Pack:
    """A verified pack: its record, its pipeline, and its archive members, which are read only when unpacked."""

    path: Path
    record: PackRecord
    config: PipelineConfig
    members: Mapping[str, InputFile]

    @property
    def folder(self) -> Path:
        """The folder in the cache directory to which the pack is unpacked."""
        return cache_folder() / _UNPACKED / self.record.digest

    def unpack(self, folder: Path) -> None:
        """Unpack the pack into a new folder atomically, verifying each file against the record."""
        with whole_folder(folder) as new:
            unpack(self.members, self.record.files_by_path, new.path)
            with new.file(FILE) as file:
                file.write(self.record.to_bytes())

    def is_unpacked(self, folder: Path) -> bool:
        """Return whether the folder contains this pack. Only the record is compared, because unpacking is atomic."""
        path = folder / FILE
        return path.is_file() and read_small(path) == self.record.to_bytes()


def open_pack(path: Path | str, limits: Limits = DEFAULT_LIMITS) -> Pack:
    """Open a pack and verify its record, members and paths, without unpacking it."""
    path = Path(path)
    file, where = InputFile.from_path(path, limits=limits), path.name
    with file.opener() as raw:
        head = raw.read(4)
    if head != _FIRST:  # a zip file may have data before the archive, but a pack may not
        raise _make_error("not a pack (zip archive)", where)
    found = list(zip_files(path, limits))
    members = {each.name: each for each in found}
    if len(members) < len(found) or FILE not in members:
        raise _make_error(f"{FILE} is missing, or two members have the same name", where)
    record = PackRecord.from_bytes(read_member(members[FILE], limits.manifest_bytes), where)
    _require_listed(record, members, where)
    require_plausible(record.files_by_path, file.size, limits, where)
    config = _read_config(members, limits, where)
    require_own_paths(config, record.files, where)
    return Pack(path, record, config, members)


@contextmanager
def unpack_to_cache(path: Path | str) -> Iterator[Path]:
    """Yield the folder of a pack in the cache, unpacked on first use. A new folder is removed again if the block raises."""
    pack = open_pack(path)
    folder = pack.folder
    is_new = not pack.is_unpacked(folder)
    if is_new:
        _unpack_once(pack, folder)
    try:
        yield folder
    except OnymError as e:
        if is_new and e.code != EXTRA_MISSING:
            remove_folder(folder)
        raise


def _unpack_once(pack: Pack, folder: Path) -> None:
    if folder.exists() and not pack.is_unpacked(folder):  # the folder was damaged after unpacking, because unpacking is atomic
        remove_folder(folder)
    try:
        pack.unpack(folder)
    except ConfigError:
        if not pack.is_unpacked(folder):  # if it is unpacked now, another process did it meanwhile
            raise


def _require_listed(record: PackRecord, members: Mapping[str, InputFile], where: str) -> None:
    """Reject a pack whose members differ from its list of files in name or size."""
    sizes = {name: each.size for name, each in members.items() if name != FILE}
    if sizes != {name: each.bytes for name, each in record.files.items()}:
        raise _make_error(f"the members of the archive differ from the files listed in {FILE}", where)


def _read_config(members: Mapping[str, InputFile], limits: Limits, where: str) -> PipelineConfig:
    if PIPELINE not in members:
        raise _make_error(f"{PIPELINE} is missing", where)
    return parse_pipeline(read_member(members[PIPELINE], limits.model_json_bytes), f"{PIPELINE} of {where}")


def require_own_paths(config: PipelineConfig, files: Iterable[str], where: str) -> None:
    """Reject a pipeline that refers to a folder outside of its pack. `files` are the names of the files in the pack.

    Plug-in components may store paths in any field, so no string in their options may lead out of the pack.
    """
    folders = {name[:at] for name in files for at in range(len(name)) if name[at] == "/"}
    paths = [config.kb.path, *(reference.path for reference in config.references())]
    parts = (config.detector, config.linker, *config.components)
    components = [part.model_dump(mode="json") for part in parts if part is not None]
    foreign = [path for path in paths if path not in folders] + [text for text in _texts(components) if _leads_out(text)]
    if foreign:
        raise _make_error(f"the pipeline refers to {format_id(foreign[0]) or 'an empty path'}, which is not in the pack", where)


def _leads_out(path: str) -> bool:
    """Return True if the path leads out of its base folder on any operating system.

    >>> [_leads_out(path) for path in ("models/sapbert", "/etc", "a\\\\..\\\\..\\\\b", "C:b", "~/b")]
    [False, True, True, True, True]
    """
    found = PureWindowsPath(path)  # splits at both / and \
    return bool(found.anchor) or ".." in found.parts or path.startswith("~")


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value, except keys."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


class PackWriter:
    """Writer of a pack archive that records the digest of each file."""

    def __init__(self, archive: ArchiveWriter) -> None:
        self._archive = archive
        self.files: dict[str, FileDigest] = {}

    def add(self, name: str, content: Content) -> str:
        """Write a file, and return its SHA-256."""
        if not FILE_NAME.fullmatch(name):
            fix = "rename the file; only letters, digits and . _ - are allowed"
            raise ConfigError("pack-name", "this file name is not allowed in a pack", where=name, fix=fix)
        written = self._archive.add(name, content)
        self.files[name] = FileDigest(bytes=written.bytes, sha256=written.sha256)
        return written.sha256

    def add_artefact(self, name: str, folder: Path) -> None:
        """Write the current version of an artefact as the folder `name`."""
        for path in artefact_files(folder):
            self.add(f"{name}/{path.as_posix()}", folder / path)

    def add_model(self, name: str, files: Mapping[str, Content]) -> str:
        """Write the files of a model as the folder `name`, and return the digest for the pipeline's reference to it."""
        return digest_of_files({each: self.add(f"{name}/{each}", content) for each, content in files.items()})

    def add_record(self, record: PackRecord) -> None:
        """Write the record, the last member of the pack."""
        self._archive.add(FILE, record.to_bytes())


@contextmanager
def whole_pack(path: Path, *, force: bool = False) -> Iterator[PackWriter]:
    """Write a pack at `path` atomically."""
    with whole_archive(path, force=force) as archive:
        yield PackWriter(archive)
