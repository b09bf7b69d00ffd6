"""A pack as a folder for Hugging Face's hub, with a model card and measured figures, or as a Python wheel.

Nothing leaves this machine unless a person asks for the upload.
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
    """Refuse a pack that may not be passed on as a package or on a hub."""
    if record.private or record.restricted:
        why = f": {', '.join(record.restricted)}" if record.restricted else ""
        what = f"the pack is private, and may not be passed on{why}"
        raise ConfigError("pack-private", what, where=record.name, fix="build a pack without this, and without --private")
    if unstated := record.sources_without_licence:
        what = f"nobody has stated the licence of {', '.join(unstated)}"
        fix = f'build the pack with --licence "{unstated[0]}=..."'
        raise ConfigError("pack-licence", what, where=record.name, fix=fix)


def write_hub_folder(
    path: Path | str, folder: Path | str, *, results: Sequence[dict[str, Any]] = (), force: bool = False
) -> PackRecord:
    """Write the folder of a pack for the hub; `results` are entries of its `model-index`. What is private is refused."""
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


_MAX_BYTES = 16 * MIB
_METRICS = {
    "strict_f1": ("f1", "strict F1, span and concept"),
    "strict_p": ("precision", "strict precision"),
    "strict_r": ("recall", "strict recall"),
    "document_f1": ("f1", "F1 of the concepts of a document"),
    "any_id_r1": ("accuracy", "recall@1 of annotated mentions, any id"),
    "strict_r1": ("accuracy", "recall@1 of annotated mentions, strict"),
}


def read_results(path: Path, keys: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return rows of a file of results as a `model-index` has them: those with these keys, or all."""
    try:
        rows = _require_list(json.loads(read_regular(path, _MAX_BYTES)))
        found = [_entry(row) for row in rows if not keys or row["row"] in keys]
        known = {str(row.get("row", "")) for row in rows}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as e:
        what = "not a list of rows with a dataset, a split and figures"
        raise InputError("results-malformed", what, where=str(path), fix="name a rows.json as in results/") from e
    if missing := [key for key in keys if key not in known]:
        raise ConfigError("config-invalid", f"there is no row {missing[0]!r}", where=str(path), fix="see its keys `row`")
    return [entry for entry in found if entry["metrics"]]


def _require_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("no list")
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
        raise ValueError("no number")
    return value


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
_WHEEL = MappingProxyType({"Wheel-Version": "1.0", "Root-Is-Purelib": "true", "Tag": _TAG})
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
    """Return header fields and the empty line after them; a line break in a value raises ValueError."""
    message = EmailMessage(EmailPolicy(max_line_length=None, utf8=True))
    for name, value in fields.items():
        message[name] = value
    return message.as_bytes()


def _module(record: PackRecord) -> str:
    return f"{_PREFIX}-{record.name}".replace("-", "_")


def _encode_digest(sha256: str) -> str:
    """Return a digest as the list of a wheel has it."""
    return base64.urlsafe_b64encode(bytes.fromhex(sha256)).rstrip(b"=").decode()
