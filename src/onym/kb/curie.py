"""Concept identifiers: CURIEs with the bioregistry prefix in lower case, whatever a source writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

IdStyle = Literal["curie", "obo", "raw"]

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
    "orpha": "orphanet",
    "sctid": "snomedct",
    "snomed": "snomedct",
    "snomedct_us": "snomedct",
    "snomed_ct": "snomedct",
    "taxon": "ncbitaxon",
    "umls_cui": "umls",
}
_IRI = re.compile(r"^https?://(?:purl\.obolibrary\.org/obo/|id\.nlm\.nih\.gov/mesh/|[^ ]*[/#])([A-Za-z]+)_([A-Za-z0-9]+)$")
_MESH_IRI = re.compile(r"^https?://id\.nlm\.nih\.gov/mesh/([A-Z]\d+)$")
_UNDERSCORE = re.compile(r"^(CVCL)_(\w+)$")


def to_curie(text: str, prefix: str = "") -> str:
    """Return an identifier as a CURIE; `prefix` is used where it has none of its own.

    >>> to_curie("HP:0000118"), to_curie("D003924", "mesh"), to_curie("MESH:D003924"), to_curie("DOID:DOID:18")
    ('hp:0000118', 'mesh:D003924', 'mesh:D003924', 'doid:18')
    >>> to_curie("http://purl.obolibrary.org/obo/MONDO_0005148"), to_curie("CVCL_0001")
    ('mondo:0005148', 'cellosaurus:CVCL_0001')
    """
    text = text.strip()
    if "://" in text:
        if match := _MESH_IRI.match(text):
            return f"mesh:{match[1]}"
        if match := _IRI.match(text):
            text = f"{match[1]}:{match[2]}"
    if _UNDERSCORE.match(text):
        return f"cellosaurus:{text}"
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

    >>> canonical_prefix("SNOMEDCT_US"), canonical_prefix("MONDO")
    ('snomedct', 'mondo')
    """
    lower = prefix.strip().lower()
    return PREFIXES.get(lower, lower)


def curies(column: pl.Expr, prefix: str) -> pl.Expr:
    """Return a column of bare or prefixed identifiers as CURIEs: `to_curie` for tables."""
    import polars as pl

    text = column.str.strip_chars()
    head = text.str.extract(r"^([^:]*):", 1).str.to_lowercase().str.strip_chars()
    known = head.replace_strict(PREFIXES, default=head).fill_null(canonical_prefix(prefix))
    local = pl.when(head.is_null()).then(text).otherwise(text.str.replace(r"^[^:]*:", "").str.strip_chars())
    return known + ":" + local.str.replace(r"^DOID:", "")


def styled(curie: str, style: IdStyle) -> str:
    """Write a CURIE as it is, with an upper-case prefix (`obo`), or without its prefix (`raw`).

    >>> styled("hp:0000118", "obo"), styled("mesh:D003924", "raw")
    ('HP:0000118', 'D003924')
    """
    prefix, _, local = curie.partition(":")
    return {"curie": curie, "obo": f"{prefix.upper()}:{local}", "raw": local}[style]
