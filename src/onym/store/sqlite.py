"""Opens SQLite databases as untrusted files; no other module imports sqlite3.

A database has an application id, a schema version, and exactly the tables and indexes of its format: a file with a view, a
trigger or any other object is rejected. `trusted_schema` is off, and no extension can be loaded. All its files have mode 0600.
A committed transaction survives a killed process and a power failure (WAL, `synchronous=FULL`). Deleted content is overwritten
with zeros (`secure_delete`). Network file systems are rejected, because their locks do not protect a WAL.

Before SQLite sees a file, its header and the files beside it are checked. A database is in WAL mode from its creation, so it
never has a rollback journal. One that is there was put there: SQLite would delete any file that it names.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from onym.errors import ConfigError, InputError, IntegrityError
from onym.store.files.stream import is_there, open_regular
from onym.store.hidden import hold, make_folder, make_hidden, owner_only, release, remove_left
from onym.store.limits import MIB
from onym.store.output import require_file, sync_folder, whole_path, writable

Values = Sequence[Any] | Mapping[str, Any]
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|ncpfs|afs|coda|9p|ceph|glusterfs|lustre|gpfs|beegfs\w*|fuse\.(sshfs|s3fs|rclone|glusterfs)"
)
_OLDEST = (3, 37)  # the first version with strict tables
_MAX_ROW = 32 * MIB  # bytes of a value or a row: a document has at most 8 MiB, or 12 MiB if it was UTF-16
_BUSY_SECONDS = 5.0
_LOGS, _JOURNAL = ("-wal", "-shm"), "-journal"
_PRAGMAS = (
    f"busy_timeout={int(1000 * _BUSY_SECONDS)}",
    "trusted_schema=OFF",
    "cell_size_check=ON",
    "mmap_size=0",
    "secure_delete=ON",
    "temp_store=MEMORY",
    "synchronous=FULL",
)
_MAGIC, _HEADER = b"SQLite format 3\0", 100
_VERSIONS, _WAL = slice(18, 20), b"\2\2"  # the bytes of the header with the versions for writing and reading
_APPLICATION_ID = slice(68, 72)
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


@dataclass(frozen=True)
class DatabaseFormat:
    """The format of a database: its application id, the version of its schema, and the statements that create the schema.

    `upgrades` has the statements that change version N to N + 1, by N. `noun` and `fix` are for error messages.
    """

    noun: str
    application_id: int
    version: int
    schema: tuple[str, ...]
    fix: str
    upgrades: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def objects(self) -> set[tuple[Any, ...]]:
        """Return the objects of the schema, as `sqlite_schema` lists them."""
        with _close(_connect(":memory:")) as connection:
            for statement in self.schema:
                connection.execute(statement)
            return set(connection.execute(_OBJECTS))


@contextmanager
def new_database(path: Path, form: DatabaseFormat) -> Iterator[Database]:
    """Create a database atomically: it appears at `path` when the block ends without an error. Nothing is overwritten."""
    _require_new_sqlite()
    with owner_only():
        remove_left(path)
        require_file(path)
        for journal in _list_beside(path):
            if is_there(journal):
                fix = "use another name, or remove it if its database is gone"
                raise ConfigError("output-exists", f"a file of another {form.noun} exists", where=str(journal), fix=fix)
        with writable(path):
            make_folder(path.parent)
            require_local(path.parent, form.noun)
            with make_hidden(path) as new:
                with Database(_connect_file(new, form, journal="OFF"), form) as database:
                    database.run(f"PRAGMA application_id={form.application_id}")
                    database.run(f"PRAGMA user_version={form.version}")
                    with database.transaction():
                        for statement in form.schema:
                            database.run(statement)
                        yield database
                with new.open("r+b") as file:
                    file.seek(_VERSIONS.start)
                    file.write(_WAL)
                    file.flush()
                    os.fsync(file.fileno())
                require_file(path)  # again, because filling the database took time
                new.rename(path)
            sync_folder(path.parent)


def open_database(path: Path, form: DatabaseFormat, *, exclusive: bool = False) -> Database:
    """Open and check a database; upgrade it if it has an earlier version. With `exclusive`, no other process may hold it."""
    _require_new_sqlite()
    _require_header(path, form)
    _require_harmless_beside(path, form)
    require_local(path, form.noun)
    lock = _lock(path, form) if exclusive else None
    try:
        path.chmod(0o600)  # its logs get its mode
        connection = _connect_file(path, form)
    except BaseException:
        release(lock)
        raise
    database = Database(connection, form, lock)
    try:
        with _translate(path, form):
            _require_format(database, path)
    except BaseException:
        database.close()
        raise
    return database


class Database:
    """An open database. Its methods may be called by several threads, one at a time."""

    def __init__(self, connection: sqlite3.Connection, form: DatabaseFormat, lock: int | None = None) -> None:
        self._connection, self.form, self._lock = connection, form, lock
        self._guard = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, then release the lock: closing the lock's file first would drop SQLite's own locks."""
        with self._guard:
            self._connection.close()
            release(self._lock)
            self._lock = None

    def run(self, statement: str, values: Values = ()) -> int:
        """Run a statement, and return the number of rows that it changed."""
        with self._guard, _translate(None, self.form):
            return self._connection.execute(statement, values).rowcount

    def insert(self, statement: str, values: Values) -> bool:
        """Insert a row, and return True; return False if a row with the same unique value exists."""
        try:
            return self.run(statement, values) == 1
        except sqlite3.IntegrityError as e:
            if e.sqlite_errorname in ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"):
                return False
            raise

    def run_many(self, statement: str, rows: Iterable[Values]) -> None:
        """Run a statement once for each row of values."""
        with self._guard, _translate(None, self.form):
            self._connection.executemany(statement, rows)

    def rows(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._guard, _translate(None, self.form):
            return self._connection.execute(statement, values).fetchall()

    def iter_rows(self, statement: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, without keeping all of them in memory."""
        with self._guard, _translate(None, self.form):
            yield from self._connection.execute(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything that the block does, or nothing if it fails."""
        with self._guard, _translate(None, self.form):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def erase_free_space(self) -> None:
        """Rewrite the file without deleted content, and empty the WAL. No transaction may be open."""
        self.run("VACUUM")
        self.empty_log()

    def empty_log(self) -> None:
        """Move the WAL into the file; raise ConfigError if a reader needs the old content, which then stays on the disk."""
        ((is_busy, *_),) = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if is_busy:
            what = f"another process reads this {self.form.noun}, so deleted content is still in its files"
            raise ConfigError("database-locked", what, fix="stop it, and run the command again")

    def copy_to(self, path: Path) -> None:
        """Write a copy of the database atomically, with mode 0600."""
        with self._guard, owner_only(), whole_path(path) as new, _close(_connect_file(new, self.form, journal="OFF")) as copy:
            self._connection.backup(copy)


def require_local(path: Path, noun: str) -> None:
    """Raise ConfigError if a path is on a network file system. Only Linux says which file system a path is on."""
    with suppress(OSError):
        kind = find_file_system(_MOUNTS.read_text("utf-8", "replace"), str(path.resolve()))
        if _NETWORK.fullmatch(kind):
            what = f"a {noun} on a network file system ({kind}) may be damaged, because locks are not reliable there"
            raise ConfigError("database-network", what, where=str(path), fix="keep it on a local disk")


def find_file_system(mounts: str, path: str) -> str:
    r"""Return the kind of the file system of a path, by the lines of /proc/self/mountinfo.

    >>> mounts = "1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:5 / /home rw - nfs4 server:/home rw"
    >>> find_file_system(mounts, "/home/ann/desk.sqlite"), find_file_system(mounts, "/homes")
    ('nfs4', 'ext4')
    """
    best, found = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4]) if len(fields) > 4 else ""
        is_above = point and (path == point or path.startswith(point.rstrip("/") + "/"))
        if is_above and len(point) >= best:  # of mounts at the same place, the last one hides the others
            best, found = len(point), after.split(" ")[0]
    return found


