"""A local HTTP server with range requests. It can break off at a given byte, and counts the bytes it sends."""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TextIO
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape

import polars as pl
from benchmarks.models import model_folder

from onym.kb import KnowledgeBase, readers
from onym.packs.locate import STARTER, pack_folder
from onym.packs.recipe import PipelineRecipe
from onym.store.download import download_path
from onym.store.files.source import Source
from onym.types import NameKind, ParentKind

_CHUNK = 64 * 1024
_PATIENCE_S = 600.0


@dataclass(frozen=True)
class Sent:
    """A response: the file's bytes from `start` on, and how many of them were written to the socket."""

    path: str
    start: int
    count: int


@dataclass
class Stop:
    """The byte at which a response stops: the server closes the connection there, or waits until the client disconnects."""

    offset: int
    breaks: bool
    reached: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)


class FileServer:
    """Serves a folder. `answers` lists the responses sent so far; `stops` maps a path to the stops of its next responses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers: list[Sent] = []
        self.stops: dict[str, list[Stop]] = {}
        self.finished = threading.Condition()
        self.url = ""

    @contextmanager
    def running(self) -> Iterator[FileServer]:
        """Serve at `url` within the block."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"files": self}))
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            for stop in (each for several in self.stops.values() for each in several):
                stop.goes_on.set()
            server.shutdown()
            thread.join()
            server.server_close()

    def note(self, sent: Sent) -> None:
        with self.finished:
            self.answers.append(sent)
            self.finished.notify_all()

    def next_stop(self, path: str, start: int) -> Stop | None:
        """Return the next stop after byte `start` of a file. Drop earlier stops, which a previous response has passed."""
        several = self.stops.get(path, [])
        while several:
            stop = several.pop(0)
            if stop.offset > start:
                return stop
            stop.reached.set()
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: FileServer

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        file = (self.files.folder / path.lstrip("/")).resolve()
        self.close_connection = True
        if not file.is_relative_to(self.files.folder.resolve()) or not file.is_file():
            self.send_error(404)
            return
        size = file.stat().st_size
        etag = f'"{hashlib.sha256(f"{path} {size}".encode()).hexdigest()[:16]}"'
        start = self._start(etag)
        if start >= size > 0:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(size - start))
        self.send_header("Connection", "close")
        if start:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.end_headers()
        self._send(path, file, start, size)

    def _start(self, etag: str) -> int:
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and wanted.endswith("-") and self.headers.get("If-Range") in (None, etag):
            return int(wanted.removeprefix("bytes=").removesuffix("-"))
        return 0

    def _send(self, path: str, file: Path, start: int, size: int) -> None:
        stop = self.files.next_stop(path, start)
        count, end = 0, min(stop.offset, size) if stop else size
        try:
            with file.open("rb") as stream:
                stream.seek(start)
                while start + count < end:
                    chunk = stream.read(min(_CHUNK, end - start - count))
                    self.wfile.write(chunk)
                    count += len(chunk)
            self.wfile.flush()
        except OSError:  # the client has disconnected
            pass
        self.files.note(Sent(path, start, count))
        if stop:
            stop.reached.set()
            if not stop.breaks:
                stop.goes_on.wait(_PATIENCE_S)

    def log_message(self, *_: object) -> None:
        pass


# The releases in the catalogue: real data in the publishers' formats, stored under the paths of their URLs.

_DISEASES = "C"
_FEW = 1_000  # diseases in the synthetic release; kept small because their names are embedded on a CPU


def write_releases(recipe: PipelineRecipe, folder: Path, data: Path) -> None:
    """Write all files of a recipe that do not exist yet."""
    for release in recipe.releases:
        for file in release.files:
            path = folder / path_of(file.url)
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                new = path.with_name(f"{path.name}.new")
                _WRITERS[file.name](new, data)
                new.rename(path)
    for model in recipe.models:
        for file in model.remote_files():
            path = folder / path_of(file.url)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(model_folder("minilm") / file.name, path)


def path_of(url: str) -> str:
    """Return the path of a URL without the leading slash.

    >>> path_of("https://example.org/obo/hp.obo")
    'obo/hp.obo'
    """
    return url.partition("://")[2].partition("/")[2]


