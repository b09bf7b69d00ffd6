"""Attacks by review desks: forged files beside them, other kinds of files, and readers while they are erased."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.review.desks import list_documents, make_desk
from tests.robustness.attacks.rows import Outcome, Place, attack
from tests.robustness.files.desk_hostile import forge_journal

_COMMANDS = ("show", "export", "merge", "purge", "agreement")


def use_desk(place: Place, desk: Path, command: str) -> Outcome:
    """Run a command of `onym review` on a desk."""
    more: dict[str, list[object]] = {
        "export": ["-o", f"{desk.stem}.csv"],
        "merge": [desk, "-o", f"{desk.stem}.out.sqlite"],
        "purge": ["--yes"],
    }
    return place.onym("review", command, desk, *more.get(command, []))


def _make(place: Place) -> Path:
    desk = place.folder / "desk.sqlite"
    make_desk(desk, place.kb)
    return desk


@attack("a journal beside a desk names a file of the user, which SQLite would delete")
def journal_of_a_desk_names_a_file(place: Place) -> None:
    victim = place.folder / "thesis.doc"
    for command in _COMMANDS:
        victim.write_text("mine")
        desk = place.folder / f"{command}.sqlite"
        make_desk(desk, place.kb)
        forge_journal(desk, str(victim))
        use_desk(place, desk, command).require_refused("database-journal")
        assert victim.read_text() == "mine"
    place.onym("migrate", desk, "-o", "new.sqlite", "--from", place.kb_path, "--to", place.kb_path).require_refused()
    assert victim.read_text() == "mine"


@attack("a journal beside a file that is no desk names a file of the user")
def journal_of_another_file_names_a_file(place: Place) -> None:
    victim, other = place.folder / "thesis.doc", place.folder / "other.sqlite"
    victim.write_text("mine")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE a (b)")
    forge_journal(other, str(victim))
    place.onym("review", "show", other).require_refused()
    assert victim.read_text() == "mine"


def _link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def _hard_link(path: Path, victim: Path) -> None:
    path.hardlink_to(victim)


def _fifo(path: Path, _victim: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, _victim: Path) -> None:
    path.mkdir()


_KINDS: tuple[Callable[[Path, Path], None], ...] = (_link, _hard_link, _fifo, _folder)


@attack("the write-ahead log, its index or the journal of a desk is a link to a file of the user, a FIFO or a folder")
def files_beside_a_desk_are_no_files(place: Place) -> None:
    victim = place.folder / "thesis.doc"
    for ending in ("-wal", "-shm", "-journal"):
        for kind in _KINDS:
            victim.write_text("mine")
            desk = place.folder / f"{kind.__name__}{ending}.sqlite"
            make_desk(desk, place.kb)
            kind(desk.with_name(desk.name + ending), victim)
            place.onym("review", "show", desk).require_refused()
            assert victim.read_text() == "mine"


@attack("a desk is a link, a hard link, a FIFO, a device or a folder")
def desk_is_no_file(place: Place) -> None:
    desk = _make(place)
    before = desk.read_bytes()
    for kind in _KINDS:
        path = place.folder / f"{kind.__name__}.sqlite"
        kind(path, desk)
        place.onym("review", "show", path).require_refused()
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    place.onym("review", "show", "/dev/zero").require_refused()
    assert desk.read_bytes() == before


@attack("a database of another program, or any other file, is given as a desk")
def other_files_are_left_alone(place: Place) -> None:
    database, text = place.folder / "firefox.sqlite", place.folder / "thesis.doc"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE history (url)")
    text.write_text("SQLite format 3\0 mine")
    for path in (database, text):
        path.chmod(0o644)
        before = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns
        for command in _COMMANDS:
            use_desk(place, path, command).require_refused("database-malformed")
        assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) == before
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert sorted(path.name for path in place.folder.iterdir() if not path.name.startswith(".")) == [
        "firefox.sqlite", "thesis.doc",
    ]  # fmt: skip


@attack("the write-ahead log of a desk adds a trigger, or is cut, or is that of another desk", has_succeeded=False)
def forged_log_of_a_desk(place: Place) -> None:
    forged, log = place.folder / "forged.sqlite", place.folder / "log"
    make_desk(forged, place.kb)
    with closing(sqlite3.connect(forged, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TRIGGER spy AFTER INSERT ON decision BEGIN DELETE FROM link; END")
        log.write_bytes(forged.with_name("forged.sqlite-wal").read_bytes())
        base = forged.read_bytes()
    for number, content in enumerate((log.read_bytes(), log.read_bytes()[:-1000], b"\xff" * 5000)):
        desk = place.folder / f"{number}.sqlite"
        desk.write_bytes(base)
        desk.with_name(f"{desk.name}-wal").write_bytes(content)
        desk.with_name(f"{desk.name}-shm").write_bytes(b"\xff" * 40_000)
        done = use_desk(place, desk, "export").require_told()
        assert (done.status == 0) == bool(number), done


@attack("a reader holds a cursor on a desk while it is erased")
def desk_is_erased_under_a_reader(place: Place) -> None:
    desk = _make(place)
    place.onym("review", "show", desk)
    with closing(sqlite3.connect(desk, isolation_level=None)) as reader:
        cursor = reader.execute("SELECT text FROM document")
        cursor.fetchone()
        done = place.onym("review", "purge", desk, "--yes")
        text = next(each.text for each in list_documents() if each.text).encode()
        held = any(text in path.read_bytes() for path in place.folder.glob("desk.sqlite*"))
        assert held == (done.status != 0), done
        done.require_refused("database-locked")
        cursor.close()
    assert place.onym("review", "purge", desk, "--yes").status == 0
    assert not any(text in path.read_bytes() for path in place.folder.glob("desk.sqlite*"))
