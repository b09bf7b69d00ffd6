"""Protocols and options of output formats, and the choice of a format by file name.

A format is a module of `onym.outputs`, or a plug-in in the entry-point group `onym.outputs`. It is a `Writer` of linked
documents, a `TermWriter` of mapped terms, or both. Each format declares its file-name endings; the longest match wins.
Linked documents can also be written in corpus formats: see `onym.outputs.links`.

`Vocabularies` maps id prefixes to vocabulary names in FHIR and OMOP: user-defined names, else those in `vocabularies.toml`.
For an unknown prefix, the FHIR URI is `urn:onym:vocabulary:PREFIX`.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol, cast

from onym.corpora.base import Style
from onym.errors import ConfigError
from onym.outputs.terms import TermMapping
from onym.pipeline.pipeline import Pipeline
from onym.registry import OUTPUTS
from onym.store.output import whole_file
from onym.types import IdStyle, LinkedDocument
from onym.vocabularies import FhirVersion, canonical_prefix, find_vocabulary

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s|]+(\|\S+)?")
_CONTROLS = re.compile(r"[\x00-\x1f]")
_MAX_VOCABULARY_ID = 20  # maximum characters of an OMOP vocabulary_id


class Coded(NamedTuple):
    """A FHIR code: the URI of the code system, its version (may be empty), and the code."""

    system: str
    version: str
    code: str


class Vocabularies:
    """Names of vocabularies in FHIR and OMOP. `own` maps prefixes to user-defined URIs (`URI|VERSION`) or OMOP vocabulary_ids.

    >>> Vocabularies().to_fhir_code("hp:0001250")
    Coded(system='http://human-phenotype-ontology.org', version='', code='HP:0001250')
    >>> Vocabularies({"ward": "http://hospital.example/ward|2026"}).to_fhir_code("ward:7")
    Coded(system='http://hospital.example/ward', version='2026', code='7')
    >>> Vocabularies().omop("snomedct:22298006"), Vocabularies({"ward": "Ward"}).omop("ward:7")
    (('SNOMED', '22298006'), ('Ward', '7'))
    """

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._own = {canonical_prefix(prefix): name for prefix, name in (own or {}).items()}

    @classmethod
    def parse(cls, pairs: Iterable[str]) -> Vocabularies:
        """Parse pairs such as `mondo=http://purl.obolibrary.org/obo/mondo.owl`."""
        named = {}
        for pair in pairs:
            prefix, _, name = pair.partition("=")
            if not prefix.strip() or not name.strip():
                fix = "write it as in --code-system mondo=http://purl.obolibrary.org/obo/mondo.owl"
                raise ConfigError("config-invalid", f"{pair!r} is not PREFIX=NAME", fix=fix)
            named[prefix] = name.strip()
        return cls(named)

    @property
    def is_empty(self) -> bool:
        """True if there are no user-defined names."""
        return not self._own

    def to_fhir_code(self, concept_id: str) -> Coded:
        """Return the code system and the code of a concept, for FHIR."""
        prefix = concept_id.partition(":")[0]
        system, _, version = self.system(prefix).partition("|")
        return Coded(system, version, code_of(concept_id))

    def system(self, prefix: str) -> str:
        """Return the FHIR URI of a vocabulary; a user-defined one may include `|VERSION`."""
        if prefix in self._own:
            return self._own[prefix]
        return find_vocabulary(prefix).fhir or f"urn:onym:vocabulary:{re.sub(r'[^A-Za-z0-9._-]', '-', prefix) or '-'}"

    def omop(self, concept_id: str) -> tuple[str, str]:
        """Return the vocabulary_id and the concept_code of a concept, for OMOP."""
        return self.omop_id(concept_id.partition(":")[0]), code_of(concept_id)

    def omop_id(self, prefix: str) -> str:
        """Return the OMOP vocabulary_id of a prefix; for an unknown prefix, the prefix in upper case."""
        return self._own.get(prefix) or find_vocabulary(prefix).omop or prefix.upper()[:_MAX_VOCABULARY_ID]

    def require_uris(self) -> None:
        """Raise ConfigError if a user-defined name is not a URI.

        >>> Vocabularies({"ward": "Ward 7"}).require_uris()
        Traceback (most recent call last):
        onym.errors.ConfigError: [config-invalid] 'Ward 7' is not a valid code system URI...
        """
        for name in self._own.values():
            require_uri(name)

    def require_omop_ids(self) -> None:
        """Raise ConfigError if a user-defined name is not a valid OMOP vocabulary_id."""
        for name in self._own.values():
            require_vocabulary_id(name)


def require_uri(name: str) -> None:
    """Raise ConfigError unless `name` is the URI of a code system, optionally followed by `|VERSION`."""
    if not _URI.fullmatch(name):
        fix = "write an absolute URI, such as http://hospital.example/codes"
        raise ConfigError("config-invalid", f"{name!r} is not a valid code system URI", fix=fix)


def require_vocabulary_id(name: str) -> None:
    """Raise ConfigError unless `name` can be an OMOP vocabulary_id.

    >>> require_vocabulary_id("http://hospital.example/codes")
    Traceback (most recent call last):
    onym.errors.ConfigError: [config-invalid] 'http://hospital.example/codes' is not a valid OMOP vocabulary_id...
    """
    if not name.strip() or len(name) > _MAX_VOCABULARY_ID:
        fix = f"use 1 to {_MAX_VOCABULARY_ID} characters, such as an id in VOCABULARY.csv"
        raise ConfigError("config-invalid", f"{name!r} is not a valid OMOP vocabulary_id", fix=fix)


def code_of(concept_id: str) -> str:
    """Return the code of a concept as written in its vocabulary.

    >>> code_of("mesh:D009203"), code_of("mondo:0005148"), code_of("snomedct:22298006")
    ('D009203', 'MONDO:0005148', '22298006')
    """
    prefix, _, local = concept_id.partition(":")
    shown = f"{prefix.upper()}:{local}" if find_vocabulary(prefix).prefix_in_codes else local
    return _plain(shown) or _plain(concept_id) or "-"


def _plain(text: str) -> str:
    """Collapse white space and control characters to single spaces, and strip the ends."""
    return " ".join(_CONTROLS.sub(" ", text).split())


PREDICTIONS, TABLE = "predictions", "table"


@dataclass(frozen=True)
class ExportOptions:
    """Options of FHIR and OMOP exports; other formats reject them.

    `omop_vocabulary` is the folder of an Athena download. `nlp_date` and `note_keys` apply only to `note_nlp`; `code_column`,
    `source_system` and `fhir_version` apply only to mapped terms.
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
        """Parse command-line values: `PREFIX=NAME` for vocabularies, and a date such as `2026-01-31`."""
        return cls(Vocabularies.parse(code_systems), nlp_date=_day(nlp_date) if nlp_date else None, **more)

    @property
    def is_empty(self) -> bool:
        """True if no option is set."""
        return self.vocabularies.is_empty and self == ExportOptions(self.vocabularies)


