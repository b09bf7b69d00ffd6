"""How a trained model wants to be asked: a small file in its folder, which counts wherever a caller says nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from onym.store.model_settings import FolderSettings

SETTINGS = "onym.json"


class ModelSettings(FolderSettings):
    """What a generative model reads and how names are searched and ranked.

    >>> ModelSettings().changed(window=64, search=None).window
    64
    """

    FILE: ClassVar[str] = SETTINGS

    template: str = "genbioel"
    window: int = Field(default=128, ge=8, le=100_000)
    search: Literal["beam", "exact"] = "beam"
    ranking: Literal["mean", "sum"] = "mean"


def read_settings(folder: Path) -> ModelSettings:
    """Return the settings of a model's folder; a folder without any has the published systems'.

    >>> read_settings(getfixture("tmp_path")).ranking
    'mean'
    """
    return ModelSettings.read(folder)
