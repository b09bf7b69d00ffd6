"""Opening a pack: all that it says is checked before a byte of it is unpacked, and each byte while it is unpacked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onym.errors import ConfigError, InputError, OnymError
from onym.pipeline.pack.record import FILE, FILE_NAME, PackRecord
from onym.pipeline.packs import FILE as PIPELINE
from onym.store.cache import cache_folder
from onym.store.files.input_file import InputFile
from onym.store.files.zip import zip_files
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.store.model_settings import read_small
from onym.store.output import remove_folder, whole_folder
from onym.store.unpacking import read_member, require_plausible, unpack

_UNPACKED = "packs"
_FIX = "fetch or build the pack again"
_FIRST = b"PK\x03\x04"
_MAX_DEPTH = 50
EXTRA_MISSING = "extra-missing"
"""The code of an error that says nothing of the pack."""


@dataclass(frozen=True)
class Pack:
    """A pack that was checked: its record, and its members by name, which are read when they are unpacked."""

    path: Path
    record: PackRecord
    members: Mapping[str, InputFile]

    @property
    def folder(self) -> Path:
        """Where it is unpacked in the cache directory."""
        return cache_folder() / _UNPACKED / self.record.digest

    def unpack(self, folder: Path) -> None:
        """Unpack it into a new folder, which appears only when each file is what the record lists."""
        with whole_folder(folder) as new:
            unpack(self.members, self.record.listed, new.path)
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
        raise InputError("pack-malformed", "this is no pack", where=where, fix=_FIX)
    found = list(zip_files(path, limits))
    members = {each.name: each for each in found}
    if len(members) < len(found) or FILE not in members:
        raise InputError("pack-malformed", f"two members have one name, or there is no {FILE}", where=where, fix=_FIX)
    record = PackRecord.from_bytes(read_member(members[FILE], limits.manifest_bytes), where)
    _require_listed(record, members, where)
    require_plausible(record.listed, file.size, limits, where)
    _require_whole(record, members, limits, where)
    return Pack(path, record, members)


@contextmanager
def unpacked(path: Path | str) -> Iterator[Path]:
    """Give the folder that a pack is unpacked in, once for all; a new one is removed again where the block refuses it."""
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
    remove_folder(folder)  # what is there was damaged: such folders appear as a whole
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
        raise InputError("pack-malformed", what, where=where, fix=_FIX)


def _require_whole(record: PackRecord, members: Mapping[str, InputFile], limits: Limits, where: str) -> None:
    """Refuse a pipeline that refers to anything but folders of its own pack."""
    if PIPELINE not in members:
        raise InputError("pack-malformed", f"there is no {PIPELINE}", where=where, fix=_FIX)
    try:
        values = json.loads(read_member(members[PIPELINE], limits.model_json_bytes))
        paths = list(_paths(values, _MAX_DEPTH))
    except (ValueError, RecursionError) as e:
        raise InputError("pack-malformed", f"{PIPELINE} is not valid JSON", where=where, fix=_FIX) from e
    folders = {name[:at] for name in record.files for at in range(len(name)) if name[at] == "/"}
    if not paths or any(not FILE_NAME.fullmatch(path) or path not in folders for path in paths):
        what = "the pipeline refers to something that is not in the pack"
        raise InputError("pack-malformed", what, where=where, fix=_FIX)


def _paths(value: Any, depth: int) -> Iterator[str]:
    """Yield the paths of all references: objects with a path and a digest."""
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        if "path" in value:
            yield str(value["path"])
        for each in value.values():
            yield from _paths(each, depth - 1)
    elif isinstance(value, list):
        for each in value:
            yield from _paths(each, depth - 1)
