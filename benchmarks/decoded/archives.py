"""The same in packed form: each format in gzip, zstd, zip and tar, and Parquet in them."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial

import pyarrow as pa

from benchmarks.decoded.parquets import shared
from benchmarks.hostile.case import MB, Case, file

_DOCUMENTS = {
    "jsonl": ("a.jsonl", b'{"id":"1","text":"{text}"}\n'),
    "bioc_json": ("a.json", b'{"id":"1","infons":{},"passages":[{"offset":0,"infons":{},"text":"{text}"}]}\n'),
    "pubtator": ("a.pubtator", b"1|t|{text}\n1|a|\n\n"),
    "bioc_xml": ("a.xml", b"<document><id>1</id><passage><offset>0</offset><text>{text}</text></passage></document>"),
    "cometa": ("a.tsv", b"1\tfever\ta\t1\tb\t2\t{text}\n"),
    "text": ("a.txt", b"{text} "),
}
_HEADS = {
    "bioc_xml": b"<collection>",
    "cometa": b"ID\tTerm\tGeneral SNOMED Label\tGeneral SNOMED ID\tSpecific SNOMED Label\tSpecific SNOMED ID\tExample\n",
}
_SIZE = 12 * MB


def _content(form: str) -> bytes:
    document = _DOCUMENTS[form][1].replace(b"{text}", b"high fever " * 100)
    return _HEADS.get(form, b"") + document * (_SIZE // len(document))


def _zip(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


def _tar(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


_PACKERS: dict[str, Callable[[str, bytes], bytes]] = {
    ".gz": lambda _, data: gzip.compress(data, 6, mtime=0),
    ".zst": lambda _, data: bytes(pa.compress(data, codec="zstd", asbytes=True)),
    ".zip": _zip,
    ".tar.gz": _tar,
}


def _packed(form: str, suffix: str) -> bytes:
    return _PACKERS[suffix](_DOCUMENTS[form][0], _content(form))


def _parquet(suffix: str, size: int, rows: int) -> bytes:
    return _PACKERS[suffix]("a.parquet", shared(size, rows))


def _case(form: str, name: str, suffix: str, content: Callable[[], bytes]) -> Case:
    file_name = _DOCUMENTS[form][0] if form in _DOCUMENTS else "a.parquet"
    path = f"{file_name}{suffix}" if suffix in (".gz", ".zst") else f"a{suffix}"
    return Case(f"{form}{suffix}: {name}", "", file(path, content), act="corpus", format=form)


CASES = (
    *(
        _case(form, "12 MB of one document", suffix, partial(_packed, form, suffix))
        for number, form in enumerate(_DOCUMENTS)
        for suffix in [".gz", *([".zst"], [".zip"], [".tar.gz"])[number % 3]]
    ),
    *(_case("parquet", "one text for 512 rows", suffix, partial(_parquet, suffix, 20 * MB, 512)) for suffix in _PACKERS),
    _case("parquet", "one text of 7 MB for 512 rows", ".zip", partial(_parquet, ".zip", 7 * MB, 512)),
)
