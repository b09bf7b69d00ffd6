"""Concept ids as corpora write them, and back: bare ids get a prefix by their shape and by the type of the mention.

| bare id | prefix |
|---|---|
| `-1`, `-`, `null`, `CUI-less` and the like | none: no id |
| `D`, `C` or `Q` and 6 or 9 digits; any number of digits for diseases and chemicals | mesh |
| `C` and 7 digits | umls |
| `CVCL_...` | cellosaurus |
| `rs` and digits | dbsnp |
| `OMIM_...` and the like | the part before `_` |
| a number, of a gene or a family of genes | ncbigene |
| a number, of a species | ncbitaxon |
| six digits, of a disease | omim |
| anything else | the format's own prefix, else local |
"""

from __future__ import annotations

import re
from functools import lru_cache

from onym.corpora.base import Style
from onym.kb.curie import to_curie
from onym.types import Mention, Notes, styled

KEY = "ids"
"""The note that keeps the ids as a file wrote them, where they could not be written so again from the CURIEs alone."""

_NONE = frozenset({"", "-", "-1", "null", "none", "nil", "cui-less", "cuiless", "cui_less"})
_SEPARATORS = re.compile(r"[|,;+]")
_TAXON = re.compile(r"\(tax:[0-9]+\)", re.IGNORECASE)  # GNormPlus: 1234(Tax:10090)
_SNP = re.compile(r"rs[0-9]+")
_RS = re.compile(r"(?:^|;)RS#:([0-9]+)")
_UNDERSCORE = re.compile(r"([A-Za-z]+)_([0-9]+)")
_SHAPES = (
    (re.compile(r"[DCQ][0-9]{6}(?:[0-9]{3})?"), "mesh"),
    (re.compile(r"C[0-9]{7}"), "umls"),
    (_SNP, "dbsnp"),
)
_GENE = (re.compile(r"[0-9]+"), "ncbigene")
_SPECIES = (re.compile(r"[0-9]+"), "ncbitaxon")
_MESH = (re.compile(r"[DCQ][0-9]+"), "mesh")
_OMIM = (re.compile(r"[0-9]{6}"), "omim")
_KINDS = {
    **dict.fromkeys(("gene", "familyname", "domainmotif", "geneorgeneproduct", "geneproduct", "geneprotein"), (_GENE,)),
    **dict.fromkeys(("protein", "ggp"), (_GENE,)),
    **dict.fromkeys(("species", "organism", "organismtaxon", "strain", "genus", "taxon"), (_SPECIES,)),
    **dict.fromkeys(("chemical", "chemicalentity", "drug"), (_MESH,)),
    **dict.fromkeys(("disease", "specificdisease", "diseaseclass", "compositemention", "modifier"), (_MESH, _OMIM)),
    **dict.fromkeys(("diseaseorphenotypicfeature", "phenotype"), (_MESH, _OMIM)),
}
_VARIANT = re.compile(r"mutation|variant|snp|allele|acidchange")
_NOT_LETTERS = re.compile(r"[^a-z]+")


@lru_cache(maxsize=65_536)
def parsed_ids(text: str, kind: str = "", default: str = "") -> tuple[str, ...]:
    """Return the CURIEs that an id column means for a mention of the type `kind`; several for a composite.

    >>> parsed_ids("D003924|D009765", "Disease"), parsed_ids("7157", "Gene"), parsed_ids("-1", "Chemical")
    (('mesh:D003924', 'mesh:D009765'), ('ncbigene:7157',), ())
    """
    kind = _NOT_LETTERS.sub("", kind.lower())
    if _VARIANT.search(kind) and (":" not in text or ";" in text):
        return _variant(text.strip())
    parts = (part.strip() for part in _SEPARATORS.split(_TAXON.sub("", text)))
    return tuple(_curie(part, kind, default) for part in parts if part.lower() not in _NONE)


@lru_cache(maxsize=65_536)
def ids_text(concept_ids: tuple[str, ...], kind: str = "", default: str = "", style: Style = "") -> str:
    """Write CURIEs as an id column: bare where that is read back as the same, else with a prefix in upper case.

    >>> ids_text(("mesh:D003924", "omim:125853"), "SpecificDisease"), ids_text(("mesh:D003924",), style="curie")
    ('D003924|125853', 'mesh:D003924')
    """
    if style:
        return "|".join(styled(curie, style) for curie in concept_ids)
    return "|".join(_plain(curie, kind, default) for curie in concept_ids)


def noted_ids(text: str, kind: str = "", default: str = "") -> tuple[tuple[str, ...], Notes]:
    """Return the CURIEs of an id column, and the note that is needed to write it again as it was.

    >>> noted_ids("MESH:D003924", "Disease")
    (('mesh:D003924',), (('ids', 'MESH:D003924'),))
    """
    concept_ids = parsed_ids(text, kind, default)
    return concept_ids, () if text == ids_text(concept_ids, kind, default) else ((KEY, text),)


def written_ids(mention: Mention, style: Style = "", default: str = "") -> str:
    """Return the id column of a mention; as its source wrote it, if that still means the mention's concepts."""
    noted = dict(mention.notes).get(KEY)
    if not style and noted is not None and parsed_ids(noted, mention.type, default) == mention.concept_ids:
        return noted
    return ids_text(mention.concept_ids, mention.type, default, style)


def keeps_ids(mention: Mention, default: str = "") -> bool:
    """Tell whether the mention's concept ids survive being written as an id column."""
    return parsed_ids(written_ids(mention, default=default), mention.type, default) == mention.concept_ids


def _variant(text: str) -> tuple[str, ...]:
    """Return dbSNP's ids of a variant where it has any, else tmVar's own form, which holds bars of its own."""
    first = text.partition(";")[0].strip()
    if found := _RS.search(text):
        return (f"dbsnp:rs{found[1]}",)
    parts = _SEPARATORS.split(first)
    if all(_SNP.fullmatch(part) for part in parts):
        return tuple(f"dbsnp:{part}" for part in parts)
    return () if first.lower() in _NONE else (f"tmvar:{first}",)


def _curie(part: str, kind: str, default: str) -> str:
    if ":" in part or part.startswith("CVCL_"):
        return to_curie(part)
    if named := _UNDERSCORE.fullmatch(part):
        return to_curie(f"{named[1]}:{named[2]}")
    for pattern, prefix in (*_KINDS.get(kind, ()), *_SHAPES):
        if pattern.fullmatch(part) and not (prefix == "mesh" and _SHAPES[1][0].fullmatch(part)):
            return f"{prefix}:{part}"
    return to_curie(part, default or "local")


def _plain(curie: str, kind: str, default: str) -> str:
    prefix, _, local = curie.partition(":")
    for form in (local, f"{prefix.upper()}:{local}"):
        if parsed_ids(form, kind, default) == (curie,):
            return form
    return curie
