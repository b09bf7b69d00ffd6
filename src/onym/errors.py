"""Every error that Onym raises on purpose.

    OnymError
    +-- ConfigError      the caller asked for something that cannot be (exit status 2)
    +-- InputError       a file or a document is not what it should be (exit status 3)
    |   +-- UnknownConceptError   also a KeyError
    |   +-- DownloadError         a release could not be fetched whole
    +-- IntegrityError   an artefact is torn, changed or of another format (exit status 4)
    +-- LimitError       something is larger than the limits allow (exit status 6)
    +-- InternalError    something that nobody foresaw (exit status 1)

Each carries a permanent kebab-case `code`, `what` happened, `where`, and how to `fix` it. The codes are listed in
docs/reference/errors.md. No message ever holds the text of a document: it may be about a patient.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from traceback import walk_tb
from typing import Any, ClassVar

_ROOT = Path(__file__).parent
_ID = re.compile(r"[\w.:/#~+@=()\[\]-]{0,64}")  # what ids are made of; no white space


class OnymError(Exception):
    """The root of all errors raised on purpose.

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
        """Carry the keyword arguments too when an error crosses from one process to another."""
        return _rebuild, (type(self), self.code, self.what, self.where, self.fix)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.what}"]
        if self.where:
            lines.append(f"  at   {self.where}")
        if self.fix:
            lines.append(f"  try  {self.fix}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, str]:
        """Return the error as plain values, for `--json` and HTTP."""
        return {"code": self.code, "what": self.what, "where": self.where, "fix": self.fix}


class ConfigError(OnymError):
    """The caller asked for something that cannot be."""

    exit_status = 2


class InputError(OnymError):
    """A file or a document is not what it should be."""

    exit_status = 3


class UnknownConceptError(InputError, KeyError):
    """No concept of the knowledge base has this id, or several have it."""

    __str__ = OnymError.__str__


class DownloadError(InputError):
    """A release could not be fetched whole."""


class IntegrityError(OnymError):
    """An artefact is torn, changed or of another format."""

    exit_status = 4


class LimitError(OnymError):
    """Something is larger than the limits allow."""

    exit_status = 6


class InternalError(OnymError):
    """Something that nobody foresaw: a bug in Onym, in a plug-in or in a library."""

    exit_status = 1


def to_onym_error(error: BaseException, *, caught_in: str = "") -> OnymError:
    """Return an error as one of ours. The message of a foreign one may hold text, so it is left out.

    >>> to_onym_error(ValueError("patient Smith")).what
    'ValueError outside of Onym; this is a bug in Onym or in a plug-in'
    """
    if isinstance(error, OnymError):
        return error
    if _is_for_want_of_memory(error):
        return LimitError("memory-exhausted", "there is not enough memory", fix="give it more, or less to do at once")
    if isinstance(error, OSError):
        what, where = f"the system refused: {error.strerror or type(error).__name__}", error.filename
        return ConfigError("system-refused", what, where=str(where or ""), fix="mend that and run it again")
    what = f"{type(error).__name__} {_location(error, caught_in)}; this is a bug in Onym or in a plug-in"
    return InternalError("internal-error", what, fix="report it with what --debug shows, if that may be shown")


def is_failure(error: BaseException) -> bool:
    """Tell whether something failed, a library in Rust included; an interrupt and the end of a program are no failures.

    >>> is_failure(ValueError()), is_failure(KeyboardInterrupt())
    (True, False)
    """
    return isinstance(error, Exception) or is_panic(error)


def is_panic(error: BaseException) -> bool:
    """Tell whether a library in Rust gave up: what it raises then is no `Exception`.

    >>> is_panic(ValueError())
    False
    """
    return type(error).__name__ == "PanicException"


def _is_for_want_of_memory(error: BaseException | None) -> bool:
    seen: set[int] = set()  # an error that was raised again may be among its own causes
    while error is not None and id(error) not in seen:
        if isinstance(error, MemoryError) or (isinstance(error, ImportError) and "failed to map segment" in str(error)):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _location(error: BaseException, caught_in: str) -> str:
    """Return the innermost line of Onym that an exception passed, besides the module that caught it."""
    lines = [(Path(frame.f_code.co_filename), line) for frame, line in walk_tb(error.__traceback__)]
    own = [(path, line) for path, line in lines if path.is_relative_to(_ROOT) and path != Path(caught_in)]
    return f"in {own[-1][0].relative_to(_ROOT).as_posix()}:{own[-1][1]}" if own else "outside of Onym"


def printable(text: str) -> str:
    r"""Escape control characters, so that a hostile name can neither forge a log line nor drive a terminal.

    >>> printable("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def format_id(document_id: str) -> str:
    """Return a document's id as messages, logs and problems show it.

    In a damaged file, text may stand where an id should. So an id of more than 64 characters, or with white space or other
    characters that ids do not have, is shown as the beginning of its SHA-256.

    >>> format_id("PMC12.1#2"), format_id("the patient fell")
    ('PMC12.1#2', 'id~595d92a484770b07')
    """
    if _ID.fullmatch(document_id):
        return document_id
    return f"id~{hashlib.sha256(document_id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def missing_extra(what: str, extra: str) -> ConfigError:
    """Return the error of a part that is not installed.

    >>> missing_extra("TF-IDF similarity", "lexical").fix
    "pip install 'onym[lexical]'"
    """
    return ConfigError("extra-missing", f"{what} needs packages that are not installed", fix=f"pip install 'onym[{extra}]'")


def _rebuild(kind: type[OnymError], code: str, what: str, where: str, fix: str) -> OnymError:
    return kind(code, what, where=where, fix=fix)
