"""Replays a record of writes to derive the possible disk contents after a power cut.

A file's data is safe once the file has been synced, and a name in a folder once the folder has been synced. Anything else may
be lost. `shim.c` writes the record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


@dataclass(eq=False)
class File:
    """A file: its data as processes see it, and its synced data."""

    data: bytearray = field(default_factory=bytearray)
    safe: bytes = b""


@dataclass(eq=False)
class Folder:
    """A folder: its entries as processes see them, and its synced entries."""

    names: dict[str, Folder | File] = field(default_factory=dict)
    safe: dict[str, Folder | File] = field(default_factory=dict)


class Write(NamedTuple):
    """One line of a record: a call, its path, a second path, an offset, and bytes."""

    call: str
    path: str
    second: str
    offset: int
    data: bytes


POLICIES = ("kept", "dropped", "names-dropped", "torn", "emptied")
"""What becomes of what was not synced: all of it is there; nothing is; data is there, but new names are not; names are there,
but half of the data is zeros; names are there, but no data."""

Tree = dict[str, bytes | None]
"""The files of a folder by their paths; None is a folder."""


def read_record(path: Path, root: Path) -> list[Write]:
    """Read a record; make its paths relative to `root`."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        end = data.index(b"\n", at)
        call, first, second, offset, size = data[at:end].decode().split("\t")
        at = end + 1 + int(size)
        found.append(Write(call, _relative(first, root), _relative(second, root), int(offset), data[end + 1 : at]))
    return list(_with_hidden_renames(found))


def _with_hidden_renames(record: list[Write]) -> Iterator[Write]:
    """Yield the writes. Insert a rename before a write to a file that has another name than when it was created."""
    paths: dict[int, str] = {}  # current path of each created file, by inode
    for write in record:
        if write.call == "create":
            paths[write.offset] = write.path
        elif write.call == "open":
            before = paths.get(write.offset, write.path)
            if before != write.path:
                paths[write.offset] = write.path
                yield Write("rename", before, write.path, 0, b"")
            continue
        elif write.call == "unlink":
            paths = {inode: path for inode, path in paths.items() if path != write.path}
        elif write.call == "rename":
            paths = {
                inode: _path_after_rename(path, write.path, write.second)
                for inode, path in paths.items()
                if path != write.second
            }
        yield write


def _path_after_rename(path: str, old: str, new: str) -> str:
    """Return a file's path after renaming it or one of its parent folders."""
    return new + path.removeprefix(old) if path == old or path.startswith(f"{old}/") else path


def _relative(path: str, root: Path) -> str:
    return Path(path).relative_to(root).as_posix() if path and Path(path) != root else ""


def load(folder: Path) -> Folder:
    """Load a folder from disk; all of it counts as synced."""
    found = Folder()
    for path in folder.iterdir():
        data = path.read_bytes() if path.is_file() else b""
        found.names[path.name] = load(path) if path.is_dir() else File(bytearray(data), data)
    found.safe = dict(found.names)
    return found


def iter_states(base: Path, writes: list[Write]) -> Iterator[tuple[int, str, Tree]]:
    """Yield the possible disk content for every prefix of the writes and every policy."""
    root = load(base)
    for number in range(len(writes) + 1):
        if number:
            apply(root, writes[number - 1])
        for policy in POLICIES:
            tree: Tree = {}
            _collect(root, policy, "", tree)
            yield number, policy, tree


def apply(root: Folder, write: Write) -> None:
    """Apply a write to a folder."""
    if write.call == "sync":
        _sync(_at(root, write.path))
        return
    parent, name = _parent(root, write.path)
    if write.call == "create":
        parent.names[name] = File()
    elif write.call == "mkdir":
        parent.names[name] = Folder()
    elif write.call in ("unlink", "rmdir"):
        del parent.names[name]
    elif write.call == "rename":
        target, other = _parent(root, write.second)
        target.names[other] = parent.names.pop(name)
    else:
        _write(parent.names[name], write)


def _write(file: Folder | File, write: Write) -> None:
    if not isinstance(file, File):
        raise TypeError(f"{write.path} is not a file")
    if write.call == "truncate":
        file.data.clear()
        return
    end = write.offset + len(write.data)
    file.data.extend(bytes(max(0, end - len(file.data))))
    file.data[write.offset : end] = write.data


def _sync(node: Folder | File) -> None:
    if isinstance(node, File):
        node.safe = bytes(node.data)
    else:
        node.safe = dict(node.names)


def _parent(root: Folder, path: str) -> tuple[Folder, str]:
    above, _, name = path.rpartition("/")
    found = _at(root, above)
    if not isinstance(found, Folder):
        raise TypeError(f"{above} is not a folder")
    return found, name


def _at(root: Folder, path: str) -> Folder | File:
    found: Folder | File = root
    for name in filter(None, path.split("/")):
        if not isinstance(found, Folder):
            raise TypeError(f"{path} does not exist")
        found = found.names[name]
    return found


def _collect(folder: Folder, policy: str, prefix: str, tree: Tree) -> None:
    for name, node in (folder.safe if policy in ("dropped", "names-dropped") else folder.names).items():
        if isinstance(node, Folder):
            tree[prefix + name] = None
            _collect(node, policy, f"{prefix}{name}/", tree)
        else:
            tree[prefix + name] = _content(node, policy)


def _content(file: File, policy: str) -> bytes:
    data = bytes(file.data)
    if policy in ("kept", "names-dropped") or data == file.safe:
        return data
    if policy == "torn":
        return data[: len(data) // 2] + bytes(len(data) - len(data) // 2)
    return file.safe


def digest_of(tree: Tree) -> str:
    """Return a digest of a tree; equal trees have equal digests."""
    found = hashlib.sha256()
    for path, data in sorted(tree.items()):
        found.update(f"{path}\0{-1 if data is None else len(data)}\0".encode() + (data or b""))
    return found.hexdigest()


def write_tree(tree: Tree, folder: Path) -> None:
    """Write a tree to the disk."""
    for path, data in tree.items():
        if data is None:
            (folder / path).mkdir(parents=True, exist_ok=True)
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
