"""Converts concept ids between the forms used in corpora and CURIEs.

An id without a prefix gets the prefix that matches its pattern (see `onym.vocabularies`) and the type of the mention. If none
matches, it gets the default prefix of the format, or `local`. In `OMIM_...`, the prefix is before the underscore. `-1`, `-`,
`null`, `CUI-less` etc. mean no id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from onym.corpora.base import Style
from onym.kb.curie import to_curie
from onym.types import Mention, Notes, style_id
from onym.vocabularies import canonical_prefix, prefix_by_shape

KEY = "ids"
"""The key of the note that keeps an id column as written in the file, if it cannot be restored from the CURIEs."""

_NONE = frozenset({"", "-", "-1", "null", "none", "nil", "cui-less", "cuiless", "cui_less"})
_SEPARATORS = re.compile(r"[|,;+]")
_TAXON = re.compile(r"\((?:tax|species):[0-9]+\)", re.IGNORECASE)  # as in GNormPlus: 1234(Tax:10090)
_RS = re.compile(r"(?:^|;)RS#:([0-9]+)")
_UNDERSCORE = re.compile(r"([A-Za-z]+)_([0-9]+)")
# Mention type -> semantic group, for types that determine the prefix of an id without a prefix.
_GROUPS = {
    **dict.fromkeys(("gene", "familyname", "domainmotif", "geneorgeneproduct", "geneproduct", "geneprotein"), "Gene"),
    **dict.fromkeys(("protein", "ggp"), "Gene"),
    **dict.fromkeys(("species", "organism", "organismtaxon", "strain", "genus", "taxon"), "Species"),
    **dict.fromkeys(("chemical", "chemicalentity", "drug"), "Chemical"),
    **dict.fromkeys(("disease", "specificdisease", "diseaseclass", "compositemention", "modifier"), "Disease"),
    **dict.fromkeys(("diseaseorphenotypicfeature", "phenotype"), "Disease"),
}
_VARIANT = re.compile(r"mutation|variant|snp|allele|acidchange")
_NOT_LETTERS = re.compile(r"[^a-z]+")


@lru_cache(maxsize=65_536)
def parse_ids(text: str, kind: str = "", default: str = "") -> tuple[str, ...]:
    """Parse the id column of a mention of type `kind` into CURIEs. A composite mention has several ids.

    >>> parse_ids("D003924|D009765", "Disease"), parse_ids("7157", "Gene"), parse_ids("-1", "Chemical")
    (('mesh:D003924', 'mesh:D009765'), ('ncbigene:7157',), ())
    """
    kind = _NOT_LETTERS.sub("", kind.lower())
    if _VARIANT.search(kind) and (":" not in text or ";" in text):
        return _variant(text.strip())
    parts = (part.strip() for part in _SEPARATORS.split(_TAXON.sub("", text)))
    return tuple(_curie(part, kind, default) for part in parts if part.lower() not in _NONE)


@lru_cache(maxsize=65_536)
def ids_text(concept_ids: tuple[str, ...], kind: str = "", default: str = "", style: Style = "") -> str:
    """Format CURIEs as an id column. The prefix is omitted if `parse_ids` restores it, otherwise it is in upper case.

    >>> ids_text(("mesh:D003924", "omim:125853"), "SpecificDisease"), ids_text(("mesh:D003924",), style="curie")
    ('D003924|125853', 'mesh:D003924')
    """
    if style:
        return "|".join(style_id(curie, style) for curie in concept_ids)
    return "|".join(_plain(curie, kind, default) for curie in concept_ids)


def parse_ids_with_note(text: str, kind: str = "", default: str = "") -> tuple[tuple[str, ...], Notes]:
    """Parse an id column into CURIEs. If formatting the CURIEs gives a different text, return a note with the original.

    >>> parse_ids_with_note("MESH:D003924", "Disease")
    (('mesh:D003924',), (('ids', 'MESH:D003924'),))
    """
    concept_ids = parse_ids(text, kind, default)
    return concept_ids, () if text == ids_text(concept_ids, kind, default) else ((KEY, text),)


def format_ids(mention: Mention, style: Style = "", default: str = "") -> str:
    """Return the id column of a mention. Use the text from its source if that still gives the same concept ids."""
    noted = dict(mention.notes).get(KEY)
    if not style and noted is not None and parse_ids(noted, mention.type, default) == mention.concept_ids:
        return noted
    return ids_text(mention.concept_ids, mention.type, default, style)


def keeps_ids(mention: Mention, default: str = "") -> bool:
    """Return whether the mention's concept ids survive writing and parsing an id column."""
    return parse_ids(format_ids(mention, default=default), mention.type, default) == mention.concept_ids


