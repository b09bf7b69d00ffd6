"""Options that come from the configurations of parts: declared once, in a part's own file.

A command that takes a linker or a detector gets an option for each thing that any of them can be told. They are made when the
command is first used: `onym --help` imports no part.
"""

from __future__ import annotations

import inspect
import types
from contextlib import suppress
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.main import get_command

from onym.errors import ConfigError
from onym.registry import DETECTORS, LINKERS, Registry

ID_STYLE = typer.Option(help="Style of concept ids: curie (mesh:D009203), obo (MESH:D009203) or raw (D009203).")
CODE_SYSTEM = typer.Option(
    metavar="PREFIX=NAME",
    help="FHIR and OMOP: name of the vocabulary with this prefix. For FHIR a URI, perhaps with |VERSION; for OMOP a "
    "vocabulary_id. May be repeated. By default the name that HL7 or OHDSI has registered.",
)
OMOP_VOCABULARY = typer.Option(
    metavar="FOLDER",
    help="OMOP: unpacked download from Athena, with CONCEPT.csv and CONCEPT_RELATIONSHIP.csv, for the concept ids.",
)
NLP_DATE = typer.Option(metavar="YYYY-MM-DD", help="OMOP: day of the run, for the column nlp_date; needed for note_nlp.")
NOTE_KEYS = typer.Option(help="OMOP: number the documents, and write the numbers and the ids of documents to this .csv file.")
DOWNLOAD = typer.Option("--download", help="Download models that are given by their name on the Hugging Face hub.")
DEVICE = typer.Option(help="Device: auto, cpu, cuda, cuda:N or mps.")
DETECTOR_PREFIX = "detector_"
_NUMBERS = (int, float, bool)


def with_parts(*registries: tuple[Registry, str]) -> type[TyperCommand]:
    """Return the class of a command that has the options of parts, each name with the registry's prefix."""

    class CommandWithParts(TyperCommand):
        _has_parts = False

        @property
        def params(self) -> list[Any]:
            """The options, those of parts behind the command's own: one list, which typer itself appends to and takes from."""
            if not self._has_parts:
                self._has_parts = True
                self._params += _options([each for registry, prefix in registries for each in part_options(registry, prefix)])
            return self._params

        @params.setter
        def params(self, own: list[Any]) -> None:
            self._params, self._own = own, {each.name for each in own}

        def invoke(self, ctx: Any) -> Any:
            """Run the command: the options of parts are in its context's `obj`."""
            ctx.obj = {name: ctx.params.pop(name) for name in list(ctx.params) if name not in self._own}
            return super().invoke(ctx)

    return CommandWithParts


WithLinker = with_parts((LINKERS, ""))
WithLinkerAndDetector = with_parts((DETECTORS, DETECTOR_PREFIX), (LINKERS, ""))


def part_options(registry: Registry, prefix: str = "") -> list[inspect.Parameter]:
    """Return an option for each thing that a part of the registry can be told; its help says which parts take it.

    >>> [option.name for option in part_options(DETECTORS, "detector_")][:2]
    ['detector_min_length', 'detector_case_sensitive_below']
    """
    found: dict[str, tuple[list[str], Any]] = {}
    for part, refusal in registry.parts():
        with suppress(ConfigError):  # a plug-in that is broken says so when it is used
            options = {} if refusal else registry.load(part.name).Config.options()
            for name, info in options.items():
                found.setdefault(name, ([], info))[0].append(part.name)
    return [_parameter(f"{prefix}{name}", parts, info) for name, (parts, info) in found.items()]


def own_options(options: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return those of a command's options that were set and have a prefix, without it.

    >>> own_options({"detector_nested": True, "model": "minilm", "index": None}, "detector_")
    {'nested': True}
    """
    known = {name: value for name, value in options.items() if value is not None}
    if prefix:
        return {name.removeprefix(prefix): value for name, value in known.items() if name.startswith(prefix)}
    return {name: value for name, value in known.items() if not name.startswith(DETECTOR_PREFIX)}


def _parameter(name: str, parts: list[str], info: Any) -> inspect.Parameter:
    kind = _without_none(info.annotation)
    kind = kind if kind in _NUMBERS else str
    word = name.replace("_", "-")
    declaration = f"--{word}/--no-{word}" if kind is bool else f"--{word}"
    option = typer.Option(declaration, help=f"{', '.join(parts)}: {info.description}", **_bounds(kind, info))
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option])


def _bounds(kind: Any, info: Any) -> dict[str, Any]:
    if kind not in (int, float):
        return {}
    names = {"ge": "min", "le": "max"}
    return {bound: getattr(each, name) for each in info.metadata for name, bound in names.items() if hasattr(each, name)}


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        return next(each for each in get_args(annotation) if each is not type(None))
    return annotation


def _options(parameters: list[inspect.Parameter]) -> list[Any]:
    """Return the options as typer makes them."""

    def command() -> None:
        """Take the options."""

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(get_command(app).params)