def _write_hp(path: Path, data: Path) -> None:
    with gzip.open(data / "ontologies" / "hp-2026-02-16.obo.gz") as source, path.open("wb") as file:
        shutil.copyfileobj(source, file)


def _write_mondo(path: Path, _data: Path) -> None:
    kb = KnowledgeBase.open(pack_folder(STARTER) / "knowledge-base")
    with path.open("w", encoding="utf-8") as file:
        file.write("format-version: 1.2\ndata-version: releases/2026-05-05\nontology: mondo\n")
        for row in range(len(kb)):
            concept = kb.concept(row)
            file.write(f"\n[Term]\nid: {concept.id.upper()}\nname: {concept.preferred_name}\n")
            file.writelines(f'def: "{_quote(text)}" []\n' for text in concept.definitions)
            file.writelines(f'synonym: "{_quote(term.form)}" EXACT []\n' for term in concept.terms[1:])
            file.writelines(f"xref: {xref.upper()}\n" for xref in concept.xrefs)


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


@dataclass
class Record:
    """A MeSH record: its names (preferred name first), tree numbers, and the headings it is mapped to."""

    names: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    mapped: list[str] = field(default_factory=list)


def mesh_records(data: Path, *tables: str) -> dict[str, Record]:
    """Return the records of the given MeSH tables, and their entry terms of 2014."""
    found: dict[str, Record] = defaultdict(Record)
    for table in (*tables, "d2014.en_gb.bin.gz"):
        source = Source.open(data / "mesh" / table)
        for batch in readers.read(source, readers.detect(source)):
            _add(found, pl.DataFrame(batch), is_first=table in tables)
    return {ui: record for ui, record in sorted(found.items()) if record.names}


def _add(found: dict[str, Record], frame: pl.DataFrame, *, is_first: bool) -> None:
    for row in frame.iter_rows(named=True):
        ui = row["concept_id"].removeprefix("mesh:")
        if not is_first and ui not in found:
            continue
        record = found[ui]
        if row["name"]:
            where = 0 if is_first and row["kind"] == int(NameKind.PREFERRED) else len(record.names)
            record.names.insert(where, row["name"])
        record.branches += row["semantic_types"] or () if is_first else ()
        if row["parent_kind"] == int(ParentKind.MAPPED_TO):
            record.mapped += (each.removeprefix("mesh:") for each in row["parents"] or ())


