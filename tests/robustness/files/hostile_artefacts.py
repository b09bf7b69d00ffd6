"""Knowledge bases forged by someone who knows the format: wrong pointers, manifests, headers and columns.

Unless a case is about digests, all digests are right, so that only validating the content can detect the forgery.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from tests.robustness.files.case import MB, Case

_TINY = """id\tname\tsynonyms\tdefinition\ttypes\txrefs
mesh:D009203\tMyocardial Infarction\tHeart attack|MI\tNecrosis of the myocardium.\tC14\tomim:608446
mesh:D005334\tFever\tPyrexia|Hyperthermia\t\tC23\t
mesh:D006973\tHypertension\tHigh blood pressure|MI\t\tC14\t
"""
Manifest = dict[str, Any]
Forge = Callable[[Path, Manifest], None]


def build_honest(folder: Path) -> tuple[Path, Path]:
    """Build a valid knowledge base; return its folder and the folder of its version."""
    (folder / "tiny.tsv").write_text(_TINY)
    recipe = Recipe(sources=(SourceConfig(path="tiny.tsv", name="tiny"),))
    build_kb(recipe, folder / "kb", root=folder)
    return folder / "kb", folder / "kb" / (folder / "kb" / "CURRENT").read_text().strip()


def _forge(forge: Forge, *, indent: int | None = 1) -> Callable[[Path], Path]:
    """Return a `make` function that changes a version and its manifest, and updates their digests and names."""

    def make(folder: Path) -> Path:
        kb, version = build_honest(folder)
        manifest = json.loads((version / "manifest.json").read_bytes())
        forge(version, manifest)
        data = json.dumps(manifest, sort_keys=True, indent=indent).encode() + b"\n"
        (version / "manifest.json").write_bytes(data)
        return _rename_version(kb, version, data)

    return make


def _rename_version(kb: Path, version: Path, manifest: bytes) -> Path:
    name = hashlib.sha256(manifest).hexdigest()[:16]
    version.rename(kb / name)
    (kb / "CURRENT").write_text(f"{name}\n")
    return kb


def _raw_manifest(change: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
    """Return a `make` function that changes the manifest's bytes and updates its digest."""

    def make(folder: Path) -> Path:
        kb, version = build_honest(folder)
        data = change((version / "manifest.json").read_bytes())
        (version / "manifest.json").write_bytes(data)
        return _rename_version(kb, version, data)

    return make


def _damage(damage: Callable[[Path, Path], object]) -> Callable[[Path], Path]:
    """Return a `make` function that changes files but not the manifest."""

    def make(folder: Path) -> Path:
        kb, version = build_honest(folder)
        damage(kb, version)
        return kb

    return make


def _seal(path: Path, manifest: Manifest) -> None:
    """Update the size and digest in a file's manifest entry."""
    data = path.read_bytes()
    entry = manifest["files"].setdefault(path.name, {"dtype": None, "length": None})
    entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _column(name: str, change: Callable[[Any], Any]) -> Forge:
    """Return a function that forges one column with consistent header, size and digest."""

    def forge(version: Path, manifest: Manifest) -> None:
        path = version / f"{name}.npy"
        values = np.ascontiguousarray(change(np.load(path)))
        np.save(path, values, allow_pickle=False)
        _seal(path, manifest)
        manifest["files"][path.name] |= {"dtype": values.dtype.str, "length": len(values)}

    return forge


def _swap_offsets(values: Any) -> Any:
    return np.concatenate([values[:1], values[1:-1][::-1], values[-1:]])


def _header(change: Callable[[bytes], bytes]) -> Forge:
    """Return a function that forges one column's header and updates its digest."""

    def forge(version: Path, manifest: Manifest) -> None:
        path = version / "term.name.npy"
        path.write_bytes(change(path.read_bytes()))
        _seal(path, manifest)

    return forge


