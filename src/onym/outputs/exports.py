"""Links and mappings as files for hospitals: which format the name of a file says, and what each needs.

| format | links of documents | mappings of terms |
|---|---|---|
| FHIR | `*.fhir.ndjson` | `*.fhir.json` |
| OMOP | `*note_nlp.csv` | `*source_to_concept_map.csv` |
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onym.errors import ConfigError
from onym.linkers.base import AnswerSource
from onym.outputs.fhir import write_concept_map, write_fhir
from onym.outputs.omop import CONCEPTS, SOURCE_VOCABULARY, NoteNlp, OmopConcepts, SourceMap, write_note_nlp, write_source_map
from onym.outputs.terms import TermMapping
from onym.outputs.vocabularies import Vocabularies, require_uri, require_vocabulary_id
from onym.store.files.source import InputFile
from onym.store.output import require_file, whole_file
from onym.types import FhirVersion, LinkedDocument

FHIR, OMOP = "fhir", "omop"
EXPORTS = (FHIR, OMOP)
_LINKED = {".fhir.ndjson": FHIR, "note_nlp.csv": OMOP}
_MAPPED = {".fhir.json": FHIR, "source_to_concept_map.csv": OMOP}


@dataclass(frozen=True)
class ExportOptions:
    """What a person may say of an export. None of it is of use to other formats.

    `omop_vocabulary` is the folder of a download from Athena. `nlp_date` and `note_keys` are of `note_nlp` alone;
    `code_column`, `source_system` and `fhir_version` are of mappings alone.
    """

    vocabularies: Vocabularies = field(default_factory=Vocabularies)
    omop_vocabulary: Path | None = None
    nlp_date: datetime.date | None = None
    note_keys: Path | None = None
    code_column: str = ""
    source_system: str = ""
    fhir_version: FhirVersion | None = None

    @classmethod
    def of(cls, code_systems: Sequence[str] = (), nlp_date: str = "", **more: Any) -> ExportOptions:
        """Make them of words: `PREFIX=NAME` for vocabularies, and a day as `2026-01-31`."""
        return cls(Vocabularies.parse(code_systems), nlp_date=_day(nlp_date) if nlp_date else None, **more)

    @property
    def is_empty(self) -> bool:
        """True where nothing was said."""
        return self.vocabularies.is_empty and self == ExportOptions(self.vocabularies)

    def concepts(self, prefixes: Iterable[str]) -> OmopConcepts:
        """Read OMOP's ids of vocabularies, such as those of a knowledge base's `order`; without a folder there are none."""
        if self.omop_vocabulary is None:
            return OmopConcepts()
        return OmopConcepts.read(self.omop_vocabulary, {self.vocabularies.omop_id(prefix) for prefix in prefixes})


NO_OPTIONS = ExportOptions()


def linked_export(path: Path) -> str:
    """Return the format of a file of links, by its name; none is an empty string.

    >>> linked_export(Path("ward.fhir.ndjson")), linked_export(Path("note_nlp.csv")), linked_export(Path("links.csv"))
    ('fhir', 'omop', '')
    """
    return next((form for end, form in _LINKED.items() if path.name.endswith(end)), "")


def mapping_export(path: Path) -> str:
    """Return the format of a file of mappings, by its name; none is an empty string.

    >>> mapping_export(Path("terms.fhir.json")), mapping_export(Path("terms.tsv"))
    ('fhir', '')
    """
    return next((form for end, form in _MAPPED.items() if path.name.endswith(end)), "")


def require_linked_export(path: Path, format: str, options: ExportOptions, *, force: bool = False) -> None:  # noqa: A002
    """Refuse, before any work, options that do not fit the format, or leave a column of it without a value."""
    if format not in EXPORTS:
        _require_no_options(options)
        return
    _require_vocabularies(format, options)
    if format == FHIR and (options.nlp_date or options.note_keys):
        raise ConfigError("config-invalid", "--nlp-date and --note-keys are options of omop", fix="leave them away")
    if format == OMOP and options.nlp_date is None:
        fix = "give the day of the run, as in --nlp-date 2026-01-31"
        raise ConfigError("omop-date", "note_nlp needs an nlp_date", fix=fix)
    if options.note_keys is not None:
        if options.note_keys == path:
            raise ConfigError("config-invalid", "the keys of notes need a file of their own", where=str(path))
        require_file(options.note_keys, force=force)


def require_mapping_export(path: Path, options: ExportOptions) -> None:
    """Refuse, before any work, options that do not fit the format that the name of the output says."""
    form = mapping_export(path)
    if not form:
        _require_no_options(options)
        return
    _require_vocabularies(form, options)
    if options.source_system:
        (require_uri if form == FHIR else require_vocabulary_id)(options.source_system)
    if form == OMOP and options.fhir_version:
        raise ConfigError("config-invalid", "--fhir-version is an option of .fhir.json", fix="leave it away")
    if form == OMOP and options.omop_vocabulary is None:
        fix = f"give the folder of a download from Athena, with {CONCEPTS}: --omop-vocabulary FOLDER"
        raise ConfigError("omop-concepts", "source_to_concept_map has no column for codes, and needs OMOP's ids", fix=fix)


def write_linked_export(
    linked: Iterable[LinkedDocument],
    path: Path,
    format: str,  # noqa: A002
    options: ExportOptions = NO_OPTIONS,
    *,
    source: dict[str, Any],
    text: bool = True,
    force: bool = False,
) -> None:
    """Write linked documents. `source` is what answers depend on (`source_of`); without `text`, no text of them is written."""
    require_linked_export(path, format, options, force=force)
    with ExitStack() as stack:
        if format == FHIR:
            write_fhir(linked, stack.enter_context(whole_file(path, force=force)), options.vocabularies, text=text)
            return
        concepts = options.concepts(source["order"]["vocabularies"])
        table = NoteNlp(options.nlp_date or datetime.date.min, _system(source), options.vocabularies, concepts, text)
        file = stack.enter_context(whole_file(path, force=force))  # which appears after its keys
        keys = stack.enter_context(whole_file(options.note_keys, force=force)) if options.note_keys else None
        write_note_nlp(linked, table, file, keys)


def write_mapping_export(
    mappings: Iterable[TermMapping],
    columns: Sequence[str],
    linker: AnswerSource,
    path: Path,
    options: ExportOptions = NO_OPTIONS,
    *,
    counts: Counter[str],
    force: bool = False,
) -> None:
    """Write mappings as the name of the file says."""
    require_mapping_export(path, options)
    code_column = columns.index(options.code_column) if options.code_column else None
    if mapping_export(path) == FHIR:
        with whole_file(path, force=force) as file:
            write_concept_map(
                mappings,
                linker,
                file,
                version=options.fhir_version or "R4B",
                vocabularies=options.vocabularies,
                code_column=code_column,
                source=options.source_system,
            )
        return
    named = options.source_system or SOURCE_VOCABULARY
    table = SourceMap(options.concepts(linker.kb.order.vocabularies), named, code_column, options.vocabularies)
    with whole_file(path, force=force) as file:
        write_source_map(mappings, table, counts, file)


def _require_no_options(options: ExportOptions) -> None:
    if not options.is_empty:
        what = "--code-system, --omop-vocabulary and the like are options of FHIR and OMOP"
        raise ConfigError("config-invalid", what, fix="name an output that ends as these formats do, or leave them away")


def _require_vocabularies(format: str, options: ExportOptions) -> None:  # noqa: A002
    if format == FHIR:
        options.vocabularies.require_uris()
        if options.omop_vocabulary:
            raise ConfigError("config-invalid", "--omop-vocabulary is an option of omop", fix="leave it away")
        return
    options.vocabularies.require_omop_ids()
    if options.omop_vocabulary is not None:
        InputFile.from_path(options.omop_vocabulary / CONCEPTS)


def _system(source: dict[str, Any]) -> str:
    return f"onym {source['onym']}; linker {source['linker']['linker']}; knowledge base {source['kb']['digest'][:16]}"


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as e:
        raise ConfigError("omop-date", f"{text!r} is no day", fix="write it as 2026-01-31") from e