@contextmanager
def _open_compressed(path: Path) -> Iterator[TextIO]:
    """Open a gzip text file for writing; without file name and date, so that the bytes are reproducible."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", 1, raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as file,
    ):
        yield file


def _write_descriptors(path: Path, data: Path) -> None:
    records = mesh_records(data, "mesh_id_label_mappings.tsv.gz")
    with _open_compressed(path) as file:
        file.write('<?xml version="1.0"?>\n<DescriptorRecordSet LanguageCode = "eng">\n')
        for ui, record in records.items():
            trees = "".join(f"<TreeNumber>{branch}</TreeNumber>" for branch in record.branches)
            file.write(
                f'<DescriptorRecord DescriptorClass = "1"><DescriptorUI>{ui}</DescriptorUI>'
                f"<TreeNumberList>{trees}</TreeNumberList>{_concepts(record)}</DescriptorRecord>\n"
            )
        file.write("</DescriptorRecordSet>\n")


def _write_supplement(path: Path, data: Path) -> None:
    headings = mesh_records(data, "mesh_id_label_mappings.tsv.gz")
    records = mesh_records(data, "mesh_supp_id_label_mappings.tsv.gz")
    with _open_compressed(path) as file:
        file.write('<?xml version="1.0"?>\n<SupplementalRecordSet LanguageCode = "eng">\n')
        for ui, record in records.items():
            branches = [branch for each in record.mapped if each in headings for branch in headings[each].branches]
            kind = 3 if any(branch.startswith(_DISEASES) for branch in branches) else 1
            mapped = "".join(
                f"<HeadingMappedTo><DescriptorReferredTo><DescriptorUI>*{each}</DescriptorUI></DescriptorReferredTo></HeadingMappedTo>"
                for each in record.mapped
            )
            file.write(
                f'<SupplementalRecord SCRClass = "{kind}"><SupplementalRecordUI>{ui}</SupplementalRecordUI>'
                f"<HeadingMappedToList>{mapped}</HeadingMappedToList>{_concepts(record)}</SupplementalRecord>\n"
            )
        file.write("</SupplementalRecordSet>\n")


def _concepts(record: Record) -> str:
    names = dict.fromkeys(record.names)
    terms = "".join(
        f'<Term RecordPreferredTermYN="{"N" if number else "Y"}"><String>{escape(name)}</String></Term>'
        for number, name in enumerate(names)
    )
    return f"<ConceptList><Concept><TermList>{terms}</TermList></Concept></ConceptList>"


def write_umls(folder: Path, data: Path) -> None:
    """Write a small release in UMLS format: MeSH diseases with made-up CUIs."""
    records = mesh_records(data, "mesh_id_label_mappings.tsv.gz").values()
    folder.mkdir(parents=True, exist_ok=True)
    diseases = [each for each in records if any(branch.startswith(_DISEASES) for branch in each.branches)][:_FEW]
    with (folder / "MRCONSO.RRF").open("w", encoding="utf-8") as file:
        file.writelines(line for number, record in enumerate(diseases, 1) for line in _atoms(number, record))
    with (folder / "MRSTY.RRF").open("w", encoding="utf-8") as file:
        file.writelines(f"C{n:07d}|T047|B2.2.1.2.1|Disease or Syndrome|AT{n}|256|\n" for n in range(1, len(diseases) + 1))


def _atoms(number: int, record: Record) -> Iterator[str]:
    for index, name in enumerate(dict.fromkeys(record.names)):
        atom, first = f"A{number}{index:03d}", "Y" if index == 0 else "N"
        term = "MH" if index == 0 else "ET"
        text = name.replace("|", " ")
        yield f"C{number:07d}|ENG|P|L{atom}|PF|S{atom}|{first}|{atom}||||MSH|{term}|D{number}|{text}|0|N|256|\n"


_WRITERS = {
    "hp.obo": _write_hp,
    "mondo-base.obo": _write_mondo,
    "desc2026.gz": _write_descriptors,
    "supp2026.gz": _write_supplement,
}


# Compares what the server sent with what the client has on disk: bytes that were sent twice, and bytes lost in transit.


class Ledger:
    """Tracks the files of a recipe in the current cache directory. Call `account` whenever a client has ended."""

    def __init__(self, server: FileServer, recipe: PipelineRecipe) -> None:
        files = [file for release in recipe.releases for file in release.files]
        files += [file for model in recipe.models for file in model.remote_files()]
        self.urls = {f"/{path_of(file.url)}": file.url for file in files}
        self.twice = self.in_flight = 0
        self._server, self._seen = server, len(server.answers)
        self._kept = {path: self.on_disk(path) for path in self.urls}

    def account(self) -> None:
        """Count the responses since the last call: a byte was sent twice if the client already had it.

        If a response broke off and the same client asks again, it had received everything sent until then. Bytes that a killed
        client had received but not yet written count as lost in transit.
        """
        answers, ends = self._server.answers[self._seen :], dict(self._kept)
        self._seen += len(answers)
        for sent in answers:
            had, end = ends[sent.path], sent.start + sent.count
            self.twice += max(0, min(had, end) - sent.start)
            ends[sent.path] = max(had, end)
        for path, end in ends.items():
            self._kept[path] = self.on_disk(path)
            self.in_flight += max(0, end - self._kept[path])

    def find_unfinished(self) -> list[str]:
        """Return the paths of files that are incomplete on disk."""
        return [path for path, url in self.urls.items() if not download_path(url).is_file()]

    def on_disk(self, path: str) -> int:
        """Return how many bytes of a file the client has on disk."""
        whole = download_path(self.urls[path])
        part = whole.with_name(f"{whole.name}.part")
        return next((each.stat().st_size for each in (whole, part) if each.is_file()), 0)