def _connect_file(path: Path, form: DatabaseFormat, journal: str = "") -> sqlite3.Connection:
    """Open a file. A hidden file needs no journal (`OFF`): if this process dies, it is dropped."""
    with _translate(path, form):
        connection = _connect(f"file:{quote(str(path.absolute()))}?mode=rw")
        if journal:
            connection.execute(f"PRAGMA journal_mode={journal}")
        return connection


def _connect(uri: str) -> sqlite3.Connection:
    """Open a connection; nothing else calls SQLite's `connect`."""
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_ROW)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _require_format(database: Database, path: Path) -> None:
    """Raise IntegrityError unless the file has the format's id, exactly its schema, and consistent pages; upgrade it."""
    form = database.form
    ((application_id,),) = database.rows("PRAGMA application_id")
    ((version,),) = database.rows("PRAGMA user_version")
    if application_id != form.application_id:
        raise _make_error(form, f"this is not a {form.noun}", path)
    if version > form.version or (version < form.version and version not in form.upgrades):
        what = f"the {form.noun} has version {version}, but this Onym reads version {form.version}"
        raise IntegrityError("database-version", what, where=str(path), fix="use the version of Onym that made it")
    if version < form.version:
        _upgrade(database, version, path)
    if set(database.rows(_OBJECTS)) != form.objects():
        raise _make_error(form, f"the tables are not those of a {form.noun}", path)
    if database.rows("PRAGMA quick_check(1)") != [("ok",)]:
        raise _make_error(form, "the file is damaged", path)


