"""How a text becomes a vector and how vectors are compared: kept in a model's folder, for it was trained so."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from onym.encoders.modules import MODULES, read_modules
from onym.encoders.pooling import Pooling
from onym.store.model_settings import FolderSettings

Similarity = Literal["dot", "cosine"]


class EncoderSettings(FolderSettings):
    """The settings of an encoder; by default those of SapBERT's published evaluation.

    `length` is how many tokens of a text are read, special ones included. With `cosine`, vectors have the length 1.

    >>> EncoderSettings().changed(pooling="mean").length
    25
    """

    FILE: ClassVar[str] = "encoder.json"

    pooling: Pooling = "cls"
    similarity: Similarity = "dot"
    length: int = Field(default=25, ge=4, le=100_000)


def read_settings(folder: Path) -> EncoderSettings:
    """Return the settings of a model's folder: those that Onym wrote there, or sentence-transformers, or SapBERT's.

    >>> read_settings(getfixture("tmp_path"))
    EncoderSettings(pooling='cls', similarity='dot', length=25)
    """
    if not (folder / EncoderSettings.FILE).is_file() and (folder / MODULES).is_file():
        return EncoderSettings.model_validate(read_modules(folder))
    return EncoderSettings.read(folder)
