"""A pack as a wheel: `pip install` puts its folder next to other packages, and `onym.load(NAME)` finds it there.

The package has an entry point in the group `onym.packs`, which names it. To find and to load the pack, none of its code is run.
The same pack gives the same bytes.
"""

from __future__ import annotations

import base64
from pathlib import Path

from onym.pipeline.pack.publishing import require_publishable
from onym.pipeline.pack.reading import Pack, open_pack
from onym.pipeline.pack.record import CARD, FILE, PackRecord
from onym.pipeline.packs import DATA, GROUP
from onym.store.archive import ArchiveWriter, Content, Written, whole_archive
from onym.store.output_path import require_file
from onym.store.unpacking import read_member, require_listed

_PREFIX = "onym-pack"
_MODULE = '''"""The pack {name} {version} for Onym. Its data is the folder `{data}`; `onym.load("{name}")` opens it as well."""

from pathlib import Path

__version__ = "{version}"


def load():
    """Open the pipeline."""
    import onym

    return onym.load(Path(__file__).parent / "{data}")
'''
_TAG = "py3-none-any"
_CARD_BYTES = 2_000_000


def write_wheel(path: Path | str, folder: Path | str, *, force: bool = False) -> Path:
    """Write the wheel of a pack into a folder, and return its path. What may not be passed on is refused."""
    require_wheel_folder(Path(folder))
    pack = open_pack(path)
    require_publishable(pack.record)
    wheel = Path(folder) / wheel_name(pack.record)
    require_file(wheel, force=force)
    with whole_archive(wheel, force=force) as archive:
        _write(archive, pack)
    return wheel


def require_wheel_folder(folder: Path) -> None:
    """Refuse a folder that no wheel can be written to."""
    require_file(folder / f"{_PREFIX}.whl", force=True)


def wheel_name(record: PackRecord) -> str:
    """Return the name of the file of a wheel, as the specification of wheels has it."""
    return f"{_module(record)}-{record.version}-{_TAG}.whl"


def _write(archive: ArchiveWriter, pack: Pack) -> None:
    record, module = pack.record, _module(pack.record)
    data = f"{module}/{DATA}"
    info = f"{module}-{record.version}.dist-info"
    card = read_member(pack.members[CARD], _CARD_BYTES).decode("utf-8", "replace")
    written: dict[str, Written] = {}

    def add(name: str, content: Content) -> None:
        written[name] = archive.add(name, content)

    add(f"{module}/__init__.py", _MODULE.format(name=record.name, version=record.version, data=DATA).encode())
    for name, expected in record.listed.items():
        add(f"{data}/{name}", pack.members[name])
        require_listed(written[f"{data}/{name}"], expected, name)
    add(f"{data}/{FILE}", record.to_bytes())
    add(f"{info}/METADATA", _metadata(record, card).encode())
    add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: onym {record.onym}\nRoot-Is-Purelib: true\nTag: {_TAG}\n".encode())
    add(f"{info}/entry_points.txt", f"[{GROUP}]\n{record.name} = {module}\n".encode())
    rows = [f"{name},sha256={_encoded(each.sha256)},{each.bytes}" for name, each in written.items()]
    archive.add(f"{info}/RECORD", "".join(f"{row}\n" for row in (*rows, f"{info}/RECORD,,")).encode())


def _metadata(record: PackRecord, card: str) -> str:
    lines = (
        "Metadata-Version: 2.1",
        f"Name: {_PREFIX}-{record.name}",
        f"Version: {record.version}",
        f"Summary: A pipeline of Onym for biomedical entity linking: {record.name}",
        "License: see LICENSE.md of the pack",
        "Requires-Python: >=3.11",
        f"Requires-Dist: onym>={record.onym}",
        "Description-Content-Type: text/markdown",
        "",
        card,
    )
    return "\n".join(lines)


def _module(record: PackRecord) -> str:
    return f"{_PREFIX}-{record.name}".replace("-", "_")


def _encoded(sha256: str) -> str:
    """Return a digest as the list of a wheel has it."""
    return base64.urlsafe_b64encode(bytes.fromhex(sha256)).rstrip(b"=").decode()
