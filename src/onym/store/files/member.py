"""What the members of an archive or of a folder must be: not too many, and none with a name that leads out."""

from __future__ import annotations

from pathlib import PurePosixPath

from onym.errors import InputError, LimitError
from onym.store.limits import Limits


def require_few(count: int, where: str, limits: Limits) -> None:
    """Refuse more files than a release may have."""
    if count > limits.archive_members:
        raise too_many(where, limits)


def too_many(where: str, limits: Limits) -> LimitError:
    """Return the error of too many files."""
    return LimitError("limit-members", f"more than {limits.archive_members:,} files", where=where)


def require_safe_name(name: str, where: str) -> None:
    """Refuse a name that leads out of the archive, on any system."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0] or "\x00" in name or not name:
        raise InputError("archive-path", "a member's name leads out of the archive", where=f"{where}: {name}")
