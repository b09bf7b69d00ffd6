"""What clients of the reconciliation service send: batches of queries, requests for properties. Unknown keys are ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from onym.errors import InputError
from onym.serve.routes import MAX_TERM, MAX_TERMS, MAX_TYPES, Request, malformed

MAX_CONTEXT = 2_000
"""Characters of the values of properties that are used."""
MAX_PROPERTIES = 64
T = TypeVar("T")


class Tolerant(Request):
    """A part of a request whose unknown keys are ignored, as the specification has it."""

    model_config = ConfigDict(extra="ignore")


class PropertyValue(Tolerant):
    """The values of another column: strings, numbers, truth values or entities."""

    pid: str
    v: Any = None

    def texts(self) -> Iterator[str]:
        """Yield the values as texts; of an entity that is its name."""
        for value in self.v if isinstance(self.v, list) else [self.v]:
            shown = value.get("name") if isinstance(value, dict) else value
            if isinstance(shown, str | int | float):
                yield str(shown)


class ReconcileQuery(Tolerant):
    """A value that is to be matched.

    >>> ReconcileQuery(query="MI", properties=[PropertyValue(pid="note", v="a heart attack (MI)")]).context
    'a heart attack (MI)'
    """

    query: str | None = None
    type: str | list[str] | None = None
    type_strict: Literal["any", "all", "should"] | None = None
    limit: float | None = None
    properties: Annotated[list[PropertyValue], Field(max_length=MAX_PROPERTIES)] | None = None

    @property
    def types(self) -> list[str]:
        """The semantic groups or types that are wanted; none where they are a wish only."""
        wanted = [] if self.type is None or self.type_strict == "should" else self.type
        return [each for each in ([wanted] if isinstance(wanted, str) else wanted) if each][:MAX_TYPES]

    @property
    def context(self) -> str:
        """What the values of other columns say."""
        texts = (text.strip() for each in self.properties or () for text in each.texts())
        return "; ".join(filter(None, texts))[:MAX_CONTEXT]

    def job(self) -> dict[str, Any]:
        """Return it as the linker process reads it; a query that is too long has no text, and so no answer."""
        text = (self.query or "").strip()
        return {
            "text": text if len(text) <= MAX_TERM else "",
            "types": self.types,
            "is_all": self.type_strict == "all",
            "limit": None if self.limit is None else max(0, int(min(self.limit, MAX_TERMS))),
            "context": self.context,
        }


class WantedProperty(Tolerant):
    """A property that is wanted, with settings."""

    id: str
    settings: dict[str, Any] | None = None


class ExtendQuery(Tolerant):
    """Entities, and the properties of them that are wanted."""

    ids: list[str] = Field(max_length=MAX_TERMS)
    properties: list[WantedProperty] = Field(max_length=MAX_PROPERTIES)


_QUERIES: TypeAdapter[dict[str, ReconcileQuery]] = TypeAdapter(
    Annotated[dict[str, ReconcileQuery], Field(max_length=MAX_TERMS)]
)
_EXTEND: TypeAdapter[ExtendQuery] = TypeAdapter(ExtendQuery)


def parse_queries(text: str) -> dict[str, ReconcileQuery]:
    """Return a batch of queries by their keys.

    >>> parse_queries('{"q0": {"query": "Fever"}}')["q0"].query
    'Fever'
    """
    return _parsed(_QUERIES, text, "queries")


def parse_extend(text: str) -> ExtendQuery:
    """Return a request for properties.

    >>> parse_extend('{"ids": ["MESH:D005334"], "properties": [{"id": "synonyms"}]}').properties[0].id
    'synonyms'
    """
    return _parsed(_EXTEND, text, "extend")


def characters_of(queries: Mapping[str, ReconcileQuery]) -> int:
    """Return how much there is to link."""
    return sum(len(each.query or "") + len(each.context) for each in queries.values())


def _parsed(adapter: TypeAdapter[T], text: str, where: str) -> T:
    """Return what a text holds; what is wrong is said without the keys of the batch, which may be text."""
    try:
        return adapter.validate_json(text)
    except ValidationError as e:
        errors = e.errors(include_url=False, include_input=False, include_context=False)
        first = errors[0] | {"loc": tuple(part for part in errors[0]["loc"] if part in _NAMES or isinstance(part, int))}
        raise malformed([first], where) from None
    except (ValueError, RecursionError):
        raise InputError("request-malformed", f"{where}: not JSON", where=where) from None


_NAMES = frozenset({*ReconcileQuery.model_fields, *PropertyValue.model_fields, *ExtendQuery.model_fields, "settings"})