def drop_type(mention: Mention) -> Mention:
    """Return the mention without its type, as it is read back from formats without types. Id prefixes may then differ."""
    return Mention(mention.start, mention.end, mention.surface, mention.concept_ids, notes=mention.notes)


def replace_ids(text: str, moves: Mapping[str, str], *, is_cell: bool = True) -> str:
    """Replace CURIEs that occur in a text, all at once, and keep how they are written: `MESH:D003924` or `D003924`.

    In a `cell` that has only ids, numbers without a prefix are ids too.

    >>> replace_ids("MESH:D003924|D009765", {"mesh:D009765": "mesh:D000001", "mesh:D000001": "mesh:D000002"})
    'MESH:D003924|D000001'
    >>> [replace_ids("7157", {"ncbigene:7157": "ncbigene:1"}, is_cell=each) for each in (True, False)]
    ['1', '7157']
    """
    moves = {old: new for old, new in moves.items() if old != new}
    if not moves:
        return text
    by_local: dict[str, dict[str, str]] = {}
    for old, new in moves.items():
        prefix, _, local = old.partition(":")
        by_local.setdefault(local, {})[prefix] = new

    def replace(found: re.Match[str]) -> str:
        written, colon, local = found[1] or "", found[2] or "", found[3]
        known = by_local[local]
        prefix = canonical_prefix(written) if written else next(iter(known)) if len(known) == 1 else ""
        if prefix not in known or not (written or is_cell or not local.isdigit()):
            return found[0]
        new_prefix, _, new_local = known[prefix].partition(":")
        if new_prefix == prefix:
            return f"{written}{colon}{new_local}"
        return style_id(known[prefix], "curie" if written.islower() else "obo")

    return _id_pattern(tuple(sorted(by_local))).sub(replace, text)


@lru_cache(maxsize=4_096)
def _id_pattern(locals_: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for ids, longest first: prefix, separator and the part after the prefix."""
    either = "|".join(re.escape(each) for each in sorted(locals_, key=lambda each: (-len(each), each)))
    return re.compile(f"(?<![A-Za-z0-9])(?:([A-Za-z][A-Za-z0-9.]*)([:_]))?({either})(?![A-Za-z0-9])")


def _variant(text: str) -> tuple[str, ...]:
    """Return the dbSNP ids of a variant; without dbSNP ids, return its tmVar notation, which may contain `|`."""
    first = text.partition(";")[0].strip()
    if found := _RS.search(text):
        return (f"dbsnp:rs{found[1]}",)
    parts = _SEPARATORS.split(first)
    if all(prefix_by_shape(part) == "dbsnp" for part in parts):
        return tuple(f"dbsnp:{part}" for part in parts)
    return () if first.lower() in _NONE else (f"tmvar:{first}",)


def _curie(part: str, kind: str, default: str) -> str:
    if ":" in part:
        return to_curie(part)
    if prefix := prefix_by_shape(part, _GROUPS.get(kind, "")):
        return f"{prefix}:{part}"
    if named := _UNDERSCORE.fullmatch(part):
        return to_curie(f"{named[1]}:{named[2]}")
    return to_curie(part, default or "local")


def _plain(curie: str, kind: str, default: str) -> str:
    prefix, _, local = curie.partition(":")
    for form in (local, f"{prefix.upper()}:{local}"):
        if parse_ids(form, kind, default) == (curie,):
            return form
    return curie
