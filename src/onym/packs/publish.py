"""Publishes packs: as a folder for the Hugging Face Hub with a model card and results, or as a Python wheel.

Nothing is uploaded unless the user asks for it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.policy import EmailPolicy
from pathlib import Path
from types import MappingProxyType
from typing import Any

from onym.errors import ConfigError, InputError
from onym.packs.archive import CARD, FILE, LICENCES, Pack, PackRecord, open_pack
from onym.packs.card import pack_card
from onym.packs.locate import DATA, GROUP, PACK_ENDING
from onym.store.archive import ArchiveWriter, Content, WrittenMember, read_member, require_listed, unpack, whole_archive
from onym.store.files.input_file import InputFile
from onym.store.files.stream import read_regular
from onym.store.limits import MIB
from onym.store.output import require_file, require_folder, whole_folder


def require_publishable(record: PackRecord) -> None:
    """Raise ConfigError if a pack may not be redistributed."""
    if record.private or record.restricted:
        why = f": {', '.join(record.restricted)}" if record.restricted else ""
        what = f"the pack is private and may not be redistributed{why}"
        raise ConfigError("pack-private", what, where=record.name, fix="build it without this content and without --private")
    if unstated := record.sources_without_licence:
        what = f"no licence is stated for {', '.join(unstated)}"
        fix = f'build the pack with --licence "{unstated[0]}=..."'
        raise ConfigError("pack-licence", what, where=record.name, fix=fix)


def write_hub_folder(
    path: Path | str, folder: Path | str, *, results: Sequence[dict[str, Any]] = (), force: bool = False
) -> PackRecord:
    """Write the Hub folder of a pack; `results` are entries of its `model-index`. Private packs are rejected."""
    require_folder(Path(folder), force=force)
    pack = open_pack(path)
    require_publishable(pack.record)
    page = pack_card(pack.record, pack.config, results).encode()
    whole = InputFile.from_path(pack.path)
    with whole_folder(Path(folder), force=force) as new:
        with new.file(CARD) as file:
            file.write(page)
        unpack(pack.members, {LICENCES: pack.record.files_by_path[LICENCES]}, new.path)
        unpack({_name(pack): whole}, {_name(pack): WrittenMember(whole.size, whole.digest())}, new.path)
    return pack.record


def _name(pack: Pack) -> str:
    return f"{pack.record.name}{PACK_ENDING}"


_MAX_BYTES = 16 * MIB  # maximum size of a results file
_METRICS = {
    "strict_f1": ("f1", "strict F1, span and concept"),
    "strict_p": ("precision", "strict precision"),
    "strict_r": ("recall", "strict recall"),
    "document_f1": ("f1", "F1 of the concepts of a document"),
    "any_id_r1": ("accuracy", "recall@1 of annotated mentions, any id"),
    "strict_r1": ("accuracy", "recall@1 of annotated mentions, strict"),
}


def read_results(path: Path, keys: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Read a results file and return its rows as `model-index` entries; with `keys`, only the rows with these keys."""
    try:
        rows = _require_list(json.loads(read_regular(path, _MAX_BYTES)))
        found = [_entry(row) for row in rows if not keys or row["row"] in keys]
        known = {str(row.get("row", "")) for row in rows}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as e:
        what = "not a list of rows with a dataset, a split and figures"
        raise InputError(
            "results-malformed", what, where=str(path), fix="give a results file such as results/.../rows.json"
        ) from e
    if missing := [key for key in keys if key not in known]:
        raise ConfigError(
            "config-invalid", f"there is no row {missing[0]!r}", where=str(path), fix="use a value of `row` in this file"
        )
    return [entry for entry in found if entry["metrics"]]


def _require_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    dataset, split = str(row["dataset"]), str(row["split"])
    return {
        "task": {"type": "token-classification", "name": "Entity linking"},
        "dataset": {"type": dataset, "name": dataset, "split": split},
        "metrics": [
            {"type": kind, "name": name, "value": _number(row["figures"][key])}
            for key, (kind, name) in _METRICS.items()
            if key in row["figures"]
        ],
    }


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


