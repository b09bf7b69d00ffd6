"""Tests of databases as untrusted files."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from onym.errors import ConfigError, InputError, IntegrityError, OnymError
from onym.store import sqlite
from onym.store.sqlite import DatabaseFormat, find_file_system, new_database, open_database

TABLE = "CREATE TABLE word (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT"
INDEX = "CREATE INDEX of_text ON word (text)"
FORMAT = DatabaseFormat("list of words", 0x1234, 2, (TABLE, INDEX), "make one", {1: (INDEX,)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with new_database(tmp_path / "words.sqlite", FORMAT) as database:
        database.run_many("INSERT INTO word (text) VALUES (?)", [("fever",), ("cough",)])
    return tmp_path / "words.sqlite"


def change(path: Path, *statements: str) -> None:
    """Change a database in ways that `open_database` does not allow."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_rows_are_kept(path: Path) -> None:
    with open_database(path, FORMAT) as database:
        assert database.rows("SELECT text FROM word ORDER BY number") == [("fever",), ("cough",)]
        assert not database.insert("INSERT INTO word (text) VALUES (?)", ["fever"])
        assert database.insert("INSERT INTO word (text) VALUES (?)", ["rash"])
        assert list(database.iter_rows("SELECT count(*) FROM word")) == [(3,)]
        assert database.rows("PRAGMA synchronous") == [(2,)]
        assert database.rows("PRAGMA journal_mode") == [("wal",)]
        assert database.rows("PRAGMA trusted_schema") == [(0,)]


def test_all_files_are_private(path: Path) -> None:
    path.chmod(0o644)
    with open_database(path, FORMAT) as database:
        database.run("INSERT INTO word (text) VALUES ('rash')")
        modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    assert modes == dict.fromkeys(("words.sqlite", "words.sqlite-wal", "words.sqlite-shm"), 0o600)


def test_a_failed_block_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no"), new_database(tmp_path / "words.sqlite", FORMAT):
        raise ValueError("no")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(path: Path) -> None:
    with pytest.raises(ConfigError, match="output-exists"), new_database(path, FORMAT):
        pass
    other = path.with_name("other.sqlite")
    other.with_name("other.sqlite-wal").touch()
    with pytest.raises(ConfigError, match="output-exists"), new_database(other, FORMAT):
        pass


def test_a_failed_transaction_is_rolled_back(path: Path) -> None:
    with open_database(path, FORMAT) as database:
        with pytest.raises(ZeroDivisionError), database.transaction():
            _ = 1 // (database.run("DELETE FROM word") - 2)
        assert database.rows("SELECT count(*) FROM word") == [(2,)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW words AS SELECT * FROM word",
        "CREATE TRIGGER spy AFTER INSERT ON word BEGIN DELETE FROM word; END",
        "CREATE TABLE other (a)",
        "DROP INDEX of_text",
        "ALTER TABLE word ADD COLUMN more TEXT",
        "PRAGMA application_id=7",
        "CREATE VIRTUAL TABLE search USING fts5(text)",
    ],
)
def test_other_schemas_are_rejected(path: Path, statement: str) -> None:
    change(path, statement)
    with pytest.raises(IntegrityError, match="database-malformed"):
        open_database(path, FORMAT)


def test_a_table_of_the_right_name_with_other_columns_is_rejected(path: Path) -> None:
    change(path, "DROP TABLE word", "CREATE TABLE word (number, text)", "CREATE INDEX of_text ON word (text)")
    with pytest.raises(IntegrityError, match="database-malformed"):
        open_database(path, FORMAT)


