"""Options that several commands share, and options generated from configuration classes.

Each field of a configuration class that has a description becomes an option with the field's name, type, default and bounds.
The class is imported when the command is first used, so `onym --help` stays fast.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Union, get_args, get_origin

import typer
from typer.main import get_command

from onym.cli.distinct import require_distinct_outputs
from onym.cli.help import EXPORT, MORE, HelpCommand
from onym.cli.inputs import resolve_kb
from onym.errors import ConfigError
from onym.registry import DETECTORS, LINKERS, Registry

if TYPE_CHECKING:
    from pydantic import BaseModel

LINKER = typer.Option(
    help="Linker: exact, tfidf, dense, generative, collective, cascade, rerank, genes, organisms, variants, or a plug-in."
)
KB = typer.Option("--kb", callback=resolve_kb, help="Knowledge base; or a pipeline such as starter, to use its knowledge base.")
CONCEPTS = typer.Option(rich_help_panel=MORE, help="Link only to the concepts listed in this file, one id per line.")
ALL = typer.Option(
    "--all", rich_help_panel=MORE, help="On a terminal, also list what is not linked, all candidates, ties and matched names."
)
PIPELINE = typer.Option(help="Pipeline; by default the best installed one, at first the built-in starter.")
VERIFY = typer.Option(
    rich_help_panel=MORE,
    help="full: verify the SHA-256 of all files of the knowledge base, its tries and indexes, and the models. "
    "once: only on first use on this machine, or if a file has changed since.",
)
DOWNLOAD = typer.Option("--download", rich_help_panel=MORE, help="Download models given by their Hugging Face Hub name.")
DEVICE = typer.Option(help="Device: auto, cpu, cuda, cuda:N or mps.")
FORCE = typer.Option("--force", help="Overwrite existing output.")
ID_STYLE = typer.Option(help="Style of concept ids: curie (mesh:D009203), obo (MESH:D009203) or raw (D009203).")
CODE_SYSTEM = typer.Option(
    rich_help_panel=EXPORT,
    metavar="PREFIX=NAME",
    help="FHIR and OMOP: name of the vocabulary with this prefix. For FHIR a URI, optionally with |VERSION; for OMOP a "
    "vocabulary_id. May be repeated. By default the name registered by HL7 or OHDSI.",
)
OMOP_VOCABULARY = typer.Option(
    rich_help_panel=EXPORT,
    metavar="FOLDER",
    help="OMOP: folder of an unpacked Athena download (CONCEPT.csv, CONCEPT_RELATIONSHIP.csv); provides the concept ids.",
)
NLP_DATE = typer.Option(
    rich_help_panel=EXPORT, metavar="YYYY-MM-DD", help="OMOP: date of the run, for the column nlp_date; required for note_nlp."
)
NOTE_KEYS = typer.Option(
    rich_help_panel=EXPORT, help="OMOP: number the documents, and write a table of numbers and document ids to this .csv file."
)
DATASET = typer.Option("--dataset", "-d", help="Name of a dataset, or folder of a prepared one.")
DATA = typer.Option(envvar="ONYM_DATA", show_envvar=False, help="Folder of the corpora; by default $ONYM_DATA.")
SPLIT = typer.Option(help="train, dev or test.")
OF_CONFIG = typer.Option()
"""Option without help. ConfigOptions adds help and bounds of the field with the same name."""
PREFER_INSTEAD = typer.Option(
    "--prefer", help="Vocabularies that come first, instead of those that the pipeline prefers: mesh,mondo."
)
_NUMBERS = (int, float, bool)


class OptionSource(Protocol):
    """A source of additional options for a command."""

    def add_to(self, params: list[Any]) -> list[str]:
        """Insert options into the parameters of a command, and return the names of the new options."""

    def values_of(self, values: dict[str, Any]) -> Any:
        """Convert the option values to what the command needs, such as configuration values by field."""


def command_with(**sources: OptionSource) -> type[HelpCommand]:
    """Return a command class with the options of these sources. The options are created on first use.

    The command function reads their values from its context, by the name of the source: `context.obj["linker"]`.
    """

    class CommandWithOptions(HelpCommand):
        _is_plain = False

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._added: dict[str, list[str]] = {}
            super().__init__(*args, **kwargs)

        @property
        def params(self) -> list[Any]:
            """All parameters: always the same list object, because typer modifies it in place."""
            for name, source in sources.items():
                if name not in self._added and not (self._is_plain and isinstance(source, PartOptions)):
                    self._added[name] = []  # set first to prevent recursion: typer reads `params` while it creates options
                    self._added[name] = source.add_to(self._params)
            return self._params

        @params.setter
        def params(self, own: list[Any]) -> None:
            self._params = own

        def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
            """Parse the arguments. Import components only if an argument may be one of their options or asks for help."""
            self._is_plain = True  # so that `params` adds no options of components yet
            own = {word for each in self.params for word in (*each.opts, *each.secondary_opts)}
            self._is_plain = all(word.partition("=")[0] in own for word in args if word.startswith("-") and word != "-")
            return super().make_context(info_name, args, *rest, **extra)

        def invoke(self, ctx: Any) -> Any:
            """Run the command with the values of the added options in `context.obj`."""
            require_distinct_outputs(ctx)  # while the added options are still among the parameters
            found = {name: {option: ctx.params.pop(option) for option in self._added.get(name, ())} for name in sources}
            ctx.obj = {name: sources[name].values_of(values) for name, values in found.items()}
            return super().invoke(ctx)

    return CommandWithOptions


@dataclass(frozen=True)
class PartOptions:
    """Adds an option for each setting of the components of a registry. The value None means that it was not given.

    Options that are not `common` are shown only by `--help-all`.
    """

    registry: Registry
    prefix: str = ""
    common: tuple[str, ...] = ("model",)

    def add_to(self, params: list[Any]) -> list[str]:
        """Append the options."""
        added = make_options(part_options(self.registry, self.prefix))
        for each in added:
            if each.name.removeprefix(self.prefix) not in self.common:
                each.rich_help_panel = f"Options of {self.registry.kind}s"
        params += added
        return [each.name for each in added]

    def values_of(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values that were given, keyed by name without the prefix."""
        return {name.removeprefix(self.prefix): value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class ConfigOptions:
    """Adds an option for each field of a configuration class that has a description.

    An option of that name that the command already declares is kept; if it has no help, it gets the description and bounds of
    the field. `own` maps fields to options that the command declares under another name. Added options are in field order.
    With `is_partial`, no options are added, nor for the fields in `without`. If `common` is given, the other added options are
    shown only by `--help-all`.
    """

    config: Callable[[], type[BaseModel]]
    own: Mapping[str, str] = field(default_factory=dict)
    is_partial: bool = False
    common: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def add_to(self, params: list[Any]) -> list[str]:
        """Add options in the order of the fields."""
        fields = self.config().model_fields
        own = [self.own.get(name, name) for name in fields]
        added, after = [], next((number for number, each in enumerate(params) if each.name in own), len(params))
        for name, info in fields.items():
            text = info.description or ""
            named = [number for number, each in enumerate(params) if each.name == self.own.get(name, name)]
            if named:
                after = named[0] + 1
                params[named[0]] = _complete(params[named[0]], text, info)
            elif text and not self.is_partial and name not in self.without:
                (option,) = make_options([_field_option(name, text, info)])
                if self.common and name not in self.common:
                    option.rich_help_panel = MORE
                params.insert(after, option)
                after += 1
                added.append(name)
        return added

    def values_of(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values; if the field is a tuple, join repeated options and split comma-separated values."""
        fields = self.config().model_fields
        return {name: split_commas(",".join(value)) if _is_tuple(fields[name]) else value for name, value in values.items()}


def split_commas(words: str) -> tuple[str, ...]:
    """Split a comma-separated list.

    >>> split_commas("mesh, mondo")
    ('mesh', 'mondo')
    """
    return tuple(word.strip() for word in words.split(",") if word.strip())


def _pipeline_config() -> type[BaseModel]:
    from onym.pipeline.config import PipelineConfig

    return PipelineConfig


def _concept_filter() -> type[BaseModel]:
    from onym.kb.ranking import ConceptFilter

    return ConceptFilter


LINKER_OPTIONS = PartOptions(LINKERS)
DETECTOR_OPTIONS = PartOptions(DETECTORS, "detector_")
PIPELINE_OPTIONS = ConfigOptions(
    _pipeline_config,
    common=("types", "under", "not_under", "restrict", "prefer", "threshold", "top_k"),
    without=("precision", "coverage"),  # they need a calibration
)
SOME_PIPELINE_OPTIONS = ConfigOptions(_pipeline_config, is_partial=True)
FILTER_OPTIONS = ConfigOptions(_concept_filter, common=("types", "under"), without=("concepts",))
"""--types, --under, --not-under and --mapped. Commands declare --concepts themselves, because it is a file."""


def part_options(registry: Registry, prefix: str = "") -> list[inspect.Parameter]:
    """Return one option for each setting of the components of a registry; its help names the components that accept it.

    >>> [option.name for option in part_options(DETECTORS, "detector_")][:2]
    ['detector_min_length', 'detector_case_sensitive_below']
    """
    found: dict[str, tuple[list[str], Any]] = {}
    for part, refusal in registry.parts():
        with suppress(ConfigError):  # the error of a broken plug-in is raised when the plug-in is used
            options = {} if refusal else registry.load(part.name).Config.options()
            for name, info in options.items():
                found.setdefault(name, ([], info))[0].append(part.name)
    return [_part_option(f"{prefix}{name}", parts, info) for name, (parts, info) in found.items()]


def _part_option(name: str, parts: list[str], info: Any) -> inspect.Parameter:
    kind = _without_none(info.annotation)
    kind = kind if kind in _NUMBERS else str
    word = name.replace("_", "-")
    declaration = f"--{word}/--no-{word}" if kind is bool else f"--{word}"
    return _parameter(name, kind | None, None, declaration, help=f"{', '.join(parts)}: {info.description}", **_bounds(info))


def _field_option(name: str, text: str, info: Any) -> inspect.Parameter:
    """Return the option of a field: a comma-separated list that may be repeated for a tuple, and a flag for a boolean.

    A flag that is on by default can be switched off with `--no-`.
    """
    kind, default = (list[str], list(info.default or ())) if _is_tuple(info) else (info.annotation, info.default)
    default = inspect.Parameter.empty if info.is_required() else default
    word = name.replace("_", "-")
    declaration = f"--{word}/--no-{word}" if default is True else f"--{word}"
    return _parameter(name, kind, default, declaration, help=text, **_bounds(info))


def optional_field(name: str, info: Any) -> inspect.Parameter:
    """Return the option of a field that is None unless it is given. A tuple is a list; a flag that is on gets a `--no-`."""
    kind: Any = list[str] if _is_tuple(info) else _without_none(info.annotation)
    word = name.replace("_", "-")
    declaration = f"--{word}/--no-{word}" if info.default is True else f"--{word}"
    return _parameter(name, kind | None, None, declaration, help=info.description, **_bounds(info))


def _parameter(name: str, kind: Any, default: Any, *declarations: str, **settings: Any) -> inspect.Parameter:
    option = typer.Option(*declarations, **settings)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _complete(own: Any, text: str, info: Any) -> Any:
    """Add the field's help and bounds to an option that the command declares without help."""
    if own.param_type_name != "option" or own.help:
        return own
    own.help = text
    if not (bounds := _bounds(info)):
        return own
    kind, default = _without_none(info.annotation), inspect.Parameter.empty if own.required else own.default
    (made,) = make_options([_parameter(own.name, kind | None, default, *own.opts, help=text, **bounds)])
    made.rich_help_panel = own.rich_help_panel
    return made


def _bounds(info: Any) -> dict[str, Any]:
    if _without_none(info.annotation) not in (int, float):
        return {}
    names = {"ge": "min", "le": "max"}
    return {bound: getattr(each, name) for each in info.metadata for name, bound in names.items() if hasattr(each, name)}


def _is_tuple(info: Any) -> bool:
    return get_origin(info.annotation) is tuple


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        return next(each for each in get_args(annotation) if each is not type(None))
    return annotation


def make_options(parameters: Sequence[inspect.Parameter]) -> list[Any]:
    """Let typer create the options, from a temporary command with these parameters."""

    def command() -> None:
        """Do nothing: typer reads the options from the signature."""

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(get_command(app).params)
