"""The exceptions that Onym raises.

    OnymError
    +-- ConfigError      an invalid option, setting or output path (exit status 2)
    +-- InputError       an invalid or missing file or document (exit status 3)
    |   +-- UnknownConceptError   also a KeyError
    |   +-- DownloadError         a download failed or is incomplete
    +-- IntegrityError   an artefact is damaged, modified or in another format (exit status 4)
    +-- LimitError       an input exceeds a limit (exit status 6)
    +-- InternalError    an unexpected exception (exit status 1)

Each has a permanent kebab-case `code`, `what` happened, `where`, and how to `fix` it. The codes are listed in
docs/reference/errors.md. Messages never contain document text, because it may be about a patient.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from traceback import walk_tb
from typing import Any, ClassVar

_ROOT = Path(__file__).parent
_ID = re.compile(r"[\w.:/#~+@=()\[\]-]{0,64}")  # ids that are safe to show: up to 64 of these characters, no white space


class OnymError(Exception):
    """Base class of all exceptions that Onym raises.

    >>> str(InputError("input-missing", "no such file", where="kb.obo", fix="check the path"))
    '[input-missing] no such file\\n  at   kb.obo\\n  try  check the path'
    """

    exit_status: ClassVar[int] = 1

    def __init__(self, code: str, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(code, what, where, fix)
        self.code = code
        self.what = printable(what)
        self.where = printable(where)
        self.fix = printable(fix)

    def __reduce__(self) -> tuple[Any, ...]:
        """Preserve the keyword arguments when the error is pickled."""
        return _rebuild, (type(self), self.code, self.what, self.where, self.fix)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.what}"]
        if self.where:
            lines.append(f"  at   {self.where}")
        if self.fix:
            lines.append(f"  try  {self.fix}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, str]:
        """Return the error as a dict of strings, for `--json` and HTTP."""
        return {"code": self.code, "what": self.what, "where": self.where, "fix": self.fix}


class ConfigError(OnymError):
    """An invalid option, setting or output path."""

    exit_status = 2


class InputError(OnymError):
    """An invalid or missing file or document."""

    exit_status = 3


class UnknownConceptError(InputError, KeyError):
    """No concept of the knowledge base has this id, or several have it."""

    __str__ = OnymError.__str__


class DownloadError(InputError):
    """A download failed or is incomplete."""


class IntegrityError(OnymError):
    """An artefact is damaged, modified or in another format."""

    exit_status = 4


class LimitError(OnymError):
    """An input exceeds a limit."""

    exit_status = 6


class InternalError(OnymError):
    """An unexpected exception: a bug in Onym, in a plug-in or in a library."""

    exit_status = 1


def to_onym_error(error: BaseException, *, caught_in: str = "") -> OnymError:
    """Convert any exception to an `OnymError`. Messages of other exceptions are dropped, as they may contain document text.

    >>> to_onym_error(ValueError("patient Smith")).what
    'ValueError outside of Onym; this is a bug in Onym or in a plug-in'
    """
    if isinstance(error, OnymError):
        return error
    if _is_for_want_of_memory(error):
        return LimitError("memory-exhausted", "out of memory", fix="free memory, or process less at once")
    if isinstance(error, OSError):
        what, where = f"the operating system reported: {error.strerror or type(error).__name__}", error.filename
        return ConfigError("system-refused", what, where=str(where or ""), fix="fix the cause and run the command again")
    what = f"{type(error).__name__} {_location(error, caught_in)}; this is a bug in Onym or in a plug-in"
    return InternalError("internal-error", what, fix="report it; add the output of --debug if it contains no patient data")


def is_failure(error: BaseException) -> bool:
    """Return True for exceptions and panics of Rust libraries, False for KeyboardInterrupt and SystemExit.

    >>> is_failure(ValueError()), is_failure(KeyboardInterrupt())
    (True, False)
    """
    return isinstance(error, Exception) or is_panic(error)


def is_panic(error: BaseException) -> bool:
    """Return whether this is a panic of a Rust library, which does not derive from `Exception`.

    >>> is_panic(ValueError())
    False
    """
    return type(error).__name__ == "PanicException"


def _is_for_want_of_memory(error: BaseException | None) -> bool:
    seen: set[int] = set()  # the chain of causes may contain a cycle
    while error is not None and id(error) not in seen:
        if isinstance(error, MemoryError) or (isinstance(error, ImportError) and "failed to map segment" in str(error)):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _location(error: BaseException, caught_in: str) -> str:
    """Return file and line of the innermost frame of Onym's code, ignoring the module `caught_in`."""
    lines = [(Path(frame.f_code.co_filename), line) for frame, line in walk_tb(error.__traceback__)]
    own = [(path, line) for path, line in lines if path.is_relative_to(_ROOT) and path != Path(caught_in)]
    return f"in {own[-1][0].relative_to(_ROOT).as_posix()}:{own[-1][1]}" if own else "outside of Onym"


def printable(text: str) -> str:
    r"""Escape control characters, so that an untrusted name cannot forge a log line or send terminal escape sequences.

    >>> printable("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def format_id(document_id: str) -> str:
    """Return a document id that is safe to show in messages and logs.

    In a damaged file, an id may contain document text. So an id that is longer than 64 characters, or that contains white space
    or other characters unusual in ids, is replaced by the start of its SHA-256.

    >>> format_id("PMC12.1#2"), format_id("the patient fell")
    ('PMC12.1#2', 'id~595d92a484770b07')
    """
    if _ID.fullmatch(document_id):
        return document_id
    return f"id~{hashlib.sha256(document_id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def missing_extra(what: str, extra: str) -> ConfigError:
    """Build the error for a feature whose optional dependencies are not installed.

    >>> missing_extra("training a reranker", "train").fix
    "pip install 'onym[train]'"
    """
    return ConfigError("extra-missing", f"{what} needs packages that are not installed", fix=f"pip install 'onym[{extra}]'")


def _rebuild(kind: type[OnymError], code: str, what: str, where: str, fix: str) -> OnymError:
    return kind(code, what, where=where, fix=fix)