NO_OPTIONS = ExportOptions()


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as e:
        raise ConfigError("omop-date", f"{text!r} is not a date", fix="write it as in --nlp-date 2026-01-31") from e


@dataclass(frozen=True)
class OutputContext:
    """Settings for a writer of linked documents.

    `path` is the final name of the file. `source` describes what produced the links (`Pipeline.source`). Without `text`, no
    document text is written. `style` is the style of concept ids; empty means the default of the format.
    """

    path: Path
    source: Mapping[str, Any] = field(default_factory=dict)
    text: bool = True
    style: Style = ""
    options: ExportOptions = NO_OPTIONS
    force: bool = False


@dataclass(frozen=True)
class TermContext:
    """Settings for a writer of mapped terms: output path, columns of the table, pipeline, and counts to update.

    `top_k` is the number of candidates per term that the user asked for; None if the user did not ask.
    """

    path: Path
    columns: Sequence[str]
    pipeline: Pipeline
    counts: Counter[str]
    style: IdStyle = "obo"
    top_k: int | None = None
    options: ExportOptions = NO_OPTIONS

    @property
    def code_column(self) -> int | None:
        """Index of the column with the codes of the terms; None if the terms themselves are the codes."""
        return self.columns.index(self.options.code_column) if self.options.code_column else None


