"""The pipeline that a command answers with: the options that commands share, and how it is opened."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onym.cli.console import progress_callback, tell
from onym.cli.help import MORE
from onym.cli.inputs import ids_in, resolve_kb
from onym.cli.options import CONCEPTS, DOWNLOAD, LINKER, VERIFY, make_options, optional_field, split_commas
from onym.errors import ConfigError
from onym.store.cache import Verify

if TYPE_CHECKING:
    from rich.progress import Progress

    from onym.cli.console import Lines
    from onym.pipeline.config import PipelineOptions
    from onym.pipeline.pipeline import Pipeline

_COMMON = ("types", "under", "precision", "prefer", "top_k")
"""Pipeline options that `--help` lists; the others are shown by `--help-all`."""


def _declare(
    pipeline: Annotated[
        Path | None,
        typer.Option(
            help="Pipeline; by default the best installed one, at first the built-in starter. It detects mentions in documents "
            "without annotations."
        ),
    ] = None,
    kb: Annotated[
        Path | None,
        typer.Option(
            "--kb", callback=resolve_kb, help="Knowledge base to use instead of a pipeline, for terms and annotated mentions."
        ),
    ] = None,
    linker: Annotated[str | None, LINKER] = None,
    concepts: Annotated[Path | None, CONCEPTS] = None,
    corrections: Annotated[
        Path | None,
        typer.Option(
            "--corrections",
            metavar="FILE",
            help="File of rules that say what a surface means (.onymc, .tsv, .csv, .xlsx).",
        ),
    ] = None,
    component: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=MORE, metavar="NAME", help="Component of a plug-in to add to the pipeline. May be repeated."
        ),
    ] = None,
    download: Annotated[bool, DOWNLOAD] = False,
    verify: Annotated[Verify, VERIFY] = "once",
) -> None:
    """Declare the options; typer reads them from the signature."""


@dataclass(frozen=True)
class AnswerOptions:
    """The options of a command that say which pipeline answers, and how: those of `_declare`, and each of `PipelineOptions`.

    Only options that were given change the pipeline. The command finds them as an `Answering` in its context.
    """

    without: tuple[str, ...] = ()

    def add_to(self, params: list[Any]) -> list[str]:
        """Insert the options after `--output`."""
        from onym.pipeline.config import PipelineOptions

        signature = inspect.signature(_declare, eval_str=True)
        declared = [parameter for name, parameter in signature.parameters.items() if name not in self.without]
        fields = {name: info for name, info in PipelineOptions.model_fields.items() if name not in (*self.without, "concepts")}
        derived = make_options([optional_field(name, info) for name, info in fields.items()])
        for option in derived:
            if option.name not in _COMMON:
                option.rich_help_panel = MORE
        added = [*make_options(declared), *derived]
        place = next((row + 1 for row, param in enumerate(params) if param.name == "output"), len(params))
        params[place:place] = added
        return [option.name for option in added]

    def values_of(self, values: dict[str, Any]) -> Answering:
        """Return the pipeline that was chosen, and the options that were given."""
        from onym.pipeline.config import PipelineOptions

        given: dict[str, Any] = {}
        for name in PipelineOptions.model_fields:
            value = values.get(name)
            if isinstance(value, list | tuple):  # an option that may be repeated; empty if it was not given
                value = split_commas(",".join(value)) or None
            if name != "concepts" and value is not None:
                given[name] = value
        if concepts := values.get("concepts"):
            given["concepts"] = tuple(ids_in(concepts))
        return Answering(
            PipelineOptions.of(given),
            values.get("pipeline"),
            values.get("kb"),
            values.get("linker"),
            values.get("corrections"),
            tuple(values.get("component") or ()),
            values.get("download", False),
            values.get("verify", "once"),
        )


ANSWERS = AnswerOptions()
PIPELINE_ANSWERS = AnswerOptions(without=("kb", "linker"))


@dataclass(frozen=True)
class Answering:
    """The pipeline that a command answers with, or the knowledge base with a linker, and the options that were given."""

    options: PipelineOptions
    pipeline: Path | None = None
    kb: Path | None = None
    linker: str | None = None
    corrections: Path | None = None
    components: tuple[str, ...] = ()
    download: bool = False
    verify: Verify = "once"

    def require_consistent(self, linker_options: Mapping[str, Any]) -> None:
        """Before any work, raise ConfigError if --kb and --pipeline are combined, or linker options are given without --kb."""
        if self.kb is not None and self.pipeline is not None:
            fix = "drop --kb to use the pipeline, or drop --pipeline to use the knowledge base"
            raise ConfigError("config-invalid", "--kb and --pipeline cannot be combined", fix=fix)
        if self.kb is None and (self.linker or linker_options):
            if self.pipeline is not None:
                what = "linker options cannot be combined with --pipeline, which has its own"
                fix = "drop these options, or build a pipeline with them: onym pipeline build"
            else:
                what, fix = "linker options need a knowledge base", "give --kb, or drop these options to use the starter"
            raise ConfigError("config-invalid", what, fix=fix)

    def open(
        self,
        bar: Progress | Lines | None = None,
        linker_options: Mapping[str, Any] | None = None,
        *,
        default_linker: str = "exact",
        restrict: bool = False,
    ) -> Pipeline:
        """Open the pipeline with these options. With --kb, it has a linker and no detector.

        With `restrict`, concepts that a given filter does not allow are ignored, as for terms.
        """
        from onym.kb import KnowledgeBase
        from onym.methods import linker_config, open_linker
        from onym.packs.locate import load
        from onym.parts import OpenContext
        from onym.pipeline.pipeline import Pipeline
        from onym.types import silent

        context = OpenContext(self.download, progress_callback(bar) if bar else silent, self.verify)
        if self.kb is not None:
            kb = KnowledgeBase.open(self.kb, verify=self.verify, prefer=self.options.prefer)
            config = linker_config(self.linker or default_linker, **linker_options or {})
            pipeline = Pipeline(open_linker(config, kb, context))
        else:
            pipeline = load(self.pipeline or use_default(), context=context, prefer=self.options.prefer)
        options = self.options.restricted() if restrict else self.options
        pipeline = pipeline.with_options(options).with_components(*self.components)
        if self.corrections is None:
            return pipeline
        pipeline = pipeline.with_corrections(self.corrections)
        if pipeline.corrections is not None and pipeline.corrections.warning:
            tell(pipeline.corrections.warning)
        return pipeline


def use_default() -> Path:
    """Return the name of the default pipeline, the best installed one, and say on stderr that it is used."""
    from onym.packs.locate import STARTER, STARTER_TITLE, list_installed

    name = STARTER
    if list_installed():
        from onym.packs.recipe import default_pipeline

        name = default_pipeline()
    what = f"the built-in starter ({STARTER_TITLE})" if name == STARTER else f"{name}, the best installed pipeline"
    tell(f"No --pipeline given; using {what}.")
    return Path(name)
