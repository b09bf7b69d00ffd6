"""Random directory trees with mixed formats, hostile and unreadable files, links and duplicate ids.

The generator knows the content of each tree but does not use Onym's planner: the expected outcome of a file follows from how
the file was made.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from onym.types import Document
from tests.corpora.citations import ENDINGS, write_citations

IDS = ("1", "1", "2", "1#2", "1#2", "a b", "7", "case 12")
_WORDS = ("fever", "cough", "myocardial infarction", "no pain", "caf\u00e9 au lait spots", "\U0001f9ec", "IL-2")


@dataclass(frozen=True, slots=True)
class Doc:
    """A document. Its text is unique in the tree, except in links to the same file."""

    id: str
    text: str


@dataclass
class Entry:
    """The expected outcome of a file. If the file fails, some of `docs` may be read. `bad` has (position, error code) pairs."""

    state: str
    code: str = ""
    docs: list[Doc] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class Tree:
    """A folder and its entries by name."""

    folder: Path
    entries: dict[str, Entry] = field(default_factory=dict)


class Maker:
    """Makes one tree. `outside` is a folder next to it that links may point to."""

    def __init__(self, folder: Path, outside: Path, seed: int) -> None:
        self.tree = Tree(folder)
        self._random, self._outside, self._count = random.Random(seed), outside, 0
        self._folders = [""]

    def make(self, files: int) -> Tree:
        """Make a tree of about `size` files, at least one of which is readable."""
        self.text()
        for _ in range(self._random.randint(0, 3)):
            parent = self._random.choice(self._folders)
            self._folders.append(f"{parent}d{len(self._folders)}/")
            (self.tree.folder / self._folders[-1]).mkdir()
        kinds = [*READABLE * 3, *OTHERS]
        for _ in range(files - 1):
            self._random.choice(kinds)(self)
        return self.tree

    def _name(self, ending: str) -> str:
        self._count += 1
        return f"{self._random.choice(self._folders)}f{self._count:03}{ending}"

    def _write(self, name: str, data: bytes, entry: Entry) -> None:
        if self._random.random() < 0.15 and not name.endswith((".ann", ".parquet")):
            name, data = f"{name}.gz", gzip.compress(data)
        (self.tree.folder / name).write_bytes(data)
        self.tree.entries[name] = entry

    def _doc(self, id: str = "") -> Doc:  # noqa: A002
        token = f"{self._random.getrandbits(64):016x}"
        words = " ".join(self._random.choices(_WORDS, k=self._random.randint(1, 12)))
        return Doc(id or self._random.choice(IDS), f"{words} {token}")

    def _docs(self) -> list[Doc]:
        return [self._doc() for _ in range(self._random.randint(1, 6))]

    # Methods that make readable files.

    def text(self) -> None:
        name = self._name(".txt")
        doc = self._doc(_stem(name))
        self._write(name, doc.text.encode(), Entry("read", docs=[doc]))

    def _by_lines(self, ending: str, line: Callable[[Doc], bytes]) -> None:
        entry, lines = Entry("read"), []
        for number, doc in enumerate(self._docs(), 1):
            data = line(doc)
            if number > 1 and self._random.random() < 0.15:
                at = data.index(doc.text.encode()) + len(doc.text.encode())
                lines.append(data[:at] + self._random.choice([b"\xff", b"\x00"]) + data[at:])
                entry.bad.append((number, "input-encoding"))
            else:
                lines.append(data)
                entry.docs.append(doc)
        self._write(self._name(ending), b"".join(lines), entry)

    def pubtator(self) -> None:
        ending = self._random.choice([".txt", ".pubtator", ".tsv"])
        self._by_lines(ending, lambda doc: f"{doc.id}|t|{doc.text}\n{doc.id}|a|\n\n".encode())

    def jsonl(self) -> None:
        def line(doc: Doc) -> bytes:
            number = int(doc.id) if doc.id.isdecimal() and self._random.random() < 0.5 else doc.id
            return json.dumps({"id": number, "text": doc.text}, ensure_ascii=False).encode() + b"\n"

        self._by_lines(self._random.choice([".jsonl", ".txt", ".json"]), line)

    def json_list(self) -> None:
        docs = self._docs()
        plain = [{"id": doc.id, "text": doc.text} for doc in docs]
        self._write(self._name(".json"), json.dumps(plain, indent=1).encode(), Entry("read", docs=docs))

    def json_with_bad_item(self) -> None:
        docs = self._docs()
        items = [{"id": doc.id, "infons": {}, "passages": [{"offset": 0, "infons": {}, "text": doc.text}]} for doc in docs]
        entry = Entry("read", docs=docs, bad=[(len(docs) + 1, "corpus-malformed")])
        self._write(self._name(".json"), json.dumps({"infons": {}, "documents": [*items, 7]}).encode(), entry)

    def bioc(self) -> None:
        docs = self._docs()
        self._write(self._name(".xml"), _bioc_xml(docs), Entry("read", docs=docs))

    def citations(self) -> None:
        docs = [self._doc(str(number)) for number in range(1, self._random.randint(2, 6))]
        name = self._random.choice(["medline", "ris"])
        written = [Document(doc.id, f"A title. {doc.text}") for doc in docs]
        entry = Entry("read", docs=[Doc(doc.id, doc.text) for doc in written])
        self._write(self._name(self._random.choice([ENDINGS[name], ".txt"])), write_citations(name, written), entry)

    def table(self) -> None:
        docs = self._docs()
        table = "".join(f'{doc.id},"{doc.text}",7\n' for doc in docs)
        self._write(self._name(".csv"), f"note_id,note_text,ward\n{table}".encode(), Entry("read", docs=docs))

    def records(self) -> None:
        docs = self._docs()
        plain = [{"doc_id": doc.id, "ward": 7, "note": doc.text} for doc in docs]
        self._write(self._name(".json"), json.dumps(plain).encode(), Entry("read", docs=docs))

    def windows(self) -> None:
        self._encoded("cp1252")

    def utf16(self) -> None:
        self._encoded("utf-16")

    def _encoded(self, encoding: str) -> None:
        name = self._name(".txt")
        text = f"Sjögren syndrome, 39 °C {self._random.getrandbits(64):016x}"
        self._write(name, text.encode(encoding), Entry("read", docs=[Doc(_stem(name), text)]))

    def brat(self) -> None:
        name = self._name(".txt")
        doc = self._doc(_stem(name))
        (self.tree.folder / name).write_bytes(doc.text.encode())
        self.tree.entries[name] = Entry("read", docs=[doc])
        is_bad = self._random.random() < 0.2
        if is_bad:
            self.tree.entries[name] = Entry("read", bad=[(1, "corpus-malformed")])
        self._write(f"{name.removesuffix('.txt')}.ann", b"no tab\n" if is_bad else b"#1\tNote\tx\n", Entry("read"))

    def parquet(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        docs, name = self._docs(), self._name(".parquet")
        kind = self._random.choice([pa.string(), pa.large_string()])
        columns = {"id": pa.array([doc.id for doc in docs], kind), "text": pa.array([doc.text for doc in docs], kind)}
        pq.write_table(pa.table(columns), self.tree.folder / name)
        self.tree.entries[name] = Entry("read", docs=docs)

    def link_inside(self) -> None:
        target, name = self._name(".txt"), self._name(".txt")
        doc = self._doc(_stem(target))
        (self.tree.folder / target).write_bytes(doc.text.encode())
        (self.tree.folder / name).symlink_to(self.tree.folder / target)
        self.tree.entries[target] = Entry("read", docs=[doc])
        self.tree.entries[name] = Entry("read", docs=[Doc(_stem(name), doc.text)])

    # Methods that make files that are ignored.

    def aside(self) -> None:
        folder = self._random.choice(self._folders)
        name = folder + self._random.choice(["README.md", "LICENSE", "annotation.conf", ".hidden.txt", "readme_2.txt"])
        (self.tree.folder / name).write_text("1|t|no document\n")
        self.tree.entries[name] = Entry("ignored")

    def empty(self) -> None:
        name = self._name(self._random.choice([".xml", ".json", ".tsv"]))
        (self.tree.folder / name).write_bytes(b"")
        self.tree.entries[name] = Entry("ignored")

    def link_up(self) -> None:
        name = self._name("")
        (self.tree.folder / name).symlink_to(self.tree.folder)
        self.tree.entries[name] = Entry("ignored")

    # Methods that make files that cannot be read.

    def _failing(self, name: str, data: bytes, code: str, docs: list[Doc] | None = None) -> None:
        (self.tree.folder / name).write_bytes(data)
        self.tree.entries[name] = Entry("failed", code, docs or [])

    def unknown(self) -> None:
        data = self._random.choice([b"\x00\x01\x02", b'{"a": 1}', b"plain words", b"PK\x03\x04"])
        self._failing(self._name(self._random.choice([".bin", ".xml", ".json", ""])), data, "format-unknown")

    def no_text(self) -> None:
        data, ending = self._random.choice([(b"<html>", ".xml"), (b"PK\x03\x04", ".docx"), (b"%PDF-1.7\n", ".txt")])
        self._failing(self._name(ending), data, "format-not-text")

    def not_utf8(self) -> None:
        self._failing(self._name(".txt"), b"caf\xe9 \x81 %d" % self._random.getrandbits(32), "input-encoding")

    def add_torn_gzip(self) -> None:
        packed = gzip.compress("".join(f"{self._random.getrandbits(64)} " for _ in range(40)).encode())
        self._failing(self._name(".txt.gz"), packed[: len(packed) // 2], "input-corrupt")

    def add_torn_xml(self) -> None:
        docs = self._docs()
        data = _bioc_xml([*docs, self._doc()])
        self._failing(self._name(".xml"), data[: data.rindex(b"</document>") - 3], "xml-malformed", docs)

    def add_torn_json(self) -> None:
        docs = self._docs()
        data = json.dumps([{"id": doc.id, "text": doc.text} for doc in docs]).encode()
        self._failing(self._name(".json"), data[:-9], "json-malformed", docs[:-1])

    def orphan(self) -> None:
        self._failing(self._name(".ann"), b"T1\tDisease 0 5\tfever\n", "format-incomplete")

    def add_torn_parquet(self) -> None:
        self._failing(self._name(".parquet"), b"PAR1" + os.urandom(40), "parquet-malformed")

    def fifo(self) -> None:
        name = self._name(".txt")
        os.mkfifo(self.tree.folder / name)
        self.tree.entries[name] = Entry("failed", "input-missing")

    def dangling(self) -> None:
        name = self._name(".txt")
        (self.tree.folder / name).symlink_to("nowhere")
        self.tree.entries[name] = Entry("failed", "input-missing")

    def link_out(self) -> None:
        name = self._name(self._random.choice([".txt", ""]))
        (self.tree.folder / name).symlink_to(self._outside / "secret.txt" if name.endswith(".txt") else self._outside)
        self.tree.entries[name] = Entry("failed", "input-link")

    def add_locked_file(self) -> None:
        self._failing(self._name(".txt"), b"not for you", "input-unreadable")
        (self.tree.folder / list(self.tree.entries)[-1]).chmod(0)

    def add_locked_folder(self) -> None:
        name = self._name("")
        (self.tree.folder / name).mkdir()
        (self.tree.folder / name / "note.txt").write_text("not for you")
        (self.tree.folder / name).chmod(0)
        self.tree.entries[name] = Entry("failed", "input-unreadable")


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".txt")


def _bioc_xml(docs: list[Doc]) -> bytes:
    items = (
        f"<document><id>{doc.id}</id><passage><offset>0</offset><text>{doc.text}</text></passage></document>" for doc in docs
    )
    return f'<?xml version="1.0"?><collection><source/>{"".join(items)}</collection>'.encode()


READABLE: tuple[Callable[[Maker], None], ...] = (
    Maker.text, Maker.pubtator, Maker.jsonl, Maker.json_list, Maker.json_with_bad_item, Maker.bioc, Maker.brat,
    Maker.parquet, Maker.citations, Maker.table, Maker.records, Maker.windows, Maker.utf16,
)  # fmt: skip
OTHERS: tuple[Callable[[Maker], None], ...] = (
    Maker.link_inside, Maker.aside, Maker.empty, Maker.link_up, Maker.unknown, Maker.no_text, Maker.not_utf8,
    Maker.add_torn_gzip, Maker.add_torn_xml, Maker.add_torn_json, Maker.orphan, Maker.add_torn_parquet, Maker.fifo,
    Maker.dangling, Maker.link_out, Maker.add_locked_file, Maker.add_locked_folder,
)  # fmt: skip
