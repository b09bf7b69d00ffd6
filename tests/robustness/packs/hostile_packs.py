"""Hostile packs: a small real pack, changed in many ways. Each must be rejected with an error code and leave no files behind.

In cases named `listed`, the record was rebuilt so that names, sizes and digests match, and only validating the content can
detect the attack.
"""

from __future__ import annotations

import io
import json
import os
import random
import stat
import struct
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any
from unittest.mock import patch

import onym
from onym.errors import InternalError, OnymError
from onym.kb import Recipe, build_kb
from onym.methods import linker_config
from onym.packs import build_pack
from onym.pipeline import build_pipeline
from tests.support.models import save_reranker

SEED = 7
TEXT = "A heart attack, and high blood pressure; no fever."
_TABLE = (
    "id\tname\tsynonyms\nmesh:D009203\tMyocardial Infarction\tHeart attack|MI\nmesh:D005334\tFever\tPyrexia\n"
    "mesh:D006973\tHypertension\tHigh blood pressure\n"
)
_RECORD, _PIPELINE, _CARD = "pack.json", "pipeline.json", "README.md"
_MIB = 1_048_576
_NAMES = (
    *("../evil", "../../evil.json", "/tmp/evil", "//evil", "a/../../evil", "a/..", "..", "."),
    *("..\\evil", "a\\..\\..\\evil", "C:\\evil", "C:/evil", "C:evil", "\\\\server\\evil", "~/.bashrc", "$HOME/evil"),
    *("a//b", "./a", "a/./b", ".hidden", "a/.hidden", " ", "a b", "-rf", "%2e%2e/evil", "a\nb", "a\rb", "a\tb"),
    *("\u00fc.json", "a\u202eb", "\uff0e\uff0e/evil", "con:aux", "a*", "a?b", "a|b", "<a>", "x" * 300, "a/" * 120 + "b"),
    *("readme.md", "README.MD", "Pipeline.json", "README.md/x", "knowledge-base", "pack.json/x", "models"),
)


@dataclass(frozen=True)
class Hostile:
    """A hostile pack, and what is wrong with it."""

    what: str
    data: bytes


def small_pack(folder: Path) -> Path:
    """Build a pack of three concepts with a dictionary detector and a reranker."""
    folder.mkdir()
    (folder / "terms.tsv").write_text(_TABLE)
    build_kb(Recipe.of({"sources": [{"path": "terms.tsv", "name": "terms"}]}), folder / "kb", root=folder)
    record = {"corpora": [{"name": "terms", "licence": "CC0", "documents": 1}]}
    save_reranker(folder / "reranker", record, {"heart attack": "mesh:D009203"})
    linker = linker_config("rerank", model=str(folder / "reranker"))
    build_pipeline(folder / "kb", folder / "pipeline", linker=linker)
    build_pack(folder / "pipeline", folder / "small.onymp", licences={"terms": "CC0"})
    return folder / "small.onymp"


def hostile_packs(good: Path) -> list[Hostile]:
    """Return all hostile packs derived from a valid one."""
    made = Made(good)
    found = [
        *_files(made),
        *_names(made),
        *_links(made),
        *_doubles(made),
        *_bombs(made),
        *_lists(made),
        *_contents(made),
        *_records(made),
        *_pipelines(made),
        *packs_with_outside_models(made),
        *_iter_forged(made),
        *_iter_torn(made),
    ]
    if len({each.data for each in found}) != len(found) or any(each.data == made.data for each in found):
        raise ValueError("two hostile packs are identical, or one equals the valid pack")
    return found


class Made:
    """The parts of a valid pack, from which hostile ones are assembled."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.outside = path.parent / "reranker"
        with zipfile.ZipFile(path) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist() if name != _RECORD}
            self.record: dict[str, Any] = json.loads(archive.read(_RECORD))

    def pack(self, files: dict[str, bytes] | None = None, record: bytes | dict[str, Any] | None = None) -> bytes:
        """Return an archive of files with a record; both default to the valid ones."""
        files = self.files if files is None else files
        record = self.record if record is None else record
        return write_zip([*files.items(), (_RECORD, record if isinstance(record, bytes) else write_record(record))])

    def pack_listed(self, files: dict[str, bytes]) -> bytes:
        """Return a pack of files with a matching record."""
        return self.pack(files, self.listing(files))

    def listing(self, files: dict[str, bytes]) -> dict[str, Any]:
        entries = {name: {"bytes": len(data), "sha256": sha256(data).hexdigest()} for name, data in files.items()}
        return {**self.record, "files": entries}

    def with_pipeline(self, data: bytes | dict[str, Any]) -> bytes:
        """Return a pack with another pipeline and a matching record."""
        return self.pack_listed({**self.files, _PIPELINE: data if isinstance(data, bytes) else json.dumps(data).encode()})

    @property
    def pipeline(self) -> dict[str, Any]:
        """A copy of the pipeline's configuration, to be modified."""
        found: dict[str, Any] = json.loads(self.files[_PIPELINE])
        return found


