"""What every output format offers, what a writer is told, and which format the name of a file says.

A format is a module of `onym.outputs`, named by its file, or a plug-in of the entry-point group `onym.outputs`. It is a
`Writer` of linked documents, a `TermWriter` of mapped terms, or both. The endings of file names that mean a format are declared
by the format itself; the longest ending counts. A corpus format is a format of linked documents too: see `onym.outputs.links`.

`Vocabularies` is what FHIR and OMOP call the vocabularies of concept ids: as the table of vocabularies says, unless a person
names them. A vocabulary without a URI of its own is `urn:onym:vocabulary:PREFIX`.
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
from onym.linkers.base import AnswerSource
from onym.outputs.terms import TermMapping
from onym.registry import OUTPUTS
from onym.store.output import whole_file
from onym.types import FhirVersion, IdStyle, LinkedDocument
from onym.vocabularies import canonical_prefix, find_vocabulary

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s|]+(\|\S+)?")
_CONTROLS = re.compile(r"[\x00-\x1f]")
_MAX_VOCABULARY_ID = 20  # OMOP's vocabulary_id


class Coded(NamedTuple):
    """A concept as FHIR has it: the URI of its code system, the version of that, if known, and the code."""

    system: str
    version: str
    code: str


class Vocabularies:
    """Names of vocabularies; `own` has those of a person, by prefix: URIs for FHIR (`URI|VERSION`), ids for OMOP.

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
        """Make them of words as `mondo=http://purl.obolibrary.org/obo/mondo.owl`."""
        named = {}
        for pair in pairs:
            prefix, _, name = pair.partition("=")
            if not prefix.strip() or not name.strip():
                fix = "write the prefix of the ids and the name, as in mondo=http://purl.obolibrary.org/obo/mondo.owl"
                raise ConfigError("config-invalid", f"{pair!r} does not name a vocabulary", fix=fix)
            named[prefix] = name.strip()
        return cls(named)

    @property
    def is_empty(self) -> bool:
        """True where a person has named none."""
        return not self._own

    def to_fhir_code(self, concept_id: str) -> Coded:
        """Return the code system and the code of a concept, for FHIR."""
        prefix = concept_id.partition(":")[0]
        system, _, version = self.system(prefix).partition("|")
        return Coded(system, version, code_of(concept_id))

    def system(self, prefix: str) -> str:
        """Return the URI of a vocabulary, with `|` and its version where a person names one."""
        if prefix in self._own:
            return self._own[prefix]
        return find_vocabulary(prefix).fhir or f"urn:onym:vocabulary:{re.sub(r'[^A-Za-z0-9._-]', '-', prefix) or '-'}"

    def omop(self, concept_id: str) -> tuple[str, str]:
        """Return the vocabulary_id and the concept_code of a concept, for OMOP."""
        return self.omop_id(concept_id.partition(":")[0]), code_of(concept_id)

    def omop_id(self, prefix: str) -> str:
        """Return OMOP's vocabulary_id; of a vocabulary that OMOP may not have, the prefix in upper case."""
        return self._own.get(prefix) or find_vocabulary(prefix).omop or prefix.upper()[:_MAX_VOCABULARY_ID]

    def require_uris(self) -> None:
        """Refuse names that are no URIs.

        >>> Vocabularies({"ward": "Ward 7"}).require_uris()
        Traceback (most recent call last):
        onym.errors.ConfigError: [config-invalid] 'Ward 7' is no URI of a code system...
        """
        for name in self._own.values():
            require_uri(name)

    def require_omop_ids(self) -> None:
        """Refuse names that OMOP's column cannot store."""
        for name in self._own.values():
            require_vocabulary_id(name)


def require_uri(name: str) -> None:
    """Refuse what cannot be the URI of a code system; a version may follow after `|`."""
    if not _URI.fullmatch(name):
        fix = "write an absolute URI, such as http://hospital.example/codes"
        raise ConfigError("config-invalid", f"{name!r} is no URI of a code system", fix=fix)


def require_vocabulary_id(name: str) -> None:
    """Refuse what cannot be an OMOP vocabulary_id.

    >>> require_vocabulary_id("http://hospital.example/codes")
    Traceback (most recent call last):
    onym.errors.ConfigError: [config-invalid] 'http://hospital.example/codes' is no vocabulary_id of OMOP...
    """
    if not name.strip() or len(name) > _MAX_VOCABULARY_ID:
        fix = f"write at most {_MAX_VOCABULARY_ID} characters, as in VOCABULARY.csv"
        raise ConfigError("config-invalid", f"{name!r} is no vocabulary_id of OMOP", fix=fix)


def code_of(concept_id: str) -> str:
    """Return the code of a concept as its vocabulary writes it.

    >>> code_of("mesh:D009203"), code_of("mondo:0005148"), code_of("snomedct:22298006")
    ('D009203', 'MONDO:0005148', '22298006')
    """
    prefix, _, local = concept_id.partition(":")
    shown = f"{prefix.upper()}:{local}" if find_vocabulary(prefix).prefix_in_codes else local
    return _plain(shown) or _plain(concept_id) or "-"


