"""The routes of a pipeline. All modules of this package are loaded, and each lists its routes in `ROUTES`.

A route has pydantic models of its request and reply, and the function that a linker process calls for it. Both the HTTP process
and the linker processes import these modules, so they must not import pipeline or HTTP code at the top level.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model
from pydantic_core import from_json

from onym.errors import InputError

if TYPE_CHECKING:
    from onym.pipeline.pipeline import Pipeline

MAX_TERMS, MAX_TERM, MAX_TYPES, MAX_HITS = 1_000, 1_000, 64, 100
PER_SURFACE = 50
"""Cost of linking one annotated mention or one term, in characters of raw text, in addition to its own length."""
Term = Annotated[str, StringConstraints(max_length=MAX_TERM)]
T = TypeVar("T", bound="Request")
_PARAMETER = re.compile(r"\{.*?\}")
_KEY = re.compile(r"[a-z_]{1,24}")  # the form of a key, which is not taken for text of a user


class Request(BaseModel):
    """Base class of requests; unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    @property
    def characters(self) -> int:
        """The cost of the request, as the number of text characters that take the same time to link."""
        return 1

    def job(self) -> dict[str, Any]:
        """Return the request as plain values, for a linker process."""
        return self.model_dump(by_alias=True)


class Options(Request):
    """Pipeline options of a request that links: the fields of `ConceptFilter` without `concepts`, precision and assertion."""

    types: list[Term] = Field(
        default=[], max_length=MAX_TYPES, description="Only link to concepts of these semantic groups or types."
    )
    under: list[Term] = Field(
        default=[],
        max_length=MAX_TYPES,
        description="Only link to the concepts with these ids and all concepts below them in the hierarchy.",
    )
    not_under: list[Term] = Field(
        default=[],
        max_length=MAX_TYPES,
        description="Do not link to the concepts with these ids, nor to concepts below them in the hierarchy.",
    )
    mapped: bool = Field(
        default=False,
        description="With under or not_under: supplementary records of MeSH count as below the headings they are mapped to.",
    )
    precision: float | None = Field(default=None, gt=0, lt=1, description="Target precision, for a calibrated pipeline.")
    assertion: bool | None = Field(
        default=None,
        description="Mark mentions that are negated, possible, historical, hypothetical or about a family member; by default "
        "as the pipeline says. Terms have no context, and get no marks.",
    )

    @staticmethod
    def of(job: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the options of a job in the order of the fields, None for defaults, and whether it maps terms.

        Jobs with equal options form one batch.

        >>> Options.of({"op": "link", "text": "High fever.", "types": ["Disease"]})
        (('Disease',), None, None, None, None, None, False)
        """
        said = ((job.get(name, field.default), field.default) for name, field in Options.model_fields.items())
        values = (None if value == default else value for value, default in said)
        return (*(tuple(value) if isinstance(value, list) else value for value in values), job.get("op") == "map")

    @staticmethod
    def apply(pipeline: Pipeline, *values: Any) -> Pipeline:
        """Return a copy of the pipeline with these options, as `of` returns them. None leaves an option unchanged."""
        from onym.pipeline.config import PipelineOptions

        *given, maps_terms = values
        named = {name: value for name, value in zip(Options.model_fields, given, strict=True) if value is not None}
        options = PipelineOptions.of(named)
        return pipeline.with_options(options.restricted() if maps_terms else options) if named else pipeline


class Reply(BaseModel):
    """Base class of replies: JSON objects that have no keys besides the fields."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Route:
    """A route below /v1 and /v1/NAME. The fields of `takes` are path parameters, query parameters or keys of the body.

    A linker process calls `act` with a pipeline that has the options of the request, and the job; `act` returns plain values.
    `act` is None for jobs that are linked in batches. `name` is the operation id in the OpenAPI description; by default `op`.
    """

    path: str
    op: str
    takes: type[Request]
    replies: type[Reply]
    description: str
    act: Callable[[Pipeline, dict[str, Any]], Any] | None = None
    method: Literal["GET", "POST"] = "POST"
    example: Mapping[str, Any] | None = None
    name: str = ""

    @property
    def label(self) -> str:
        """The path for metrics and logs, with `{id}` in place of a concept id.

        >>> Route("/concepts/{concept_id:path}", "concept", Request, Reply, "Return a concept.").label
        '/concepts/{id}'
        """
        return _PARAMETER.sub("{id}", self.path)


@lru_cache(1)
def all_routes() -> tuple[Route, ...]:
    """Return the routes of all modules of this package, sorted by module name.

    >>> sorted(route.path for route in all_routes())
    ['/concepts/{concept_id:path}', '/link', '/map', '/search', '/workbook']
    """
    return tuple(_iter_routes())


def _iter_routes() -> Iterator[Route]:
    for found in sorted(iter_modules(__path__), key=lambda each: each.name):
        yield from import_module(f"{__name__}.{found.name}").ROUTES


def row_model(name: str, columns: Mapping[str, type], required: Sequence[str]) -> type[Reply]:
    """Create the model of a table row: every column is present, and all but the `required` ones may be null.

    >>> list(row_model("Row", {"start": int, "score": float}, ["start"]).model_fields)
    ['start', 'score']
    """
    fields: dict[str, Any] = {key: (kind if key in required else kind | None, ...) for key, kind in columns.items()}
    return create_model(name, __base__=Reply, **fields)


def parse(kind: type[T], body: bytes, where: str = "the body") -> T:
    """Parse and validate a request; errors name the field and the problem, never the value.

    >>> from onym.serve.routes.link import LinkRequest
    >>> parse(LinkRequest, b'{"text": 7}')
    Traceback (most recent call last):
    onym.errors.InputError: [request-malformed] text: Input should be a valid string...
    """
    return check(kind, read_json(body, where), where)


def read_json(body: bytes, where: str) -> Any:
    """Parse JSON; reject NaN, Infinity, numbers that overflow to Infinity (1e400), and more than 200 nested levels.

    >>> read_json(b'{"limit": NaN}', "the body")
    Traceback (most recent call last):
    onym.errors.InputError: [request-malformed] body: not JSON...
    """
    try:
        values = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise InputError("request-malformed", "body: not JSON", where=where, fix="see /openapi.json") from None
    if not _is_finite(values):
        raise InputError("request-malformed", "body: a number is out of range", where=where, fix="see /openapi.json")
    return values


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def check(kind: type[T], values: Any, where: str) -> T:
    """Validate plain values as a request; errors name the field and the problem, never the value."""
    try:
        return kind.model_validate(values)
    except ValidationError as e:
        raise make_validation_error(e.errors(include_url=False, include_input=False, include_context=False), where) from None


def make_validation_error(errors: Sequence[Any], where: str) -> InputError:
    """Return the first error of pydantic as an InputError. An unknown key is only named if it looks like one, not like text."""
    first = errors[0]
    loc, kind = [str(part) for part in first["loc"]], first["msg"]
    if first["type"] == "extra_forbidden":
        key = loc.pop()
        kind = f"unknown key {key}" if _KEY.fullmatch(key) else "unknown key"
    return InputError("request-malformed", f"{'.'.join(loc) or 'body'}: {kind}", where=where, fix="see /openapi.json")
