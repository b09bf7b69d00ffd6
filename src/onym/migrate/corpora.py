"""Migrates annotated corpora in any format: files, folders and archives.

The output has the files of the source. Documents whose ids are all current keep their bytes, and so do documents that have
problems or cannot be rewritten: their new ids become suggestions. A file without any changed document is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import groupby, zip_longest
from pathlib import Path
from typing import BinaryIO

from onym.corpora.base import Item, Segment, documents_of
from onym.corpora.problems import KEEPS_ALL
from onym.corpora.reading import Group, Reading, first_error, plan_of
from onym.errors import InputError
from onym.migrate.audit import Migrated
from onym.migrate.links import LinkMigrator, LinkRecord, MigratedDocument, hold_back, migrate_document
from onym.migrate.rewriting import Rewriter, patch
from onym.store.files.encodings import as_utf8
from onym.store.files.source import InputFile, Source
from onym.store.hidden import scratch_folder
from onym.store.output import CODECS, Folder, compress_into, copy_stream, require_file, require_folder, whole_file, whole_folder
from onym.types import Document, Problem

_Open = Callable[[str], AbstractContextManager[BinaryIO]]
_PATCHED_BYTES = 64 * 1024 * 1024  # a larger file whose documents cannot be found in its bytes is written anew
_HAS_PROBLEMS = "the document has problems"
_NOT_WRITTEN = "the format cannot store the changed document"
_NO_SEGMENT = Segment(True, b"")


def iter_corpus_records(
    source: Source,
    format: str,  # noqa: A002
    out: Path,
    migrator: LinkMigrator,
    result: Migrated,
    *,
    force: bool = False,
) -> Iterator[LinkRecord]:
    """Migrate a corpus, and yield what became of every link. The output appears when the iterator is exhausted."""
    plan = plan_of(source, format)
    if not plan.groups:
        raise first_error([plan], source.name)
    files = {file.name: file for file in source.files}
    codec = _codec_of(out.name) if is_single_file(source) else None
    with open_output(source, out, force=force) as output:
        for planned in plan.files:
            if planned.state != "read":
                result.files.append(planned)
                if planned.name in files:
                    with output(planned.name) as copy:
                        _copy(files[planned.name], copy, _codec_of(planned.name))
        for group in plan.groups:
            yield from _GroupMigration(group, output, codec, migrator, result).run()


def is_single_file(source: Source) -> bool:
    """Return whether the source is one file, and not a folder or an archive."""
    return len(source.files) == 1 and source.files[0].name == source.name


def require_corpus_output(source: Source, out: Path, *, force: bool = False) -> None:
    """Raise ConfigError, before any work, if the output cannot be written."""
    if is_single_file(source):
        require_file(out, force=force)
    else:
        require_folder(out, force=force)


@contextmanager
def open_output(source: Source, out: Path, *, force: bool = False) -> Iterator[_Open]:
    """Yield a function that opens the output of a file: a file in a folder, or the only file."""
    if is_single_file(source):
        with whole_file(out, force=force) as file:
            yield lambda _: nullcontext(file)
        return
    with whole_folder(out, force=force) as folder:
        yield lambda name: _open_inner(folder, name)


def _open_inner(folder: Folder, name: str) -> AbstractContextManager[BinaryIO]:
    *folders, last = name.split("/")
    for each in folders:
        folder = folder.inner(each)
    return folder.file(last)


class _GroupMigration:
    """Migrates one file, or several files that are read together."""

    def __init__(self, group: Group, output: _Open, codec: str | None, migrator: LinkMigrator, result: Migrated) -> None:
        """`codec` is the codec of the output if it is one file; in a folder, the names of files decide."""
        self._group, self._output, self._result, self._migrator, self._codec = group, output, result, migrator, codec
        self._rewriter = Rewriter(group.format, migrator)
        self._is_failed = self._is_changed = False

    def run(self) -> Iterator[LinkRecord]:
        """Write the files, and yield what became of every link."""
        self._reading = Reading.of_groups([self._group])
        if hasattr(self._rewriter.form, "iter_segments"):
            yield from self._run_segments()
        else:
            yield from self._run_whole()
        self._result.files += self._reading.files

    def _run_segments(self) -> Iterator[LinkRecord]:
        """Replace changed documents, and write all other bytes as they are."""
        files = self._group.files
        with ExitStack() as stack:
            outputs = [stack.enter_context(self._output(file.name)) for file in files]
            codecs = [self._codec_for(file) for file in files]
            with ExitStack() as packing:
                packed = [packing.enter_context(compress_into(*pair)) for pair in zip(outputs, codecs, strict=True)]
                yield from self._write_segments(packed)
            if not self._is_changed:
                for file, output, codec in zip(files, outputs, codecs, strict=True):
                    output.seek(0)
                    output.truncate()
                    _copy(file, output, codec)

    def _write_segments(self, outputs: Sequence[BinaryIO]) -> Iterator[LinkRecord]:
        items = iter(_by_ordinal(self._reading))
        files = [as_utf8(file, self._group.options.encoding) for file in self._group.files]
        found = [self._rewriter.form.iter_segments(file) for file in files]  # type: ignore[attr-defined]
        for segments in zip_longest(*found, fillvalue=_NO_SEGMENT):
            parts = [segment.data for segment in segments]
            if segments[-1].is_document and not self._is_failed:
                document, problems = self._take(items)
                if document:
                    migrated = self._migrate(document, problems, parts)
                    yield from migrated.records
                    parts[-1] = self._new
            for part, output in zip(parts, outputs, strict=True):
                output.write(part)
        document, problems = next(items, (None, []))
        self._note(problems)
        if document or (not self._is_failed and problems):
            raise self._refuse()

    def _take(self, items: Iterator[tuple[Document | None, list[Problem]]]) -> tuple[Document | None, list[Problem]]:
        """Return the next document, or None if it could not be read, and its problems."""
        document, problems = next(items, (None, []))
        self._note(problems)
        if document is None and not problems:
            raise self._refuse()
        return document, problems

    def _note(self, problems: Sequence[Problem]) -> None:
        """Record problems. After an error of the file, the rest of it is copied."""
        self._result.problems += problems
        self._is_failed = self._is_failed or any(problem.ordinal == 0 for problem in problems)

    def _migrate(self, document: Document, problems: Sequence[Problem], parts: Sequence[bytes]) -> MigratedDocument:
        """Migrate a document, and set `_new` to its new bytes."""
        self._new = parts[-1]
        migrated = self._decide(document, problems)
        if not migrated.is_changed:
            return migrated
        data = self._rewriter.rewrite(self._group.files, parts, document, migrated)
        if data is None:
            return self._hold_back(migrated, document, _NOT_WRITTEN)
        self._new, self._is_changed = data, True
        self._result.changed += 1
        return migrated

    def _decide(self, document: Document, problems: Sequence[Problem]) -> MigratedDocument:
        self._result.documents += 1
        migrated = migrate_document(document, self._migrator, keep_old=self._rewriter.keeps_old)
        lost = [problem for problem in problems if problem.code not in KEEPS_ALL]
        return hold_back(migrated, document, _HAS_PROBLEMS) if lost and migrated.is_changed else migrated

    def _hold_back(self, migrated: MigratedDocument, document: Document, why: str) -> MigratedDocument:
        what = "the document keeps its old ids, because its format cannot store the changed document"
        where = document.source, document.ordinal
        self._result.problems.append(Problem(document.id, "migrate-not-written", what, "", *where))
        return hold_back(migrated, document, why)

    def _run_whole(self) -> Iterator[LinkRecord]:
        """Migrate a file in whose bytes the documents cannot be found, such as Parquet: it is patched or written anew."""
        changed: dict[int, tuple[Document, MigratedDocument]] = {}
        for document, problems in _by_ordinal(self._reading):
            self._result.problems += problems
            if document:
                migrated = self._decide(document, problems)
                if migrated.is_changed:
                    changed[document.ordinal] = (document, migrated)
                else:
                    yield from migrated.records
        with ExitStack() as stack:
            outputs = [stack.enter_context(self._output(file.name)) for file in self._group.files]
            is_written = bool(changed) and self._write_whole(changed, outputs[-1])
            for file, output in zip(self._group.files, outputs, strict=True):
                if not is_written or output is not outputs[-1]:
                    _copy(file, output, self._codec_for(file))
        for document, migrated in changed.values():
            yield from (migrated if is_written else self._hold_back(migrated, document, _NOT_WRITTEN)).records
        self._result.changed += len(changed) if is_written else 0

    def _write_whole(self, changed: dict[int, tuple[Document, MigratedDocument]], output: BinaryIO) -> bool:
        """Write a file with its changed documents; return False if no attempt reads as them."""

        def iter_documents(*, is_new: bool) -> Iterator[Document]:
            for each in documents_of(Reading.of_groups([self._group])):
                yield changed[each.ordinal][1].document if is_new and each.ordinal in changed else each

        pairs = {pair for _, each in changed.values() for pair in (each.moves or {}).items()}
        is_clear = all(each.moves is not None for _, each in changed.values()) and len(dict(pairs)) == len(pairs)
        *others, last = self._group.files
        with scratch_folder() as folder:
            path = folder / "new"
            for is_patch in (True, False) if is_clear and last.size < _PATCHED_BYTES else (False,):
                if is_patch:
                    _patch_file(last, path, dict(pairs))
                else:
                    self._rewriter.write_file(iter_documents(is_new=True), path)
                files = [*others, InputFile.from_path(path, last.name, last.limits)]
                if self._rewriter.reads_as(files, iter_documents(is_new=False), iter_documents(is_new=True), dict(pairs)):
                    with path.open("rb") as new, compress_into(output, self._codec_for(last)) as packed:
                        copy_stream(new, packed)
                    return True
        return False

    def _codec_for(self, file: InputFile) -> str:
        return _codec_of(file.name) if self._codec is None else self._codec

    def _refuse(self) -> InputError:
        fix = "convert the corpus first, with onym corpus convert"
        return InputError("migrate-unaligned", "its documents cannot be found in the file", where=self._group.name, fix=fix)


def _by_ordinal(items: Iterable[Item]) -> Iterator[tuple[Document | None, list[Problem]]]:
    """Yield each document with its problems; the document is None if it could not be read."""
    for _, group in groupby(items, key=lambda item: item.ordinal):
        found = list(group)
        documents = [each for each in found if isinstance(each, Document)]
        yield (documents[0] if documents else None), [each for each in found if isinstance(each, Problem)]


def _codec_of(name: str) -> str:
    return CODECS.get(Path(name).suffix.lower(), "")


def _is_packed(file: InputFile) -> bool:
    with file.opener() as raw:
        return raw.read(4).startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))


def _copy(file: InputFile, output: BinaryIO, codec: str) -> None:
    """Copy a file byte for byte; only if it is to be packed or unpacked, its content."""
    if bool(codec) == _is_packed(file):
        with file.opener() as raw:
            copy_stream(raw, output)
        return
    with file.open() as stream, compress_into(output, codec) as packed:
        copy_stream(stream, packed)


def _patch_file(file: InputFile, path: Path, moves: Mapping[str, str]) -> None:
    with file.open() as stream, whole_file(path, force=True) as new:
        new.write(patch(stream.read(), moves))