class Writer(Protocol):
    """An output format for linked documents.

    An optional `check(context)` raises ConfigError for invalid options before any work is done.
    """

    ENDINGS: tuple[str, ...]

    def write(self, linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
        """Write documents one by one."""


class TermWriter(Protocol):
    """An output format for mapped terms, with an optional `check_terms(path, options)`."""

    TERM_ENDINGS: tuple[str, ...]

    def write_terms(self, mappings: Iterable[TermMapping], file: BinaryIO, context: TermContext) -> None:
        """Write mappings one by one."""


Endings = Literal["ENDINGS", "TERM_ENDINGS"]


def format_of_path(path: Path, endings: Endings = "ENDINGS", *, prefer: str = "") -> str:
    """Return the name of the format with the extension of a file; empty if no format has it.

    If several formats have the extension, the result is `prefer`, or else the first of them by name.

    >>> format_of_path(Path("ward.fhir.ndjson")), format_of_path(Path("note_nlp.csv")), format_of_path(Path("links.csv"))
    ('fhir', 'omop', 'table')
    >>> format_of_path(Path("links.jsonl")), format_of_path(Path("links.jsonl"), prefer="table")
    ('predictions', 'table')
    >>> format_of_path(Path("terms.sssom.tsv"), "TERM_ENDINGS")
    'sssom'
    """
    names = _formats_by_extension(endings, prefer)
    return next((names[each] for each in sorted(names, key=len, reverse=True) if path.name.endswith(each)), "")


def list_extensions(endings: Endings = "ENDINGS") -> list[str]:
    """Return the extensions of all output formats.

    >>> list_extensions()
    ['.csv', '.fhir.ndjson', '.html', '.jsonl', '.parquet', '.tsv', '.xlsx', 'note_nlp.csv']
    """
    return sorted(_formats_by_extension(endings))


def _formats_by_extension(endings: Endings, prefer: str = "") -> dict[str, str]:
    # if several formats have an extension, the last one in this list is used
    names = [*reversed(OUTPUTS.names), *([prefer] if prefer else ())]
    return {ending: name for name in names for ending in getattr(_usable(name), endings, ())}


def _usable(name: str) -> object:
    """Return a format. For a broken plug-in, return None: its error is raised only if a user selects it."""
    with suppress(ConfigError):
        return OUTPUTS.load(name)
    return None


def get_writer(name: str) -> Writer:
    """Return the format of that name; raise ConfigError if it cannot store documents.

    >>> get_writer("sssom")
    Traceback (most recent call last):
    onym.errors.ConfigError: [config-invalid] sssom cannot store documents...
    """
    found = OUTPUTS.load(name)
    if not hasattr(found, "write"):
        raise ConfigError("config-invalid", f"{name} cannot store documents", fix="choose another --format")
    return cast("Writer", found)


def get_term_writer(path: Path) -> TermWriter:
    """Return the format of mapped terms for the extension of a file; the table format if no other matches."""
    return cast("TermWriter", OUTPUTS.load(format_of_path(path, "TERM_ENDINGS") or TABLE))


def check_output(name: str, context: OutputContext) -> None:
    """Before any work, raise ConfigError if options are invalid for a format, or if required options are missing."""
    check = getattr(get_writer(name), "check", None)
    check(context) if check else refuse_options(context.options)


def check_terms(path: Path, options: ExportOptions) -> None:
    """Before any work, raise ConfigError if options are invalid for the format of a file of mapped terms."""
    check = getattr(get_term_writer(path), "check_terms", None)
    check(path, options) if check else refuse_options(options)


def refuse_options(options: ExportOptions) -> None:
    """Raise ConfigError if any FHIR or OMOP option is set."""
    if not options.is_empty:
        what = "--code-system, --omop-vocabulary and similar options apply only to FHIR and OMOP"
        fix = "use an output name such as x.fhir.ndjson or note_nlp.csv (onym map: x.fhir.json, source_to_concept_map.csv)"
        raise ConfigError("config-invalid", what, fix=f"{fix}, or drop these options")


def write_output(linked: Iterable[LinkedDocument], name: str, context: OutputContext) -> None:
    """Write linked documents in a format; the file appears only when complete."""
    check_output(name, context)
    with whole_file(context.path, force=context.force) as file:
        get_writer(name).write(linked, file, context)


def write_term_output(mappings: Iterable[TermMapping], context: TermContext, *, force: bool = False) -> None:
    """Write mapped terms in the format of the file extension; the file appears only when complete."""
    check_terms(context.path, context.options)
    with whole_file(context.path, force=force) as file:
        get_term_writer(context.path).write_terms(mappings, file, context)
