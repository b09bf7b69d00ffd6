"""Tests that command-line options are derived from configuration classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import BaseModel, Field
from typer.main import get_command, get_group
from typer.testing import CliRunner

from onym.cli import options, serve
from onym.cli.answering import AnswerOptions
from onym.cli.options import OF_CONFIG, ConfigOptions, command_with
from onym.serve.settings import ServeSettings


class Settings(BaseModel):
    kb: Path
    size: int = Field(default=3, ge=1, le=9, description="How large.")
    kinds: tuple[str, ...] = Field(default=(), description="Which kinds.")
    speed: Literal["slow", "fast"] = Field(default="slow", description="How fast.")
    strict: bool = Field(default=False, description="Whether it is strict.")
    folder: Path | None = Field(default=None, description="Where.")
    ratio: float | None = Field(default=None, ge=0.5, description="How much.")
    internal: int = 0


def app_of(source: ConfigOptions, seen: dict[str, Any]) -> typer.Typer:
    app = typer.Typer(add_completion=False)

    @app.command(cls=command_with(config=source))
    def run(
        context: typer.Context,
        base: Annotated[str, typer.Option(help="The base.")] = "",
        size: Annotated[int | None, OF_CONFIG] = None,
        quiet: Annotated[bool, typer.Option("--quiet")] = False,
    ) -> None:
        seen.update(context.obj["config"], size=size, base=base)

    return app


def options_of(app: typer.Typer) -> list[str]:
    return [param.name for param in get_command(app).params if param.name]


def test_fields_with_a_description_are_options_in_their_order() -> None:
    app = app_of(ConfigOptions(lambda: Settings, own={"kb": "base"}), {})
    assert options_of(app) == ["base", "size", "kinds", "speed", "strict", "folder", "ratio", "quiet"]


def test_option_values_are_parsed_as_the_class_declares() -> None:
    seen: dict[str, Any] = {}
    app = app_of(ConfigOptions(lambda: Settings), seen)
    words = ["--kinds", "a, b", "--kinds", "c", "--speed", "fast", "--strict", "--folder", "x", "--ratio", "0.5", "--size", "9"]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    assert seen.pop("base") == ""
    assert Settings(kb=Path(), **seen) == Settings(
        kb=Path(), size=9, kinds=("a", "b", "c"), speed="fast", strict=True, folder=Path("x"), ratio=0.5
    )
    CliRunner().invoke(app, [], catch_exceptions=False)
    assert seen == {"kinds": (), "speed": "slow", "strict": False, "folder": None, "ratio": None, "size": None, "base": ""}


@pytest.mark.parametrize("words", [["--size", "10"], ["--ratio", "0.4"], ["--speed", "slower"], ["--internal", "1"]])
def test_bounds_and_names_come_from_the_class(words: list[str]) -> None:
    assert CliRunner().invoke(app_of(ConfigOptions(lambda: Settings), {}), words).exit_code == 2


def test_partial_options_add_no_further_fields() -> None:
    command = get_command(app_of(ConfigOptions(lambda: Settings, is_partial=True), {}))
    size = next(param for param in command.params if param.name == "size")
    assert [param.name for param in command.params] == ["base", "size", "quiet"]
    assert (size.help, size.min, size.max) == ("How large.", 1, 9)  # type: ignore[attr-defined]


def test_new_setting_of_the_service_becomes_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wider(ServeSettings):
        colour: str = Field(default="red", description="A colour.")

    monkeypatch.setattr("onym.serve.settings.ServeSettings", Wider)
    shown = {param.name: param for param in get_group(serve.app).commands["serve"].params}
    assert (shown["colour"].help, shown["colour"].default) == ("A colour.", "red")  # type: ignore[attr-defined]
    assert shown.keys() >= {"host", "token_file", "allow_host", "max_wait"}
    assert shown.keys().isdisjoint({"token", "allow_hosts", "pipelines", "batch_characters"})


def test_new_setting_of_pipelines_becomes_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    from onym.cli import pipeline
    from onym.pipeline.config import PipelineConfig

    class Wider(PipelineConfig):
        colour: str = Field(default="red", description="A colour.")

    monkeypatch.setattr("onym.pipeline.config.PipelineConfig", Wider)
    build = get_group(pipeline.app).commands["build"]
    assert next(param for param in build.params if param.name == "colour").help == "A colour."  # type: ignore[attr-defined]


def test_pipeline_settings_are_command_line_options() -> None:
    from onym.pipeline.config import PipelineOptions

    fields = PipelineOptions.model_fields
    assert all(field.description for field in fields.values())
    params: list[Any] = []
    stored = [name for name in fields if name not in ("precision", "coverage")]  # these need a calibration
    assert options.PIPELINE_OPTIONS.add_to(params) == [param.name for param in params] == stored
    assert fields.keys() <= {*AnswerOptions().add_to([])}
