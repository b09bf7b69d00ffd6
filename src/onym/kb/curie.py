"""Concept identifiers: CURIEs with the bioregistry prefix in lower case, whatever a source writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# What sources write -> what bioregistry calls it. A prefix that is not here is only put in lower case.
PREFIXES = {
    "cl": "cl",
    "cui": "umls",
    "cvcl": "cellosaurus",
    "do": "doid",
    "ecto": "ecto",
    "entrez": "ncbigene",
    "gene": "ncbigene",
    "geneid": "ncbigene",
    "hpo": "hp",
    "icd-10": "icd10",
    "icd-9": "icd9",
    "icd10_cm": "icd10cm",
    "icd9_cm": "icd9cm",
    "icd9cm_2006": "icd9cm",
    "mim": "omim",
    "msh": "mesh",
    "nci": "ncit",
    "ncbi_taxon": "ncbitaxon",
    "ncbi taxonomy": "ncbitaxon",
    "omimps": "omim.ps",
    "orphanet": "orphanet",
    "ordo": "orphanet",
    "orpha": "orphanet",
    "sctid": "snomedct",
    "snomed": "snomedct",
    "snomedct_us": "snomedct",
    "snomed_ct": "snomedct",
    "taxon": "ncbitaxon",
    "umls_cui": "umls",
    "up": "uniprot",
}
# Addresses that say an identifier, and how: the rest of the web is left as it is.
_ADDRESSES = (
    (r"^https?://id\.nlm\.nih\.gov/mesh/(?:[0-9]{4}/)?([A-Z][0-9]+)$", "mesh:${1}"),
    (r"^https?://purl\.obolibrary\.org/obo/([A-Za-z]+)_([A-Za-z0-9_]+)$", "${1}:${2}"),
    (r"^https?://www\.orpha\.net/ORDO/(Orphanet)_([A-Z]?[0-9]+)$", "${1}:${2}"),
    (r"^https?://snomed\.info/(?:id|sct)/([0-9]+)$", "snomedct:${1}"),
    (r"^https?://(?:identifiers\.org|bioregistry\.io)/([A-Za-z][A-Za-z0-9._-]*)[:/](\S+)$", "${1}:${2}"),
    (r"^https?://\S*[/#]([A-Za-z]+)_([A-Z]?[0-9]{5,})$", "${1}:${2}"),
    (r"^(CVCL_[A-Za-z0-9]+)$", "cellosaurus:${1}"),
)
_COMPILED = tuple((re.compile(pattern), form.replace("${", "\\g<").replace("}", ">")) for pattern, form in _ADDRESSES)
_RELEASE = r"_[0-9]{4}_[0-9]{2}_[0-9]{2}$"  # DOID writes SNOMEDCT_US_2023_03_01
_DATED = re.compile(_RELEASE)


def to_curie(text: str, prefix: str = "") -> str:
    """Return an identifier as a CURIE; `prefix` is used where it has none of its own.

    >>> to_curie("HP:0000118"), to_curie("D003924", "mesh"), to_curie("MESH:D003924"), to_curie("DOID:DOID:18")
    ('hp:0000118', 'mesh:D003924', 'mesh:D003924', 'doid:18')
    >>> to_curie("http://purl.obolibrary.org/obo/MONDO_0005148"), to_curie("CVCL_0001")
    ('mondo:0005148', 'cellosaurus:CVCL_0001')
    """
    text = text.strip()
    if "://" in text or text.startswith("CVCL_"):
        for pattern, form in _COMPILED:
            text = pattern.sub(form, text)
    head, colon, local = text.partition(":")
    if not colon:
        return f"{canonical_prefix(prefix)}:{text}"
    known = canonical_prefix(head)
    inner, colon, rest = local.partition(":")
    if colon and canonical_prefix(inner) == known:  # DOID:DOID:18
        local = rest
    return f"{known}:{local.strip()}"


def canonical_prefix(prefix: str) -> str:
    """Return the bioregistry prefix.

    >>> canonical_prefix("SNOMEDCT_US"), canonical_prefix("SNOMEDCT_US_2023_03_01"), canonical_prefix("MONDO")
    ('snomedct', 'snomedct', 'mondo')
    """
    lower = _DATED.sub("", prefix.strip().lower())
    return PREFIXES.get(lower, lower)


def curies(column: pl.Expr, prefix: str) -> pl.Expr:
    """Return a column of bare or prefixed identifiers as CURIEs: `to_curie` for tables, without a Python object per row."""
    import polars as pl

    return column.map_batches(lambda series: _curies(series, canonical_prefix(prefix)), return_dtype=pl.String)


def _curies(column: pl.Series, prefix: str) -> pl.Series:
    text = column.str.strip_chars()
    if text.str.contains("://|^CVCL_").any():
        for pattern, form in _ADDRESSES:
            text = text.str.replace(pattern, form)
    head, local = _head(text), text.str.replace("^[^:]*:", "")
    if local.str.contains(":", literal=True).any():  # DOID:DOID:18
        twice = (_head(local) == head).fill_null(value=False)
        local = local.str.replace("^[^:]*:", "").zip_with(twice, local)
    return head.fill_null(prefix) + ":" + local.str.strip_chars()


def _head(text: pl.Series) -> pl.Series:
    """Return the canonical prefixes of a column, null where there is none."""
    written = text.str.extract("^([^:]*):", 1)
    few = written.unique().drop_nulls()
    return written.replace_strict(few, [canonical_prefix(head) for head in few], default=None, return_dtype=written.dtype)


def prefix_of(column: str) -> pl.Expr:
    """Return the prefixes of a column of CURIEs."""
    import polars as pl

    return pl.col(column).str.extract(r"^([^:]+):", 1)
