"""The routes of a pipeline. A module here declares some as `ROUTES`, and is found since it is here: no list names it.

A route says what it takes and what it replies, as pydantic models, which FastAPI describes, and what a linker process does for
it. The modules are imported by the HTTP process, which has no pipeline, and by linker processes, which have no HTTP: they
import neither at their top.
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
"""Characters of raw text that take as long to link as one annotated mention or one term, besides its own characters."""
Term = Annotated[str, StringConstraints(max_length=MAX_TERM)]
T = TypeVar("T", bound="Request")
_PARAMETER = re.compile(r"\{.*?\}")


class Request(BaseModel):
    """What a request says; unknown keys of a body are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    @property
    def characters(self) -> int:
        """How much there is to do, in characters of raw text."""
        return 1

    def job(self) -> dict[str, Any]:
        """Return what it says as plain values, for a linker process."""
        return self.model_dump(by_alias=True)


class Options(Request):
    """How a pipeline is used for one request. A field `x` is an option of all routes that link, by `Pipeline.with_x`."""

    types: list[Term] = Field(default=[], max_length=MAX_TYPES, description="Answers of these semantic groups or types alone.")
    precision: float | None = Field(default=None, gt=0, lt=1, description="Target precision, for a calibrated pipeline.")

    @staticmethod
    def of(job: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the options of a job, in the order of the fields; jobs with the same ones are linked together.

        >>> Options.of({"op": "link", "text": "High fever.", "types": ["Disease"]})
        (('Disease',), None)
        """
        said = ((job.get(name, field.default), field.default) for name, field in Options.model_fields.items())
        values = (None if value == default else value for value, default in said)
        return tuple(tuple(value) if isinstance(value, list) else value for value in values)

    @staticmethod
    def apply(pipeline: Pipeline, *values: Any) -> Pipeline:
        """Return a pipeline with options as `of` returns them; those that are None stay as they are."""
        for name, value in zip(Options.model_fields, values, strict=True):
            pipeline = pipeline if value is None else getattr(pipeline, f"with_{name}")(value)
        return pipeline


class Reply(BaseModel):
    """An object with these keys and no others."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Route:
    """A route below /v1 and /v1/NAME. Fields of `takes` that the path names stand there; the others in the query or the body.

    `act` is called in a linker process, with the pipeline as the request's options have it and the job, and returns plain
    values. It has none where jobs are linked together, as texts are. `name` is that of the operation in the description, if it
    is not `op`.
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
        """The path as metrics and logs have it.

        >>> Route("/concepts/{concept_id:path}", "concept", Request, Reply, "Return a concept.").label
        '/concepts/{id}'
        """
        return _PARAMETER.sub("{id}", self.path)


@lru_cache(1)
def all_routes() -> tuple[Route, ...]:
    """Return the routes of all modules here, by their names.

    >>> sorted(route.path for route in all_routes())
    ['/concepts/{concept_id:path}', '/link', '/map', '/search', '/workbook']
    """
    return tuple(_iter_routes())


def _iter_routes() -> Iterator[Route]:
    for found in sorted(iter_modules(__path__), key=lambda each: each.name):
        yield from import_module(f"{__name__}.{found.name}").ROUTES


def row_model(name: str, columns: Mapping[str, type], required: Sequence[str]) -> type[Reply]:
    """Return the model of a row of a table: all columns are there, and values are null except where they are `required`.

    >>> list(row_model("Row", {"start": int, "score": float}, ["start"]).model_fields)
    ['start', 'score']
    """
    fields: dict[str, Any] = {key: (kind if key in required else kind | None, ...) for key, kind in columns.items()}
    return create_model(name, __base__=Reply, **fields)


def parse(kind: type[T], body: bytes, where: str = "the body") -> T:
    """Return a request; what is wrong with a body is said by name and kind, never by value.

    >>> from onym.serve.routes.link import LinkRequest
    >>> parse(LinkRequest, b'{"text": 7}')
    Traceback (most recent call last):
    onym.errors.InputError: [request-malformed] text: Input should be a valid string...
    """
    return check(kind, read_json(body, where), where)


def read_json(body: bytes, where: str) -> Any:
    """Parse JSON; NaN, Infinity, numbers such as 1e400 that would become Infinity, and more than 200 levels are refused.

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
    """Return a request of plain values; what is wrong with them is said by name and kind, never by value."""
    try:
        return kind.model_validate(values)
    except ValidationError as e:
        raise make_validation_error(e.errors(include_url=False, include_input=False, include_context=False), where) from None


def make_validation_error(errors: Sequence[Any], where: str) -> InputError:
    """Return the refusal of values by what pydantic says is wrong first; the names of unknown keys may be text."""
    first = errors[0]
    is_extra = first["type"] == "extra_forbidden"
    loc = [str(part) for part in first["loc"][: -1 if is_extra else None]]
    kind = "a key that is not known" if is_extra else first["msg"]
    return InputError("request-malformed", f"{'.'.join(loc) or 'body'}: {kind}", where=where, fix="see /openapi.json")
