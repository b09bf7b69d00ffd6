"""Packs: a pipeline, its knowledge base, models, indexes, card and licences in one file, `NAME.onymp`.

A pack is a zip archive with a `pack.json` that lists its files with sizes and digests. It is verified before anything is
unpacked, and is unpacked once, into the cache directory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.packs.archive import open_pack
    from onym.packs.build import build_pack
    from onym.packs.install import install_pack
    from onym.packs.locate import load
    from onym.packs.publish import write_hub_folder, write_wheel

__all__ = ["build_pack", "install_pack", "load", "open_pack", "write_hub_folder", "write_wheel"]
__getattr__ = lazy(
    __name__,
    {
        "build_pack": "onym.packs.build",
        "install_pack": "onym.packs.install",
        "load": "onym.packs.locate",
        "open_pack": "onym.packs.archive",
        "write_hub_folder": "onym.packs.publish",
        "write_wheel": "onym.packs.publish",
    },
)
