"""The changes between two releases as Markdown, HTML, JSON, SSSOM and KGCL; the table of replacements.

SSSOM has one row per replaced id, with the predicate `IAO:0100001` (term replaced by), and one per suggestion, with
`oboInOwl:consider`. KGCL has a word for new, renamed and obsolete concepts, synonyms and parents, but none for types.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, get_args

from onym.errors import ConfigError, printable
from onym.evaluate.pages import render_page
from onym.kb import KnowledgeBase
from onym.kb.diff import GONE, Difference, diff
from onym.kb.replacements import REPLACEMENT_COLUMNS, SAME_NAME, SHARED_NAME, Change, Replacements, name_of, replacement_rows
from onym.outputs.rows import require_rows, write_rows
from onym.outputs.sssom import write_sssom
from onym.store.output import require_file, whole_file
from onym.types import style_id

MEANINGS = {
    "names_moved": ("Names that changed concept", "Texts with these names used to mean one concept and now mean another."),
    "split": ("Split", "The release names several concepts in place of one; each annotation has to be decided."),
    "suggested": ("Retired, with candidates", "No certain successor; the candidates come from the release or from names."),
    "retired": ("Retired without a successor", "No longer current, and the release names no successor."),
    "removed": ("Removed", "Unknown to the new release, and no concept has its names."),
    "merged": ("Merged", "Replaced by a concept that the old release already had."),
    "replaced": ("Replaced", "Replaced by a new concept."),
    "renamed": ("Renamed", "The preferred name changed; check that the concept still means the same."),
    "types_changed": ("Types changed", "Semantic types that concepts gained and lost."),
    "parents_changed": ("Parents changed", "Parents that concepts gained and lost."),
    "names_lost": ("Names lost", "Names that current concepts no longer have."),
    "names_gained": ("Names gained", "New names of current concepts."),
    "added": ("Added", "Concepts of the new release only."),
}
"""Title and meaning of each kind of change, the ones that need attention first."""
_ROWS = 1_000  # rows of one kind of change in Markdown and HTML
_IDS = frozenset({"id", "into", "added", "removed", "to"})
SSSOM_COLUMNS = (
    "subject_id", "subject_label", "predicate_id", "object_id", "object_label", "mapping_justification", "comment",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChangeSection:
    """One kind of change, as shown in a report; `hidden` counts the rows that are left out."""

    name: str
    title: str
    meaning: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hidden: int


@dataclass(frozen=True)
class ChangeReport:
    """The changes between two releases, with the knowledge bases that they come from."""

    old: KnowledgeBase
    new: KnowledgeBase
    difference: Difference

    @classmethod
    def of(cls, old: KnowledgeBase, new: KnowledgeBase) -> ChangeReport:
        """Compare two releases.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> ChangeReport.of(kb, kb).difference.kept
        3
        """
        return cls(old, new, diff(old, new))

    def facts(self) -> list[tuple[str, str]]:
        """Return the releases and the counts as rows."""
        counts = [(name.replace("_", " "), f"{count:,}") for name, count in self.difference.counts().items() if count]
        return [("old", _describe(self.old)), ("new", _describe(self.new)), *counts]

    def sections(self, limit: int = _ROWS) -> Iterator[ChangeSection]:
        """Yield the kinds of change that occur, with at most `limit` rows each."""
        frames = self.difference.frames()
        for name, (title, meaning) in MEANINGS.items():
            frame = frames[name]
            if frame.height:
                rows = tuple(tuple(_cell(cell, column) for column, cell in row.items()) for row in frame.head(limit).to_dicts())
                yield ChangeSection(name, title, meaning, tuple(frame.columns), rows, max(0, frame.height - limit))


def write_changes(report: ChangeReport, path: Path, *, force: bool = False) -> None:
    """Write the changes in the format of the file name: .md, .html, .json, .sssom.tsv or .kgcl."""
    with whole_file(path, force=force) as file:
        find_changes_writer(path)(report, file)


def find_changes_writer(path: Path) -> Callable[[ChangeReport, BinaryIO], None]:
    """Return the writer for a file name; raise ConfigError if no format has its ending.

    >>> find_changes_writer(Path("changes.doc"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [format-unknown] no format of changes has this ending...
    """
    for ending, writer in WRITERS.items():
        if path.name.endswith(ending):
            return writer
    fix = f"use a file name that ends in {', '.join(WRITERS)}"
    raise ConfigError("format-unknown", "no format of changes has this ending", where=str(path), fix=fix)


def write_replacements(old: KnowledgeBase, new: KnowledgeBase, path: Path, *, force: bool = False) -> dict[str, int]:
    """Write the table of replacements, as SSSOM if the name ends in .sssom.tsv; return the number of ids by change."""
    found = Replacements(old, new)
    is_sssom = path.name.endswith(".sssom.tsv")
    if not is_sssom:
        require_rows(path)
    rows = list(replacement_rows(found))
    with whole_file(path, force=force) as file:
        if is_sssom:
            _write_sssom(found, file)
        else:
            write_rows(rows, dict.fromkeys(REPLACEMENT_COLUMNS, str), path, file)
    counts = Counter(row[REPLACEMENT_COLUMNS.index("change")] for row in rows)
    return {change: counts[change] for change in get_args(Change) if counts[change]}


def require_changes(path: Path, *, force: bool = False) -> None:
    """Raise ConfigError, before any work, if the changes cannot be written to `path`."""
    find_changes_writer(path)
    require_file(path, force=force, may_stream=False)


def _describe(kb: KnowledgeBase) -> str:
    names = ", ".join(_names(kb))
    return f"{names} ({len(kb):,} concepts, {kb.digest})"


def _names(kb: KnowledgeBase) -> list[str]:
    """Return the file names of the sources, or the name of the folder."""
    return [entry.name.rpartition("/")[2] for entry in kb.manifest.inputs] or [kb.folder.name]


_MARKUP = re.compile(r"[\\`*_\[\]!|]")


def _cell(cell: Any, column: str) -> str:
    values = [str(each) for each in (cell if isinstance(cell, list) else [cell])]
    return "; ".join(style_id(each) if column in _IDS and ":" in each else each for each in values)


def _write_markdown(report: ChangeReport, file: BinaryIO) -> None:
    lines = ["# Changes between two releases", ""]
    lines += [f"- {name}: {_escape(value)}" for name, value in report.facts()]
    for section in report.sections():
        lines += ["", f"## {section.title}", "", section.meaning, ""]
        lines += [_row(section.columns), _row(["---"] * len(section.columns)), *map(_row, section.rows)]
        lines += ["", f"{section.hidden:,} more; the JSON file has all of them."] if section.hidden else []
    file.write("\n".join([*lines, ""]).encode())


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(map(_escape, cells))} |"


def _escape(text: str) -> str:
    """Escape the characters by which text becomes HTML, a link, an image, code or another cell."""
    return _MARKUP.sub(r"\\\g<0>", html.escape(printable(text), quote=False))


def _write_html(report: ChangeReport, file: BinaryIO) -> None:
    old, new = (_names(kb)[0] for kb in (report.old, report.new))
    values = {"old": old, "new": new, "facts": report.facts(), "sections": list(report.sections())}
    file.write(render_page("changes.html.j2", f"{old} to {new}", values).encode())


def _write_json(report: ChangeReport, file: BinaryIO) -> None:
    file.write(json.dumps(changes_to_dict(report.difference), ensure_ascii=False, indent=1).encode() + b"\n")


def changes_to_dict(difference: Difference) -> dict[str, Any]:
    """Return the counts and all changes as JSON values."""
    return {"counts": difference.counts(), **{name: frame.to_dicts() for name, frame in difference.frames().items()}}


def _write_changes_sssom(report: ChangeReport, file: BinaryIO) -> None:
    _write_sssom(Replacements(report.old, report.new), file)


def _write_sssom(found: Replacements, file: BinaryIO) -> None:
    rows = []
    for each in found.iter_gone():
        predicate = "IAO:0100001" if each.new_id else "oboInOwl:consider"
        by_name = each.why in (SAME_NAME, SHARED_NAME)
        justification = "semapv:LexicalMatching" if by_name else "semapv:UnspecifiedMatching"
        about = (style_id(each.id, "curie"), name_of(found.old, each.id), predicate)
        rows += [(*about, target, name_of(found.new, target), justification, each.why) for target in each.targets]
    versions = (("subject", found.old), ("object", found.new))
    facts = [f'{side}_source_version: "{kb.digest}"' for side, kb in versions]
    write_sssom(file, SSSOM_COLUMNS, rows, json.dumps(rows), [*facts, 'comment: "ids replaced between two releases"'])


def _write_kgcl(report: ChangeReport, file: BinaryIO) -> None:
    for line in _kgcl_lines(report.difference):
        file.write(line.encode() + b"\n")


def _kgcl_lines(changes: Difference) -> Iterator[str]:
    for concept_id, name in changes.added.iter_rows():
        yield f"create class {_kgcl_id(concept_id)} {_quote(name)}"
    for concept_id, old, new in changes.renamed.iter_rows():
        yield f"rename {_kgcl_id(concept_id)} from {_quote(old)} to {_quote(new)}"
    for group in GONE:
        for row in getattr(changes, group).to_dicts():
            yield f"obsolete {_kgcl_id(row['id'])}{_instead(row.get('into'))}"
    labels = {(concept_id, name) for concept_id, *names in changes.renamed.iter_rows() for name in names}
    for verb, frame in (("create", changes.names_gained), ("remove", changes.names_lost)):
        for concept_id, name in frame.iter_rows():
            if (concept_id, name) not in labels:
                yield f"{verb} synonym {_quote(name)} for {_kgcl_id(concept_id)}"
    for concept_id, _, added, removed in changes.parents_changed.iter_rows():
        yield from _kgcl_parents(concept_id, added, removed)


def _kgcl_parents(concept_id: str, added: list[str], removed: list[str]) -> Iterator[str]:
    own = _kgcl_id(concept_id)
    if len(added) == len(removed) == 1:
        yield f"move {own} from {_kgcl_id(removed[0])} to {_kgcl_id(added[0])}"
        return
    yield from (f"create edge {own} rdfs:subClassOf {_kgcl_id(parent)}" for parent in added)
    yield from (f"delete edge {own} rdfs:subClassOf {_kgcl_id(parent)}" for parent in removed)


def _instead(into: str | list[str] | None) -> str:
    if isinstance(into, list):
        return f" with alternative {','.join(map(_kgcl_id, into))}"
    return f" with replacement {_kgcl_id(into)}" if into else ""


def _kgcl_id(concept_id: str) -> str:
    """Return a CURIE, or an address in angle brackets if KGCL does not allow the characters of the id."""
    shown = style_id(concept_id)
    return shown if re.fullmatch(r"\w+:\w+", shown, re.ASCII) else f"<https://bioregistry.io/{concept_id}>"


def _quote(text: str) -> str:
    escaped = printable(text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


WRITERS: dict[str, Callable[[ChangeReport, BinaryIO], None]] = {
    ".md": _write_markdown,
    ".html": _write_html,
    ".json": _write_json,
    ".sssom.tsv": _write_changes_sssom,
    ".kgcl": _write_kgcl,
}
"""Writers of changes by file name ending."""
