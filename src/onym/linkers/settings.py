"""How a trained model wants to be asked: a small file in its folder, which counts wherever a caller says nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.errors import InputError
from onym.store.source import InputFile

SETTINGS = "onym.json"


class ModelSettings(BaseModel):
    """What a generative model reads and how names are searched and ranked.

    >>> ModelSettings().changed(window=64, search="").window
    64
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    template: str = "genbioel"
    window: int = Field(default=128, ge=8, le=100_000)
    search: Literal["beam", "exact"] = "beam"
    ranking: Literal["mean", "sum"] = "mean"

    def changed(self, **given: Any) -> ModelSettings:
        """Return these settings with what a caller gave; nothing, as an empty word or a zero, is not given."""
        return ModelSettings.model_validate(self.model_dump() | {name: value for name, value in given.items() if value})

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        return self.model_dump_json(indent=1).encode() + b"\n"


def read_settings(folder: Path) -> ModelSettings:
    """Return the settings of a model's folder; a folder without any has the published systems'.

    >>> read_settings(getfixture("tmp_path")).ranking
    'mean'
    """
    path = folder / SETTINGS
    if not path.is_file():
        return ModelSettings()
    try:
        with InputFile.from_path(path).open() as stream:
            return ModelSettings.model_validate_json(stream.read(1_000_000))
    except ValidationError as e:
        what = f"{'.'.join(map(str, e.errors()[0]['loc'])) or 'the file'}: {e.errors()[0]['msg']}"
        raise InputError("model-malformed", what, where=str(path), fix="fetch the model again") from e