_PREFIX = "onym-pack"
_MODULE = '''"""The Onym pack {name} {version}. Its files are in the folder `{data}`; `onym.load("{name}")` opens it too."""

from pathlib import Path

__version__ = "{version}"


def load():
    """Open the pipeline."""
    import onym

    return onym.load(Path(__file__).parent / "{data}")
'''
_TAG = "py3-none-any"
_WHEEL = MappingProxyType({"Wheel-Version": "1.0", "Root-Is-Purelib": "true", "Tag": _TAG})
_CARD_BYTES = 2_000_000  # maximum size of the card in bytes


def write_wheel(path: Path | str, folder: Path | str, *, force: bool = False) -> Path:
    """Write the wheel of a pack to a folder and return its path. Packs that may not be redistributed are rejected."""
    require_wheel_folder(Path(folder))
    pack = open_pack(path)
    require_publishable(pack.record)
    wheel = Path(folder) / wheel_name(pack.record)
    require_file(wheel, force=force)
    with whole_archive(wheel, force=force) as archive:
        _write(archive, pack)
    return wheel


def require_wheel_folder(folder: Path) -> None:
    """Raise ConfigError if no wheel can be written to the folder."""
    require_file(folder / f"{_PREFIX}.whl", force=True)


def wheel_name(record: PackRecord) -> str:
    """Return the file name of the wheel (PEP 427)."""
    return f"{_module(record)}-{record.version}-{_TAG}.whl"


def _write(archive: ArchiveWriter, pack: Pack) -> None:
    record, module = pack.record, _module(pack.record)
    data = f"{module}/{DATA}"
    info = f"{module}-{record.version}.dist-info"
    card = read_member(pack.members[CARD], _CARD_BYTES)
    written: dict[str, WrittenMember] = {}

    def add(name: str, content: Content) -> None:
        written[name] = archive.add(name, content)

    add(f"{module}/__init__.py", _MODULE.format(name=record.name, version=record.version, data=DATA).encode())
    for name, expected in record.files_by_path.items():
        add(f"{data}/{name}", pack.members[name])
        require_listed(written[f"{data}/{name}"], expected, name)
    add(f"{data}/{FILE}", record.to_bytes())
    add(f"{info}/METADATA", _header(_metadata(record)) + card.decode("utf-8", "replace").encode())
    add(f"{info}/WHEEL", _header({**_WHEEL, "Generator": f"onym {record.onym}"}))
    add(f"{info}/entry_points.txt", f"[{GROUP}]\n{record.name} = {module}\n".encode())
    rows = [f"{name},sha256={_encode_digest(each.sha256)},{each.bytes}" for name, each in written.items()]
    archive.add(f"{info}/RECORD", "".join(f"{row}\n" for row in (*rows, f"{info}/RECORD,,")).encode())


def _metadata(record: PackRecord) -> dict[str, str]:
    return {
        "Metadata-Version": "2.1",
        "Name": f"{_PREFIX}-{record.name}",
        "Version": record.version,
        "Summary": f"A pipeline of Onym for biomedical entity linking: {record.name}",
        "License": "see LICENSE.md of the pack",
        "Requires-Python": ">=3.11",
        "Requires-Dist": f"onym>={record.onym}",
        "Description-Content-Type": "text/markdown",
    }


def _header(fields: Mapping[str, str]) -> bytes:
    """Return the header fields followed by an empty line; raise ValueError if a value contains a line break."""
    message = EmailMessage(EmailPolicy(max_line_length=None, utf8=True))
    for name, value in fields.items():
        message[name] = value
    return message.as_bytes()


def _module(record: PackRecord) -> str:
    return f"{_PREFIX}-{record.name}".replace("-", "_")


def _encode_digest(sha256: str) -> str:
    """Encode a SHA-256 as in the RECORD file of a wheel (URL-safe base64 without padding)."""
    return base64.urlsafe_b64encode(bytes.fromhex(sha256)).rstrip(b"=").decode()