def test_damaged_files_are_rejected(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    words = b"word,fever\n" * 99
    no_text = data.replace(b"TABLE word (", b"TABLE word \x9f")  # SQLite's message quotes these bytes
    files = (b"", b"SQLite format 3\x00", words, data[: len(data) // 2], data[:100] + b"\xff" * 4000, no_text)
    for number, damaged in enumerate(files):
        other = tmp_path / f"{number}.sqlite"
        other.write_bytes(damaged)
        with pytest.raises(IntegrityError, match="database-malformed"):
            open_database(other, FORMAT)


def test_other_kinds_of_files_are_rejected(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.sqlite"
    link.symlink_to(path)
    os.mkfifo(tmp_path / "pipe.sqlite")
    for name in ("link.sqlite", "pipe.sqlite", "gone.sqlite", "."):
        with pytest.raises(InputError, match="input-missing"):
            open_database(tmp_path / name, FORMAT)


def test_a_later_version_is_rejected(path: Path) -> None:
    change(path, "PRAGMA user_version=3")
    with pytest.raises(IntegrityError, match="database-version"):
        open_database(path, FORMAT)


def test_an_earlier_version_is_upgraded_after_a_copy(path: Path) -> None:
    change(path, "DROP INDEX of_text", "PRAGMA user_version=1")
    with open_database(path, FORMAT) as database:
        assert database.rows("PRAGMA user_version") == [(2,)]
        assert database.rows("SELECT count(*) FROM word") == [(2,)]
    copy = path.with_name("words.sqlite.v1")
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copy)) as old:
        assert old.execute("PRAGMA user_version").fetchall() == [(1,)]


def test_a_failed_upgrade_changes_nothing(path: Path) -> None:
    change(path, "PRAGMA user_version=1")  # the index of version 2 exists, so that the upgrade fails
    with pytest.raises(OnymError):
        open_database(path, FORMAT)
    with closing(sqlite3.connect(path)) as old:
        assert old.execute("PRAGMA user_version").fetchall() == [(1,)]


def test_an_earlier_version_with_a_trigger_is_rejected(path: Path) -> None:
    trigger = "CREATE TRIGGER spy AFTER INSERT ON word BEGIN DELETE FROM word; END"
    change(path, "DROP INDEX of_text", trigger, "PRAGMA user_version=1")
    with pytest.raises(IntegrityError, match="database-malformed"):
        open_database(path, FORMAT)
    assert not path.with_name("words.sqlite.v1").exists()


def test_one_process_holds_it_exclusively(path: Path) -> None:
    code = f"from tests.store.test_sqlite import *; open_database(Path({str(path)!r}), FORMAT, exclusive=True)"
    with open_database(path, FORMAT, exclusive=True):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "database-locked" in done.stderr
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_take_turns(path: Path) -> None:
    with open_database(path, FORMAT) as database:

        def insert(number: int) -> None:
            for each in range(50):
                with database.transaction():
                    assert database.insert("INSERT INTO word (text) VALUES (?)", [f"{number}-{each}"])

        threads = [threading.Thread(target=insert, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert database.rows("SELECT count(*) FROM word") == [(202,)]


def test_deleted_content_is_erased(path: Path) -> None:
    with open_database(path, FORMAT) as database:
        database.run("DELETE FROM word WHERE text = 'cough'")
        database.erase_free_space()
        assert all(b"cough" not in each.read_bytes() for each in path.parent.iterdir())


def test_network_file_systems_are_rejected(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:5 / {tmp_path.resolve()} rw - nfs4 server:/home rw\n")
    monkeypatch.setattr(sqlite, "_MOUNTS", mounts)
    with pytest.raises(ConfigError, match="database-network"):
        open_database(path, FORMAT)
    with pytest.raises(ConfigError, match="database-network"), new_database(tmp_path / "new.sqlite", FORMAT):
        pass


def test_mount_points_with_spaces_are_found() -> None:
    assert find_file_system("1 0 8:1 / /my\\040disk rw - cifs //server rw", "/my disk/desk.sqlite") == "cifs"


def test_an_old_sqlite_is_rejected(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_OLDEST", (99, 0))
    with pytest.raises(ConfigError, match="extra-missing"):
        open_database(path, FORMAT)