def _plain(text: str) -> str:
    """Return a text whose white space and control characters are single spaces, with none at the ends."""
    return " ".join(_CONTROLS.sub(" ", text).split())


PREDICTIONS, TABLE = "predictions", "table"


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


NO_OPTIONS = ExportOptions()


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as e:
        raise ConfigError("omop-date", f"{text!r} is no day", fix="write it as 2026-01-31") from e


@dataclass(frozen=True)
class OutputContext:
    """What a writer is told besides the documents.

    `path` is the name that the file will have. `source` is what the answers depend on (`source_of`). Without `text`, no text of
    documents is written. `style` is how concept ids are shown, or empty for what the format usually does.
    """

    path: Path
    source: Mapping[str, Any] = field(default_factory=dict)
    text: bool = True
    style: Style = ""
    options: ExportOptions = NO_OPTIONS
    force: bool = False


@dataclass(frozen=True)
class TermContext:
    """What a writer is told besides the mappings: the file's name, the table's columns, the linker, and counts to add to."""

    path: Path
    columns: Sequence[str]
    linker: AnswerSource
    counts: Counter[str]
    style: IdStyle = "obo"
    options: ExportOptions = NO_OPTIONS

    @property
    def code_column(self) -> int | None:
        """The place of the column with the codes of terms; None where a term is its own code."""
        return self.columns.index(self.options.code_column) if self.options.code_column else None


class Writer(Protocol):
    """A format of linked documents.

    One with options, or with needs of its own, also has `check(context)`, which refuses them before any work.
    """

    ENDINGS: tuple[str, ...]

    def write(self, linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
        """Write documents one by one."""


class TermWriter(Protocol):
    """A format of mapped terms. It may have `check_terms(path, options)`."""

    TERM_ENDINGS: tuple[str, ...]

    def write_terms(self, mappings: Iterable[TermMapping], file: BinaryIO, context: TermContext) -> None:
        """Write mappings one by one."""


Endings = Literal["ENDINGS", "TERM_ENDINGS"]


def format_of_path(path: Path, endings: Endings = "ENDINGS", *, prefer: str = "") -> str:
    """Return the format that the extension of a file means; empty if no format has it.

    If several formats have the extension, `prefer` wins, else the first by name.

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
    """Return the extensions that output formats have.

    >>> list_extensions()
    ['.csv', '.fhir.ndjson', '.html', '.jsonl', '.parquet', '.tsv', '.xlsx', 'note_nlp.csv']
    """
    return sorted(_formats_by_extension(endings))


def _formats_by_extension(endings: Endings, prefer: str = "") -> dict[str, str]:
    names = [*reversed(OUTPUTS.names), *([prefer] if prefer else ())]  # later ones replace earlier ones
    return {ending: name for name in names for ending in getattr(_usable(name), endings, ())}


def _usable(name: str) -> object:
    """Return a format; none for a plug-in that is broken, which is told when it is named."""
    with suppress(ConfigError):
        return OUTPUTS.load(name)
    return None


def get_writer(name: str) -> Writer:
    """Return the format of that name, or refuse it if it does not hold documents.

    >>> get_writer("sssom")
    Traceback (most recent call last):
    onym.errors.ConfigError: [config-invalid] sssom cannot store documents...
    """
    found = OUTPUTS.load(name)
    if not hasattr(found, "write"):
        raise ConfigError("config-invalid", f"{name} cannot store documents", fix="name another format")
    return cast("Writer", found)


def get_term_writer(path: Path) -> TermWriter:
    """Return the format that the name of a file of mappings says; a table, where it says none."""
    return cast("TermWriter", OUTPUTS.load(format_of_path(path, "TERM_ENDINGS") or TABLE))


def check_output(name: str, context: OutputContext) -> None:
    """Refuse, before any work, options that do not fit a format, or that it lacks."""
    check = getattr(get_writer(name), "check", None)
    check(context) if check else refuse_options(context.options)


def check_terms(path: Path, options: ExportOptions) -> None:
    """Refuse, before any work, options that do not fit the format that the name of a file of mappings says."""
    check = getattr(get_term_writer(path), "check_terms", None)
    check(path, options) if check else refuse_options(options)


def refuse_options(options: ExportOptions) -> None:
    """Refuse all options."""
    if not options.is_empty:
        what = "--code-system, --omop-vocabulary and the like are options of FHIR and OMOP"
        raise ConfigError("config-invalid", what, fix="name an output that ends as these formats do, or leave them away")


def write_output(linked: Iterable[LinkedDocument], name: str, context: OutputContext) -> None:
    """Write linked documents in a format; the file appears when it is complete."""
    check_output(name, context)
    with whole_file(context.path, force=context.force) as file:
        get_writer(name).write(linked, file, context)


def write_term_output(mappings: Iterable[TermMapping], context: TermContext, *, force: bool = False) -> None:
    """Write mapped terms in the format that the name of the file says; the file appears when it is complete."""
    check_terms(context.path, context.options)
    with whole_file(context.path, force=force) as file:
        get_term_writer(context.path).write_terms(mappings, file, context)
