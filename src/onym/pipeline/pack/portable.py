"""Files of a model without the paths of the machine that it was made on.

Training records name folders, such as that of the knowledge base. Of an absolute path, its last part stays.
Where such a record is part of an artefact, the manifest is made anew, and with it the name of the version.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from onym.errors import ConfigError
from onym.store.archive import Content
from onym.store.artefact.manifest import FileEntry, Manifest
from onym.store.model_settings import read_model_json, read_small

RECORDS = ("training.json", "tokenizer_config.json")
_SHAPE = "config.json"  # indexes are named by its digest: it cannot be changed
_MANIFEST, _POINTER = "manifest.json", "CURRENT"
_ABSOLUTE = re.compile(r"(?:~|[A-Za-z]:)?(?:[/\\][^/\\\n]+){2,}[/\\]?")


def portable_files(files: Mapping[str, Path]) -> dict[str, Content]:
    """Return the files of a folder by name, with records in which no path of a machine is left.

    >>> path = getfixture("tmp_path") / "training.json"
    >>> _ = path.write_text('{"kb": "/home/me/kbs/mesh"}')
    >>> json.loads(portable_files({"training.json": path})["training.json"])
    {'kb': 'mesh'}
    """
    found: dict[str, Content] = dict(files)
    for name, path in files.items():
        if PurePosixPath(name).name in (*RECORDS, _SHAPE):
            values = read_model_json(path)
            if (plain := _plain(values)) != values:
                _require_record(name, path)
                _replace(found, name, json.dumps(plain, indent=1, ensure_ascii=False).encode() + b"\n")
    return found


def _require_record(name: str, path: Path) -> None:
    if PurePosixPath(name).name == _SHAPE:
        fix = "take the path out of it, and build the pipeline again"
        raise ConfigError("pack-path", "the configuration of a model names a path of this machine", where=str(path), fix=fix)


def _plain(value: Any) -> Any:
    """Return a value of JSON with the last part of each absolute path in it."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str) and _ABSOLUTE.fullmatch(value):
        return PureWindowsPath(value).name  # it divides at both kinds of slashes
    return value


def _replace(files: dict[str, Content], name: str, data: bytes) -> None:
    """Put other bytes under a name; if that is a file of an artefact, its version is made anew."""
    files[name] = data
    version = PurePosixPath(name).parent
    manifest = files.get(str(version / _MANIFEST))
    if not isinstance(manifest, Path):
        return
    old = Manifest.from_bytes(read_small(manifest), str(manifest))
    entry = FileEntry(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    new = old.model_copy(update={"files": {**old.files, PurePosixPath(name).name: entry}})
    files[str(version / _MANIFEST)] = new.to_bytes()
    renamed = version.parent / new.digest()[:16]
    for each in [each for each in files if PurePosixPath(each).parent == version]:
        files[str(renamed / PurePosixPath(each).name)] = files.pop(each)
    files[str(version.parent / _POINTER)] = renamed.name.encode() + b"\n"
