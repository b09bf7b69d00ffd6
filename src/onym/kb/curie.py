"""Normalises concept ids to CURIEs with lower-case Bioregistry prefixes."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from onym.vocabularies import canonical_prefix, vocabularies

if TYPE_CHECKING:
    import polars as pl

# URL patterns that are not specific to one vocabulary, each with its CURIE template. They are tried after the patterns of
# single vocabularies (`Vocabulary.address`); a URL that matches no pattern is left as it is.
_ADDRESSES = (
    (r"^https?://purl\.obolibrary\.org/obo/([A-Za-z]+)_([A-Za-z0-9_]+)$", "${1}:${2}"),
    (r"^obo\.([A-Za-z]+)_([A-Za-z0-9_]+)$", "${1}:${2}"),  # in MONDO's `consider`
    (r"^https?://(?:identifiers\.org|bioregistry\.io)/([A-Za-z][A-Za-z0-9._-]*)[:/](\S+)$", "${1}:${2}"),
    (r"^https?://\S*[/#]([A-Za-z]+)_([A-Z]?[0-9]{5,})$", "${1}:${2}"),
)
_MAY_BE_ADDRESS = re.compile(r"://|^[A-Za-z]+_|^obo\.")  # URLs, and ids such as CVCL_0001 that name their vocabulary


@cache
def _addresses() -> tuple[tuple[str, str], ...]:
    own = ((each.address, f"{each.prefix}:${{1}}") for each in vocabularies().values() if each.address)
    return (*own, *_ADDRESSES)


@cache
def _compile_patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), form.replace("${", "\\g<").replace("}", ">")) for pattern, form in _addresses())


def to_curie(text: str, prefix: str = "") -> str:
    """Return an id as a CURIE; `prefix` applies if the id has no prefix.

    >>> to_curie("HP:0000118"), to_curie("D003924", "mesh"), to_curie("MESH:D003924"), to_curie("DOID:DOID:18")
    ('hp:0000118', 'mesh:D003924', 'mesh:D003924', 'doid:18')
    >>> to_curie("http://purl.obolibrary.org/obo/MONDO_0005148"), to_curie("CVCL_0001")
    ('mondo:0005148', 'cellosaurus:CVCL_0001')
    """
    text = text.strip()
    if _MAY_BE_ADDRESS.search(text):
        for pattern, form in _compile_patterns():
            text = pattern.sub(form, text)
    head, colon, local = text.partition(":")
    if not colon:
        return f"{canonical_prefix(prefix)}:{text}"
    known = canonical_prefix(head)
    inner, colon, rest = local.partition(":")
    if colon and canonical_prefix(inner) == known:  # DOID:DOID:18
        local = rest
    return f"{known}:{local.strip()}"


def curies(column: pl.Expr, prefix: str) -> pl.Expr:
    """Return a column of ids as CURIEs: a vectorised `to_curie`."""
    import polars as pl

    return column.map_batches(lambda series: _curies(series, canonical_prefix(prefix)), return_dtype=pl.String)


def _curies(column: pl.Series, prefix: str) -> pl.Series:
    text = column.str.strip_chars()
    if text.str.contains(_MAY_BE_ADDRESS.pattern).any():
        for pattern, form in _addresses():
            text = text.str.replace(pattern, form)
    head, local = _head(text), text.str.replace("^[^:]*:", "")
    if local.str.contains(":", literal=True).any():  # DOID:DOID:18
        twice = (_head(local) == head).fill_null(value=False)
        local = local.str.replace("^[^:]*:", "").zip_with(twice, local)
    return head.fill_null(prefix) + ":" + local.str.strip_chars()


def _head(text: pl.Series) -> pl.Series:
    """Return the canonical prefix of each id, null if it has no prefix."""
    written = text.str.extract("^([^:]*):", 1)
    few = written.unique().drop_nulls()
    return written.replace_strict(few, [canonical_prefix(head) for head in few], default=None, return_dtype=written.dtype)


def prefix_of(column: str) -> pl.Expr:
    """Return the prefixes of a column of CURIEs."""
    import polars as pl

    return pl.col(column).str.extract(r"^([^:]+):", 1)
