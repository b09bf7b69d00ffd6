"""The pack file: `pack.json` (schema 1, frozen and typed; unknown keys are refused), reading a pack, and writing one.

There is no date and no path of a machine in it. It is written in one way only, so that the digest of its bytes, which list the
digests of all files, is the identity of the pack.
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
_MAX_NAME = 200
_MAX_FILES = 9_999  # with the record, what an archive may hold
_PART = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
FILE_NAME = re.compile(rf"{_PART}(?:/{_PART})*")
"""The names that files of a pack may have: no system reads anything else into them."""
VERSION = r"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$"

FileName = Annotated[str, StringConstraints(pattern=rf"^{FILE_NAME.pattern}$", max_length=_MAX_NAME)]


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
    onym: str = Field(pattern=r"^[0-9][0-9A-Za-z.+]{0,49}$")
    private: bool
    restricted: tuple[ShortText, ...]
    kb: PackedKb
    sources: tuple[PackedSource, ...]
    corpora: tuple[PackedCorpus, ...]
    files: dict[FileName, FileDigest] = Field(max_length=_MAX_FILES)

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
    def files_by_path(self) -> dict[str, WrittenMember]:
        """The files, with what each must be."""
        return {name: WrittenMember(each.bytes, each.sha256) for name, each in self.files.items()}

    @property
    def sources_without_licence(self) -> list[str]:
        """The sources and corpora whose licence nobody has stated."""
        sources = [each.name for each in self.sources if each.licence == NOT_STATED]
        return sources + [each.name for each in self.corpora if each.licence == NOT_STATED]

    @property
    def provenance(self) -> dict[str, Sequence[Provenance]]:
        """What the pack is made of, by sections of the page of licences."""
        return {"Knowledge base": self.sources, "Training data of the models": self.corpora}

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
            raise _make_error(f"{FILE}: {'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:200]}", where) from e
        except (ValueError, RecursionError) as e:
            raise _make_error(f"{FILE} is not valid JSON", where) from e
        if record.to_bytes() != data:
            raise _make_error(f"{FILE} is not written as Onym writes it", where)
        return record


def require_schema(values: Any, where: str) -> None:
    """Refuse a pack of a schema that this Onym does not know.

    >>> require_schema({"schema_version": 2}, "new.onymp")
    Traceback (most recent call last):
    onym.errors.IntegrityError: [pack-version] schema 2, while this Onym reads schema 1...
    """
    found = values.get("schema_version") if isinstance(values, dict) else None
    if type(found) is not int:
        raise _make_error(f"{FILE} has no schema version", where)
    if found != SCHEMA:
        what = f"schema {found}, while this Onym reads schema {SCHEMA}"
        fix = "upgrade Onym: pip install -U onym" if found > SCHEMA else "build the pack again"
        raise IntegrityError("pack-version", what, where=where, fix=fix)


def _make_error(what: str, where: str) -> InputError:
    return InputError("pack-malformed", what, where=where, fix="fetch or build the pack again")


_UNPACKED = "packs"
_FIRST = b"PK\x03\x04"
EXTRA_MISSING = "extra-missing"
"""The code of an error that says nothing of the pack."""


@dataclass(frozen=True)
class Pack:
    """A pack that was checked: its record, its pipeline, and its members by name, which are read when they are unpacked."""

    path: Path
    record: PackRecord
    config: PipelineConfig
    members: Mapping[str, InputFile]

    @property
    def folder(self) -> Path:
        """Where it is unpacked in the cache directory."""
        return cache_folder() / _UNPACKED / self.record.digest

    def unpack(self, folder: Path) -> None:
        """Unpack it into a new folder, which appears only when each file is what the record lists."""
        with whole_folder(folder) as new:
            unpack(self.members, self.record.files_by_path, new.path)
            with new.file(FILE) as file:
                file.write(self.record.to_bytes())

    def is_unpacked(self, folder: Path) -> bool:
        """Tell whether this very pack is in a folder: such folders appear as a whole."""
        path = folder / FILE
        return path.is_file() and read_small(path) == self.record.to_bytes()


def open_pack(path: Path | str, limits: Limits = DEFAULT_LIMITS) -> Pack:
    """Check what a pack says of itself, without unpacking it."""
    path = Path(path)
    file, where = InputFile.from_path(path, limits=limits), path.name
    with file.opener() as raw:
        head = raw.read(4)
    if head != _FIRST:  # an archive may begin with something else, and a pack may not
        raise _make_error("this is no pack", where)
    found = list(zip_files(path, limits))
    members = {each.name: each for each in found}
    if len(members) < len(found) or FILE not in members:
        raise _make_error(f"two members have one name, or there is no {FILE}", where)
    record = PackRecord.from_bytes(read_member(members[FILE], limits.manifest_bytes), where)
    _require_listed(record, members, where)
    require_plausible(record.files_by_path, file.size, limits, where)
    config = _read_config(members, limits, where)
    require_own_paths(config, record.files, where)
    return Pack(path, record, config, members)


@contextmanager
def unpack_to_cache(path: Path | str) -> Iterator[Path]:
    """Yield the folder of a pack in the cache directory, unpacked on first use; a new one is removed if the block raises."""
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
    if folder.exists() and not pack.is_unpacked(folder):  # it was damaged: such folders appear as a whole
        remove_folder(folder)
    try:
        pack.unpack(folder)
    except ConfigError:
        if not pack.is_unpacked(folder):  # else another process was quicker
            raise


def _require_listed(record: PackRecord, members: Mapping[str, InputFile], where: str) -> None:
    """Refuse a pack whose members are not those that it lists, with their sizes."""
    sizes = {name: each.size for name, each in members.items() if name != FILE}
    if sizes != {name: each.bytes for name, each in record.files.items()}:
        what = "the members of the archive are not those that the pack lists"
        raise _make_error(what, where)


def _read_config(members: Mapping[str, InputFile], limits: Limits, where: str) -> PipelineConfig:
    if PIPELINE not in members:
        raise _make_error(f"there is no {PIPELINE}", where)
    return parse_pipeline(read_member(members[PIPELINE], limits.model_json_bytes), f"{PIPELINE} of {where}")


def require_own_paths(config: PipelineConfig, files: Iterable[str], where: str) -> None:
    """Reject a pipeline that refers to anything but folders of its own pack, whose files have these names.

    A component of a plug-in may hold paths in fields of its own: no text in it may be a path that leads out of the pack.
    """
    folders = {name[:at] for name in files for at in range(len(name)) if name[at] == "/"}
    paths = [config.kb.path, *(reference.path for reference in config.references())]
    components = [part.model_dump(mode="json") for part in (config.detector, config.linker) if part is not None]
    foreign = [path for path in paths if path not in folders] + [text for text in _texts(components) if _leads_out(text)]
    if foreign:
        raise _make_error(f"the pipeline refers to {format_id(foreign[0]) or 'an empty path'}, which is not in the pack", where)


def _leads_out(path: str) -> bool:
    """Return True if any system would look for the path outside of the folder that it is relative to.

    >>> [_leads_out(path) for path in ("models/sapbert", "/etc", "a\\\\..\\\\..\\\\b", "C:b", "~/b")]
    [False, True, True, True, True]
    """
    found = PureWindowsPath(path)  # it divides at both kinds of slashes
    return bool(found.anchor) or ".." in found.parts or path.startswith("~")


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value, except keys."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


class PackWriter:
    """The archive of a pack, and the list of what was written to it."""

    def __init__(self, archive: ArchiveWriter) -> None:
        self._archive = archive
        self.files: dict[str, FileDigest] = {}

    def add(self, name: str, content: Content) -> str:
        """Write a file, and return its SHA-256."""
        if not FILE_NAME.fullmatch(name):
            fix = "rename the file; letters, digits, and . _ - are allowed"
            raise ConfigError("pack-name", "a file has a name that packs cannot hold", where=name, fix=fix)
        written = self._archive.add(name, content)
        self.files[name] = FileDigest(bytes=written.bytes, sha256=written.sha256)
        return written.sha256

    def add_artefact(self, name: str, folder: Path) -> None:
        """Write the current version of an artefact as the folder `name`."""
        for path in artefact_files(folder):
            self.add(f"{name}/{path.as_posix()}", folder / path)

    def add_model(self, name: str, files: Mapping[str, Content]) -> str:
        """Write the files of a model as the folder `name`, and return the digest that a pipeline refers to it by."""
        return digest_of_files({each: self.add(f"{name}/{each}", content) for each, content in files.items()})

    def add_record(self, record: PackRecord) -> None:
        """Write the record, which ends the pack."""
        self._archive.add(FILE, record.to_bytes())


@contextmanager
def whole_pack(path: Path, *, force: bool = False) -> Iterator[PackWriter]:
    """Write a pack at `path`, which appears only when it is complete."""
    with whole_archive(path, force=force) as archive:
        yield PackWriter(archive)