def _replace_header(text: bytes) -> Callable[[bytes], bytes]:
    body = text.ljust(((len(text) + 10) // 64 + 1) * 64 - 11) + b"\n"
    return lambda data: b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body + data[128:]


def _object_column(version: Path, manifest: Manifest) -> None:
    _header(lambda data: data.replace(b"'<u4'", b"'|O' "))(version, manifest)
    manifest["files"]["term.name.npy"]["dtype"] = "|O"


def _huge_length(_: Path, manifest: Manifest) -> None:
    manifest["files"]["term.name.npy"] |= {"length": 2**62}


def _rename_entry(name: str) -> Forge:
    def forge(_: Path, manifest: Manifest) -> None:
        manifest["files"][name] = manifest["files"].pop("term.name.npy")

    return forge


def _special_column(make: Callable[[Path], object]) -> Forge:
    """Return a function that replaces the file of an empty column with something that is not a regular file."""

    def forge(version: Path, manifest: Manifest) -> None:
        path = version / "extra.npy"
        make(path)
        empty = hashlib.sha256(b"").hexdigest()
        manifest["files"][path.name] = {"bytes": 0, "sha256": empty, "dtype": "<u4", "length": 0}

    return forge


def _sparse(path: Path, size: int) -> None:
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def _set(key: str, value: object) -> Forge:
    return lambda _, manifest: manifest.update({key: value})


def _bad_report(version: Path, manifest: Manifest) -> None:
    (version / "report.json").write_bytes(b"[" * 100_000)
    _seal(version / "report.json", manifest)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _case(label: str, make: Callable[[Path], Path], code: str = "artefact-corrupt") -> Case:
    return Case(f"artefact {label}", code, make, act="open")


CASES = (
    _case("whose pointer climbs", _damage(lambda kb, _: (kb / "CURRENT").write_text("../../etc\n")), "artefact-missing"),
    _case("whose pointer is absolute", _damage(lambda kb, _: (kb / "CURRENT").write_text("/etc/passwd")), "artefact-missing"),
    _case("whose pointer is a pipe", _damage(lambda kb, _: _pipe(kb / "CURRENT")), "artefact-missing"),
    _case("whose pointer is 1 TB", _damage(lambda kb, _: _sparse(kb / "CURRENT", MB * MB)), "artefact-missing"),
    _case("whose pointer leads nowhere", _damage(lambda kb, _: (kb / "CURRENT").write_text("0" * 16))),
    _case("whose manifest is a pipe", _damage(lambda _, version: _pipe(version / "manifest.json"))),
    _case("whose manifest is 1 TB", _damage(lambda _, version: _sparse(version / "manifest.json", MB * MB))),
    _case("whose manifest was changed", _damage(lambda _, version: _flip(version / "manifest.json"))),
    _case("whose manifest is not JSON", _raw_manifest(lambda data: data[:-20])),
    _case("whose manifest is not UTF-8", _raw_manifest(lambda data: data.replace(b"onym-kb", b"\xff"))),
    _case("whose manifest nests deep", _raw_manifest(lambda data: data.replace(b'"merge": true', b'"a": ' + b"[" * 50_000))),
    _case("whose manifest is 100,000 brackets", _raw_manifest(lambda _: b"[" * 100_000)),
    _case("whose manifest is full of lists", _forge(lambda _, m: m["config"].update(a=[[]] * 600_000), indent=None)),
    _case("whose manifest is full of keys",
          _forge(lambda _, m: m["config"].update({f"{n:x}": {} for n in range(150_000)}), indent=None)),
    _case("with keys that nobody knows", _forge(_set("code", "import os"))),
    _case("with a count that is no number", _forge(_set("counts", {"names": "many"}))),
    _case("of another kind", _forge(_set("kind", "onym-trie")), "artefact-kind"),
    _case("of a later format", _forge(_set("format", 2**31)), "artefact-version"),
    _case("that names a file above it", _forge(_rename_entry("../x.npy"))),
    _case("that names an absolute file", _forge(_rename_entry("/etc/passwd"))),
    _case("that names a file by backslash", _forge(_rename_entry("..\\x.npy"))),
    _case("that names a hidden file", _forge(_rename_entry(".lock"))),
    _case("that names a file with NUL", _forge(_rename_entry("a\x00.npy"))),
    _case("with a huge length", _forge(_huge_length)),
    _case("with a column cut short", _damage(lambda _, version: os.truncate(version / "names.data.npy", 140))),
    _case("with a column of 1 TB", _damage(lambda _, version: _sparse(version / "names.data.npy", MB * MB))),
    _case("with a changed byte", _damage(lambda _, version: _flip(version / "names.data.npy"))),
    _case("with a column missing", _damage(lambda _, version: (version / "names.data.npy").unlink())),
    _case("without a column in its manifest", _forge(lambda _, m: m["files"].pop("names.data.npy"))),
    _case("with a pipe for a column", _forge(_special_column(os.mkfifo))),
    _case("with a link for a column", _forge(_special_column(lambda path: path.symlink_to("/dev/zero")))),
    _case("with a folder for a column", _damage(lambda _, version: _folder(version / "term.kind.npy"))),
    _case("with a column of objects", _forge(_object_column)),
    _case("with a header of another type", _forge(_header(lambda data: data.replace(b"'<u4'", b"'<f4'")))),
    _case("with a header of another shape", _forge(_header(lambda data: data.replace(b"False", b"True ")))),
    _case("with a header that nests deep", _forge(_header(_replace_header(b"(" * 2_000)))),
    _case("with a header of 60 kB", _forge(_header(_replace_header(b"{" + b" " * 60_000)))),
    _case("with a header that is code", _forge(_header(_replace_header(b"__import__('os').system('true')")))),
    _case("with a header that never closes", _forge(_header(_replace_header(b"{'descr': '<u4', 'shape': (10L,")))),
    _case("with a header of a later version", _forge(_header(lambda data: data.replace(b"\x01\x00", b"\x03\x00", 1)))),
    _case("with offsets that are not numbers", _forge(_column("names.offsets", lambda v: np.full(len(v), np.nan, "<f8")))),
    _case("with kinds that are not numbers", _forge(_column("term.kind", lambda v: np.full(len(v), np.nan, "<f4")))),
    _case("with offsets that do not ascend", _forge(_column("names.offsets", _swap_offsets))),
    _case("with offsets beyond the end", _forge(_column("names.offsets", lambda v: v + (v > 0).astype(v.dtype) * 1000))),
    _case("with negative values", _forge(_column("name.concepts.values", lambda v: -v.astype("<i4") - 1))),
    _case("with values beyond the table", _forge(_column("name.concepts.values", lambda v: v + np.uint32(2**31)))),
    _case("with terms beyond the table", _forge(_column("term.name", lambda v: v + np.uint32(2**31)))),
    _case("with kinds that nobody knows", _forge(_column("term.kind", lambda v: v + np.uint8(200)))),
    _case("with texts of two bytes", _forge(_column("names.data", lambda v: v.astype("<u2")))),
    _case("with texts that are not UTF-8", _forge(_column("names.data", lambda v: v | np.uint8(0x80)))),
    _case("with columns that do not fit", _forge(_column("term.kind", lambda v: v[:-1]))),
    _case("with a report that is no report", _forge(_bad_report)),
)  # fmt: skip
