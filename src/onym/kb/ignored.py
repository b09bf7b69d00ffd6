"""Lists the files of a release that its reader did not read, with the reason and how to read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onym.errors import OnymError
from onym.kb import readers
from onym.store.files.source import InputFile, Source

_TABLES = (".csv", ".tsv", ".xlsx")
_SHOWN = 8  # maximum number of file names per line


@dataclass(frozen=True, slots=True)
class IgnoredFile:
    """A file that was not read. `fix` says how to read it, if that is possible."""

    name: str
    why: str
    fix: str = ""


def find_ignored(source: Source, format_name: str) -> list[IgnoredFile]:
    """Return the files of a release that were not read; call it after reading.

    >>> release = Source.of_files("mesh", [InputFile.from_bytes("LICENSE", b"free"), InputFile.from_bytes("hp.obo", b"")])
    >>> _ = list(readers.read(release, "obo"))
    >>> [(file.name, file.why) for file in find_ignored(release, "obo")]
    [('LICENSE', 'not part of the format obo, and no other format is recognised')]
    """
    unread = [_describe(file, format_name) for file in source.files if not file.was_read]
    return unread + [IgnoredFile(entry.name, entry.why) for entry in source.skipped]


def _describe(file: InputFile, format_name: str) -> IgnoredFile:
    try:
        other = readers.detect(Source(file.name, (file,)))
    except OnymError as e:
        return _describe_unknown(file, format_name) if e.code == "format-unknown" else IgnoredFile(file.name, e.what, e.fix)
    if other == format_name:
        return IgnoredFile(file.name, f"not used by the reader of {format_name}")
    fix = f"--format {other} reads only this format; to read both, add the file as another source"
    return IgnoredFile(file.name, f"format {other}, but the release is read as {format_name}", fix)


def _describe_unknown(file: InputFile, format_name: str) -> IgnoredFile:
    if file.stem.endswith(_TABLES):
        fix = "add the file as a separate source, with --column id=COLUMN --column name=COLUMN"
        return IgnoredFile(file.name, "a table without a known id and name column", fix)
    why = f"not part of the format {format_name}, and no other format is recognised"
    return IgnoredFile(file.name, why, "if it is a terminology, add the file as a separate source, with --format")


def summarise_ignored(files: Iterable[IgnoredFile]) -> list[str]:
    """Return one line per reason, with the number of files and the first names.

    >>> summarise_ignored([IgnoredFile("mesh/LICENSE", "unknown"), IgnoredFile("mesh/a.txt", "empty", "fill it")])
    ['ignored 1 file (unknown): mesh/LICENSE', 'ignored 1 file (empty): mesh/a.txt; fill it']
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for file in files:
        groups.setdefault((file.why, file.fix), []).append(file.name)
    return [_line(why, fix, names) for (why, fix), names in groups.items()]


def _line(why: str, fix: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
    what = "1 file" if len(names) == 1 else f"{len(names):,} files"
    return f"ignored {what} ({why}): {shown}" + (f"; {fix}" if fix else "")