def write_record(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, indent=1, ensure_ascii=True).encode() + b"\n"


def write_zip(members: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            info.compress_type = method
            archive.writestr(info, data)
    return out.getvalue()


def _files(made: Made) -> Iterator[Hostile]:
    """Yield files that are not packs."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("pack.json"), io.BytesIO())
    yield from (
        Hostile("an empty file", b""),
        Hostile("text", b"pack me\n"),
        Hostile("JSON", write_record(made.record)),
        Hostile("a tar archive", out.getvalue()),
        Hostile("four bytes", b"PK\x03\x04"),
        Hostile("an empty archive", write_zip([])),
        Hostile("only a record", made.pack({})),
        Hostile("a program before the archive", b"#!/bin/sh\n" + made.data),
        Hostile("without its end", made.data[:-22]),
    )
    for name, method in (("bzip2", zipfile.ZIP_BZIP2), ("lzma", zipfile.ZIP_LZMA)):
        members = [*made.files.items(), (_RECORD, write_record(made.record))]
        yield Hostile(f"packed by {name}", write_zip(list(members), method))
    encrypted = bytearray(made.data)
    at = encrypted.rfind(b"PK\x01\x02")
    while at >= 0:
        encrypted[at + 8] |= 1
        at = encrypted.rfind(b"PK\x01\x02", 0, at)
    yield Hostile("encrypted", bytes(encrypted))


def _names(made: Made) -> Iterator[Hostile]:
    """Yield packs with file names that escape the folder or have a special meaning on some systems."""
    for name in _NAMES:
        files = {**made.files, name: b"evil"}
        yield Hostile(f"a file {name[:40]!r}", made.pack(files))
        yield Hostile(f"a file {name[:40]!r}, listed", made.pack_listed(files))


def _links(made: Made) -> Iterator[Hostile]:
    """Yield packs with links to files outside, and with a link in place of a file."""
    for target in ("/etc/passwd", "../../../etc/passwd", "pipeline.json"):
        for name in ("link", _CARD):
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            files = {**made.files, name: target.encode()}
            members = [(info if each == name else each, data) for each, data in files.items()]
            yield Hostile(f"{name} is a link to {target}", write_zip([*members, (_RECORD, write_record(made.listing(files)))]))


def _doubles(made: Made) -> Iterator[Hostile]:
    """Yield packs with two members of the same name, since programs differ in which one they read."""
    whole = [*made.files.items(), (_RECORD, write_record(made.record))]
    for name, data in (
        (_RECORD, write_record(made.record)),
        (_RECORD, b"{}"),
        (_PIPELINE, made.files[_PIPELINE]),
        (_CARD, b"x"),
    ):
        for members in ([*whole, (name, data)], [(name, data), *whole]):
            yield Hostile(f"{name} twice", _with_doubles(members))


def _with_doubles(members: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, data) in enumerate(members):
            info = zipfile.ZipInfo(name, (1980 + number % 100, 1, 1, 0, 0, 0))
            archive.NameToInfo.pop(name, None)  # makes zipfile forget the name, to avoid its warning about duplicates
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _bombs(made: Made) -> Iterator[Hostile]:
    """Yield decompression bombs."""
    zeros = bytes(32 * _MIB)
    yield Hostile("32 MiB of zeros", made.pack({**made.files, "zeros": zeros}))
    yield Hostile("32 MiB of zeros, listed", made.pack_listed({**made.files, "zeros": zeros}))
    many = {f"zeros-{number}": bytes(4 * _MIB) for number in range(24)}
    yield Hostile("24 files of 4 MiB of zeros, listed", made.pack_listed({**made.files, **many}))
    listing = made.listing({**made.files, "zeros": bytes(_MIB)})
    bomb = made.pack({**made.files, "zeros": zeros}, listing)
    yield Hostile("32 MiB of zeros that are said to be 1", _with_size(bomb, b"zeros", _MIB))
    record = made.record["files"] | {"names.npy": {"bytes": 2**62, "sha256": "0" * 64}}
    yield Hostile("a file that is said to have 2**62 bytes", made.pack(record={**made.record, "files": record}))
    shared = write_zip([("a", b"x" * 10_000), ("b", b"y"), (_RECORD, b"{}")])
    yield Hostile("members that share their bytes", _with_offset(shared, b"b", 0))
    record = made.record["files"] | {f"file-{number}": {"bytes": 0, "sha256": "0" * 64} for number in range(20_000)}
    yield Hostile("20,000 files that are not there", made.pack(record={**made.record, "files": record}))
    many = {f"file-{number}": b"" for number in range(10_100)}
    yield Hostile("10,100 files, listed", made.pack_listed({**made.files, **many}))


def _with_size(data: bytes, name: bytes, size: int) -> bytes:
    """Return an archive whose directory gives a wrong size for a member."""
    changed = bytearray(data)
    at = _entry(data, name)
    changed[at + 24 : at + 28] = struct.pack("<I", size)
    return bytes(changed)


def _with_offset(data: bytes, name: bytes, offset: int) -> bytes:
    """Return an archive whose directory gives a wrong offset for a member."""
    changed = bytearray(data)
    at = _entry(data, name)
    changed[at + 42 : at + 46] = struct.pack("<I", offset)
    return bytes(changed)


def _entry(data: bytes, name: bytes) -> int:
    """Return the offset of a member's directory entry."""
    at = data.find(b"PK\x01\x02")
    while data[at + 46 : at + 46 + struct.unpack_from("<H", data, at + 28)[0]] != name:
        at = data.find(b"PK\x01\x02", at + 1)
    return at


def _lists(made: Made) -> Iterator[Hostile]:
    """Yield packs whose members differ from the record."""
    for name in made.files:
        yield Hostile(f"without {name}", made.pack({each: data for each, data in made.files.items() if each != name}))
    yield Hostile("with a file more", made.pack({**made.files, "more.txt": b"more"}))
    for name in (_PIPELINE, _CARD, "LICENSE.md"):
        files = {each: data for each, data in made.files.items() if each != name}
        yield Hostile(f"without {name}, listed", made.pack_listed(files))


def _contents(made: Made) -> Iterator[Hostile]:
    """Yield packs with a file whose content differs from the record."""
    for name, data in made.files.items():
        changed = bytes([data[0] ^ 1]) + data[1:]
        yield Hostile(f"another {name}", made.pack({**made.files, name: changed}))
        entry = {**made.record["files"][name], "sha256": sha256(b"other").hexdigest()}
        files = {**made.record["files"], name: entry}
        yield Hostile(f"another digest of {name}", made.pack(record={**made.record, "files": files}))
    longer = {**made.files, _CARD: made.files[_CARD] + b"more"}
    yield Hostile("a longer card", made.pack(longer))


def _records(made: Made) -> Iterator[Hostile]:
    """Yield packs with an invalid record."""
    record = made.record
    for what in (b"", b"null", b"[]", b"1", b'"pack"', b"{}", b"{", b"\xff\xfe{}", b"[" * 100_000, b'{"a":' * 50_000):
        yield Hostile(f"the record {what[:10]!r}", made.pack(record=what))
    yield Hostile("a record with a byte order mark", made.pack(record=b"\xef\xbb\xbf" + write_record(record)))
    yield Hostile("a record in UTF-16", made.pack(record=write_record(record).decode().encode("utf-16")))
    yield Hostile("a record of 3 MB", made.pack(record=write_record(record) + b" " * 3_000_000))
    yield Hostile("a record on one line", made.pack(record=json.dumps(record).encode()))
    yield Hostile("a key twice", made.pack(record=write_record(record).replace(b'"private"', b'"private": true,\n "private"')))
    for version in (2, 99, 0, -1, 10**30, "1", 1.0, 1.5, True, None, [1]):
        yield Hostile(f"schema {version!r}", made.pack(record={**record, "schema_version": version}))
    for key in record:
        yield Hostile(f"without {key}", made.pack(record={each: value for each, value in record.items() if each != key}))
    odd: list[tuple[str, Any]] = [
        ("name", "../evil"), ("name", ""), ("name", "A"), ("name", "a" * 65), ("name", "a\n"), ("version", "1; rm"),
        ("version", ""), ("version", "1.0\n"), ("private", "no"), ("private", 0), ("kind", "onym-kb"), ("onym", 1),
        ("onym", "0.1\nRequires-Dist: six==1.17.0\nX: y"), ("onym", "0.1; six"), ("restricted", ["UMLS\x1b[2J"]),
        ("sources", [{**record["sources"][0], "licence": "CC0\u2028"}]), ("sources", [{**record["sources"][0], "name": "a\n"}]),
        ("corpora", [{**record["corpora"][0], "name": "a\rb"}]),
        ("restricted", "UMLS"), ("sources", {}), ("corpora", None), ("files", []), ("files", {}), ("more", 1),
        ("kb", {}), ("kb", {**record["kb"], "digest": "../"}), ("kb", {**record["kb"], "names": -1}),
    ]  # fmt: skip
    for key, value in odd:
        yield Hostile(f"{key} {str(value)[:40]!r}", made.pack(record={**record, key: value}))
    for key, value in (("bytes", -1), ("bytes", 1.5), ("bytes", "1"), ("sha256", "A" * 64), ("sha256", ""), ("mode", 511)):
        files = {**record["files"], _CARD: {**record["files"][_CARD], key: value}}
        yield Hostile(f"a file with {key} {value!r}", made.pack(record={**record, "files": files}))


def _pipelines(made: Made) -> Iterator[Hostile]:
    """Yield packs whose pipeline is invalid or refers to paths outside the pack."""
    for path in (
        "/etc",
        "../kb",
        "knowledge-base/../..",
        "nowhere",
        "",
        ".",
        "knowledge-base/",
        "./knowledge-base",
        "~",
        "README.md",
    ):
        yield Hostile(f"the knowledge base {path!r}", made.with_pipeline(_change_value(made.pipeline, ("kb", "path"), path)))
    for data in (b"", b"null", b"[]", b"{}", b"{", b"[" * 100_000, b'{"kb": {"path": "knowledge-base"}}', b" " * 5_000_000):
        yield Hostile(f"the pipeline {data[:20]!r}", made.with_pipeline(data))
    for keys, value in (
        (("format",), 3), (("format",), "2"), (("kb", "digest"), "0" * 16), (("linker", "model", "digest"), "0" * 16),
        (("linker", "kind"), "oracle"), (("linker", "kind"), "os.system"), (("detector", "kind"), "../evil"), (("more",), 1),
        (("types",), ["nothing"]), (("prefer",), ["nothing"]), (("top_k",), 0), (("plug_ins",), [
            {"kind": "linker", "name": "evil", "package": "evil", "version": "1"}]),
    ):  # fmt: skip
        yield Hostile(f"{'.'.join(keys)} {value!r}", made.with_pipeline(_change_value(made.pipeline, keys, value)))


def packs_with_outside_models(made: Made) -> Iterator[Hostile]:
    """Yield packs that refer to a model outside the pack. The model is a copy of the packed one, so only its path is wrong."""
    absolute = str(made.outside.resolve())
    upwards = "../" * 40 + absolute.lstrip("/")
    inside = made.pipeline["linker"]["model"]["path"]
    paths = (
        *(absolute, upwards, f"{inside}/{upwards}", absolute.replace("/", "\\"), f"C:{absolute}", f"file://{absolute}"),
        *("", ".", "./", "..", "~", "nowhere", _CARD, f"{inside}/training.json"),
        *(inside.replace("/", "\\"), f"./{inside}", f"{inside}/", f"/{inside}"),
    )
    for path in paths:
        for what, keys, value in (
            ("the reranker", ("linker", "model"), path),
            ("the reranker with its digest", ("linker", "model"), {**made.pipeline["linker"]["model"], "path": path}),
            ("the encoder in the reranker", ("linker", "dense"), {"kind": "dense", "model": path}),
            ("the classifier", ("detector", "classifier"), path),
            ("a dense linker", ("linker",), {"kind": "dense", "model": path}),
            ("a linker in a cascade", ("linker",), {"kind": "cascade", "rerank": {"kind": "rerank", "model": path}}),
            ("a tokenizer", ("linker",), {"kind": "generative", "model": inside, "tokenizer": path}),
        ):
            yield Hostile(f"{what} {path[:40]!r}", made.with_pipeline(_change_value(made.pipeline, keys, value)))
    info = zipfile.ZipInfo("models/link")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    values = json.dumps(_change_value(made.pipeline, ("linker", "model"), info.filename)).encode()
    files = {**made.files, _PIPELINE: values, info.filename: absolute.encode()}
    members = [(info if name == info.filename else name, data) for name, data in files.items()]
    yield Hostile("the reranker is a link", write_zip([*members, (_RECORD, write_record(made.listing(files)))]))


def _change_value(values: dict[str, Any], keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = keys
    return {**values, first: _change_value(values[first], tuple(rest), value) if rest else value}


def _iter_forged(made: Made) -> Iterator[Hostile]:
    """Yield packs with a damaged artefact and a record that matches it."""
    for name in made.files:
        if not name.startswith(("knowledge-base/", "models/")):
            continue
        data = made.files[name]
        yield Hostile(f"{name} cut short, listed", made.pack_listed({**made.files, name: data[: len(data) // 2]}))
        if name.endswith(("CURRENT", "manifest.json")):
            yield Hostile(f"{name} of zeros, listed", made.pack_listed({**made.files, name: bytes(len(data))}))
    for name in (each for each in made.files if each.endswith("CURRENT")):
        for pointer in (b"../../../../etc\n", b"0" * 16 + b"\n", b""):
            yield Hostile(f"{name} {pointer!r}, listed", made.pack_listed({**made.files, name: pointer}))


def _iter_torn(made: Made) -> Iterator[Hostile]:
    """Yield truncated packs, and packs with one flipped bit in a member's data."""
    for part in range(1, 20):
        yield Hostile(f"{part} of 20 parts", made.data[: len(made.data) * part // 20])
    rng = random.Random(SEED)
    with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
        spans = [
            (info.header_offset + 30 + len(info.filename), info.compress_size, info.filename) for info in archive.infolist()
        ]
    for start, size, name in spans:
        if size:
            # flip a bit in the first half: the last bits of deflated data may be padding
            changed = bytearray(made.data)
            changed[start + rng.randrange((size + 1) // 2)] ^= 1 << rng.randrange(8)
            yield Hostile(f"a changed bit in {name}", bytes(changed))


# Checks that hostile packs are rejected with an error code and leave no files in or outside the cache directory.

_EXPECTED = ["mesh:D009203", "mesh:D006973", "mesh:D005334"]


def count_refused(cases: Sequence[Hostile], good: Path, folder: Path) -> int:
    """Return how many packs were rejected and left no files; name the others on stderr.

    Fails unless the valid pack is accepted before and after the hostile ones.
    """
    folder.mkdir()
    count = 0
    _require_accepted(good, folder.with_name("accepted-before"))
    before = _find_leftovers(folder)
    with patch.dict(os.environ, ONYM_CACHE=str(folder / "cache")):
        for number, case in enumerate(cases):
            path = folder / f"{number}.onymp"
            path.write_bytes(case.data)
            answer = _answer(path)
            path.unlink()
            left = _find_leftovers(folder) - before
            if answer or left:
                print(f"{case.what}: {answer or f'left {sorted(left)[:3]}'}", file=sys.stderr)
                rmtree(folder / "cache" / "packs", ignore_errors=True)
            else:
                count += 1
    _require_accepted(good, folder / "cache")
    return count


def _answer(path: Path) -> str:
    """Return what went wrong with a pack, or an empty string if it was rejected properly."""
    try:
        onym.load(path).link(TEXT)
    except InternalError as e:
        return f"[{e.code}] {e.what}"
    except OnymError:
        return ""
    except BaseException as e:  # any other exception counts as a defect
        return f"{type(e).__name__}: {e}"
    return "accepted"


def _find_leftovers(folder: Path) -> set[str]:
    """Return all files and folders of packs and pipelines, and those outside the cache directory."""
    notes = ("cache/verified", "cache/digests")  # cached facts about files; their names are digests of paths
    empty = {"cache", "cache/packs"}
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return {name for name in found if name not in empty and not name.startswith(notes)} | {
        path.name for path in folder.parent.iterdir()
    }


def _require_accepted(good: Path, cache: Path) -> None:
    with patch.dict(os.environ, ONYM_CACHE=str(cache)):
        answers = [link.concept_id for link in onym.load(good).link(TEXT).links]
    if answers != _EXPECTED:
        sys.exit(f"the valid pack returns {answers} instead of {_EXPECTED}")
