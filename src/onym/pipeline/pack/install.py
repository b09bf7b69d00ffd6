"""Installing a pack: unpacked into the cache directory under a name, by which it is loaded from then on."""

from __future__ import annotations

from pathlib import Path

from onym.errors import ConfigError, OnymError
from onym.pipeline.folder import load
from onym.pipeline.pack.reading import EXTRA_MISSING, open_pack
from onym.pipeline.pack.record import PackRecord
from onym.pipeline.packs import NAME, STARTER, installed
from onym.store.output import remove_folder, replaced_folder


def install_pack(path: Path | str, name: str = "", *, force: bool = False) -> tuple[PackRecord, Path]:
    """Install a pack under its own name or another, open it once, and return its record and its folder.

    A pack that cannot be opened is not installed, except where only packages are missing that its parts need.
    """
    pack = open_pack(path)
    name = name or pack.record.name
    if not NAME.fullmatch(name) or name == STARTER:
        fix = "use lower-case letters, digits, - and _; the starter comes with Onym"
        raise ConfigError("config-invalid", f"a pipeline cannot be installed as {name!r}", fix=fix)
    folder = installed(name)
    if pack.is_unpacked(folder) and not force:
        return pack.record, folder
    if folder.exists() and not force:
        what, fix = "another pipeline of that name is installed", "name it with --name, or add --force"
        raise ConfigError("output-exists", what, where=str(folder), fix=fix)
    with replaced_folder(folder):
        pack.unpack(folder)
        _require_sound(folder)
    return pack.record, folder


def _require_sound(folder: Path) -> None:
    try:
        load(folder)
    except OnymError as e:
        if e.code != EXTRA_MISSING:
            remove_folder(folder)
            raise