def _upgrade(database: Database, version: int, path: Path) -> None:
    """Upgrade a database to the current version in one transaction, after copying the old one."""
    if any(kind in ("view", "trigger") for kind, *_ in database.rows(_OBJECTS)):
        raise _make_error(database.form, "it has views or triggers", path)
    copy = path.with_name(f"{path.name}.v{version}")
    if not copy.exists():
        database.copy_to(copy)
    with database.transaction():
        for number in range(version, database.form.version):
            for statement in database.form.upgrades[number]:
                database.run(statement)
        database.run(f"PRAGMA user_version={database.form.version}")


def _require_header(path: Path, form: DatabaseFormat) -> None:
    """Raise unless the path is a regular file whose header is that of the format, in WAL mode. SQLite is not asked."""
    try:
        _require_regular(path, form)
        with open_regular(path) as file:
            header = file.read(_HEADER)
    except (OSError, ValueError) as e:
        raise InputError("input-missing", f"no such {form.noun}", where=str(path), fix="check the path") from e
    is_own = header[_APPLICATION_ID] == form.application_id.to_bytes(4)
    if not header.startswith(_MAGIC) or not is_own or header[_VERSIONS] != _WAL:
        raise _make_error(form, f"this is not a {form.noun}", path)


def _require_harmless_beside(path: Path, form: DatabaseFormat) -> None:
    """Raise if SQLite would follow a file beside the database: a journal, or a log that is not a regular file of its own."""
    *logs, journal = _list_beside(path)
    if is_there(journal):
        what = f"a {form.noun} never has a rollback journal, and SQLite would delete or change the files that this one names"
        raise IntegrityError("database-journal", what, where=str(journal), fix="remove the journal, or ask who sent it")
    for log in logs:
        if is_there(log):
            _require_regular(log, form)


def _require_regular(path: Path, form: DatabaseFormat) -> None:
    """Raise InputError if a path is a link, a pipe, a device or a folder, or if its file has another name as well."""
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        what = f"a {form.noun} is a regular file, not a link, a pipe, a device or a folder; so are the files beside it"
        raise InputError("input-missing", what, where=str(path), fix="give the path of a copy of the file itself")


def _list_beside(path: Path) -> list[Path]:
    """Return the paths of the logs and of the journal of a database."""
    return [path.with_name(path.name + ending) for ending in (*_LOGS, _JOURNAL)]


def _lock(path: Path, form: DatabaseFormat) -> int | None:
    try:
        return hold(path)
    except BlockingIOError as e:
        what = f"another process has opened this {form.noun}"
        raise ConfigError("database-locked", what, where=str(path), fix="stop it first: a desk has one server") from e


def _make_error(form: DatabaseFormat, what: str, path: Path | None) -> IntegrityError:
    return IntegrityError("database-malformed", what, where=str(path or ""), fix=form.fix)


def _require_new_sqlite() -> None:
    if sqlite3.sqlite_version_info[:2] < _OLDEST:
        what = f"SQLite {sqlite3.sqlite_version} is too old"
        raise ConfigError("extra-missing", what, fix="use a Python with SQLite 3.37 or later")


@contextmanager
def _translate(path: Path | None, form: DatabaseFormat) -> Iterator[None]:
    """Convert errors of SQLite; their messages are dropped, because they may quote the content of the file."""
    try:
        yield
    except sqlite3.OperationalError as e:
        name = getattr(e, "sqlite_errorname", "")
        if name in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            what = f"another process is writing to this {form.noun}"
            raise ConfigError("database-locked", what, where=str(path or ""), fix="try again") from e
        if name.startswith(("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")):
            what, fix = f"the {form.noun} cannot be read or written ({name})", "free disk space, or check its permissions"
            raise ConfigError("output-failed", what, where=str(path or ""), fix=fix) from e
        raise _make_error(form, f"the {form.noun} cannot be read", path) from e
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):  # bugs, or a key that exists, which the caller handles
        raise
    except (sqlite3.DatabaseError, UnicodeDecodeError) as e:  # the latter if a message quotes bytes of a damaged schema
        raise _make_error(form, f"the file is damaged, or is no {form.noun}", path) from e


@contextmanager
def _close(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    finally:
        connection.close()
