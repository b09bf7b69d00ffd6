"""Open damaged and forged review desks and files of corrections, and check that they are rejected or harmless.

desks        desks with flipped, cut, repeated or inserted bytes, and valid databases with views, triggers, generated columns,
             virtual tables, other tables, or values that no desk has; one in four has a rollback journal that names a file
corrections  files of corrections with damaged bytes and cells
refused      files rejected by an error with a code; the others were read, exported and reviewed without any other exception
crashed      files that raised another exception; the suite fails unless it is 0
executed     files whose SQL changed the desk or wrote a file, or whose journal deleted one; the suite fails unless it is 0
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import struct
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from onym.corrections import Rule, read_corrections, write_rules
from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.packs.locate import locate_kb
from onym.review.create import create_desk
from onym.review.desk import open_desk
from onym.review.queue import ReviewQueue
from onym.review.rules import export_rules
from tests.review.desks import FEVER, decide, list_documents

UPPER_BOUNDS = MappingProxyType({"crashed": 0, "executed": 0})
_MARK = "pwned"
_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"  # the first and last bytes of a rollback journal
_SECTOR, _PAGE, _LOCK_BYTE = 512, 4096, 0x40000000
_FACTS = f"INSERT OR REPLACE INTO desk VALUES ('{_MARK}', '1')"
STATEMENTS = (
    f"CREATE TRIGGER spy AFTER INSERT ON decision BEGIN {_FACTS}; END",
    f"CREATE TRIGGER spy BEFORE UPDATE ON link BEGIN {_FACTS}; END",
    "CREATE VIEW spy AS SELECT load_extension('pwned')",
    "CREATE VIEW spy AS SELECT writefile('pwned', 'x')",
    "DROP TABLE cluster; CREATE VIEW cluster AS SELECT 1 AS number, '' AS surface, '' AS expansion, NULL AS concept_id",
    "CREATE VIRTUAL TABLE spy USING fts5(text)",
    "ALTER TABLE link ADD COLUMN more TEXT GENERATED ALWAYS AS (upper(surface))",
    "CREATE INDEX spy ON link (lower(surface))",
    "CREATE TABLE other (a)",
    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE link (x)' WHERE name = 'link'",
    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'link'",
    "PRAGMA user_version=99",
    "PRAGMA application_id=1",
    "UPDATE link SET start = -5",
    "UPDATE link SET start = 9223372036854775807",
    "UPDATE link SET candidates = '[' || hex(zeroblob(200000)) || ']'",
    "UPDATE link SET document = 77",
    "UPDATE document SET text = substr(text, 1, 3)",
    "UPDATE desk SET value = '{}'",
    "UPDATE decision SET verdict = 'guess'",
    "UPDATE decision SET cluster = -1",
    "UPDATE decision SET scope = char(0)",
    "DELETE FROM cluster",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=0, help="files of each kind (default: 5,000, or 60 with --quick)")


def run(options: argparse.Namespace) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as name:
        kb = KnowledgeBase.open(locate_kb(Path("starter")))
        return judge_files(Path(name), kb, options.files or (60 if options.quick else 5_000))


def judge_files(folder: Path, kb: KnowledgeBase, files: int, seed: int = 0) -> dict[str, int]:
    """Judge hostile desks and corrections, and return the counts."""
    generator = random.Random(seed)
    counts = {"desks": 0, "corrections": 0, "refused": 0, "crashed": 0, "executed": 0}
    good, victim = _make_good(folder, kb), folder / "victim.doc"
    for number in range(files):
        hostile = folder / "hostile.sqlite"
        for each in folder.glob("hostile*"):
            each.unlink()
        victim.write_text("mine")  # SQLite takes an empty file for a missing one
        hostile.write_bytes(good.read_bytes() if number < len(STATEMENTS) else damage(good.read_bytes(), generator))
        if number < len(STATEMENTS):
            _change(hostile, STATEMENTS[number])
        elif number % 4 == 0:
            forge_journal(hostile, str(victim))
        counts["desks"] += 1
        _judge(lambda path=hostile: use_desk(path), counts)  # type: ignore[misc]
        is_deleted = not victim.exists()
        hostile.with_name(f"{hostile.name}-journal").unlink(missing_ok=True)  # the next line opens the desk without checks
        counts["executed"] += is_deleted or _is_marked(hostile) or (folder / _MARK).exists()
    rules = folder / "good.onymc"
    with rules.open("wb") as file:
        write_rules(
            [Rule("MI", FEVER.concept_id, comment="x"), Rule("HA", "no-concept", "7", start=1, end=3)], file, kb=kb.digest
        )
    for _ in range(files):
        hostile = folder / "hostile.onymc"
        hostile.write_bytes(damage(rules.read_bytes(), generator))
        counts["corrections"] += 1
        _judge(lambda path=hostile: read_corrections(path, kb), counts)  # type: ignore[misc]
    return counts


def _make_good(folder: Path, kb: KnowledgeBase) -> Path:
    path = folder / "good.sqlite"
    create_desk(path, list_documents(), kb, {})
    with open_desk(path) as desk:
        desk.decide(decide(1, "not-a-mention", link=2, scope="everywhere"))
        desk.decide(decide(2, "missed", document=1, start=0, end=4, concept_id=FEVER.concept_id))
    return path


def forge_journal(desk: Path, victim: str) -> None:
    """Write a rollback journal without pages, whose super-journal is the victim: SQLite deletes it after the rollback."""
    name = victim.encode()
    head = _JOURNAL + struct.pack(">5I", 0, 1, 1, _SECTOR, _PAGE)
    record = struct.pack(">I", _LOCK_BYTE // _PAGE + 1) + name + struct.pack(">2I", len(name), sum(name)) + _JOURNAL
    desk.with_name(f"{desk.name}-journal").write_bytes(head.ljust(_SECTOR, b"\0") + record)


def damage(data: bytes, generator: random.Random) -> bytes:
    """Return data with some bytes changed, removed, repeated or inserted."""
    found = bytearray(data)
    for _ in range(generator.choice((1, 1, 4, 40))):
        at = generator.randrange(len(found))
        size = generator.choice((1, 4, 100, 4096))
        kind = generator.randrange(4)
        if kind == 0:
            found[at] = generator.randrange(256)
        elif kind == 1 and len(found) > size + 1:
            del found[at : at + size]
        elif kind == 2:
            found[at:at] = found[at : at + size]
        else:
            found[at:at] = generator.choice((b"\x00", b"\t", b"\n", b'"', b"\xff\xfe", b"=1+1"))
        if not found:
            return b""
    return bytes(found)


def use_desk(path: Path) -> None:
    """Open a desk, read all of it, export its rules, and decide a link."""
    with open_desk(path) as desk:
        list(desk.documents())
        queue = ReviewQueue(desk)
        list(export_rules(desk))
        number = queue.next("ann")
        if number is not None:
            queue.count_affected(desk.link(number))
            queue.decide(decide(9, "unsure", link=number))


def _judge(act: Callable[[], Any], counts: dict[str, int]) -> None:
    try:
        act()
    except OnymError:
        counts["refused"] += 1
    except Exception:
        counts["crashed"] += 1


def _change(path: Path, statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(statements)


def _is_marked(path: Path) -> bool:
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("SELECT count(*) FROM desk WHERE key = ?", (_MARK,)).fetchone()[0])
    return False
