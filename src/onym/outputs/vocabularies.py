"""What FHIR and OMOP call the vocabularies of concept ids: as the table of vocabularies says, unless a person names them.

A vocabulary without a URI of its own is `urn:onym:vocabulary:PREFIX`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from onym.errors import ConfigError
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

    >>> Vocabularies().coded("hp:0001250")
    Coded(system='http://human-phenotype-ontology.org', version='', code='HP:0001250')
    >>> Vocabularies({"ward": "http://hospital.example/ward|2026"}).coded("ward:7")
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

    def coded(self, concept_id: str) -> Coded:
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
