"""The members `preserved_facets` and `write` of formats that are only read."""

from __future__ import annotations

from collections.abc import Iterable

from onym.corpora.base import Facet, Output, Style
from onym.errors import ConfigError
from onym.types import Document


def preserve_nothing(document: Document) -> frozenset[Facet]:  # noqa: ARG001 - of the protocol
    """Return no facets, as the format is read-only.

    >>> preserve_nothing(Document("1", "fever"))
    frozenset()
    """
    return frozenset()


def refuse_to_write(documents: Iterable[Document], output: Output, style: Style = "") -> None:  # noqa: ARG001
    """Raise ConfigError, as the format is read-only."""
    raise ConfigError("format-read-only", "the format can be read but not written", fix="use another format")
