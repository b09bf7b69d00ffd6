"""Settings of collective models, and checks of their folders. Needs neither torch nor ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from onym.config import Strict
from onym.errors import ConfigError, InputError
from onym.models.tokens import Tokenizer
from onym.store.models import FolderSettings, require_safe

Represent = Literal["ends", "mean"]
Detect = Literal["none", "spans", "tags"]
OUTSIDE, BEGIN, INSIDE = range(3)
HEADS, NAMES = "heads.safetensors", "names"


class Label(Strict):
    """A label of spans: a mention type as annotated in `corpus` (empty means all corpora), with its detection threshold."""

    type: str = Field(default="", max_length=100)
    corpus: str = Field(default="", max_length=100)
    threshold: float = Field(default=0.5, ge=0, le=1)


class CollectiveSettings(FolderSettings):
    """Settings of a collective model. `window` and `overlap` are in tokens; `dim` is the dimension of name embeddings.

    A detected mention has at most `max_span_tokens` tokens and a probability of at least `threshold`, tuned on the dev split.
    With `labels`, mentions are detected by type, and each label has its own threshold. `hidden` is the size of the hidden layer
    before the labels; 0 means no hidden layer.

    >>> CollectiveSettings(dim=8).detect
    'none'
    """

    FILE: ClassVar[str] = "collective.json"

    window: int = Field(default=256, ge=16, le=100_000)
    overlap: int = Field(default=64, ge=0, le=50_000)
    represent: Represent = "ends"
    detect: Detect = "none"
    max_span_tokens: int = Field(default=20, ge=1, le=200)
    threshold: float = Field(default=0.5, ge=0, le=1)
    links: bool = True
    dim: int = Field(default=0, ge=0, le=100_000)
    hidden: int = Field(default=0, ge=0, le=10_000)
    labels: tuple[Label, ...] = Field(default=(), max_length=1_000)


def read_collective_settings(folder: Path) -> CollectiveSettings:
    """Read the settings of a collective model; reject unsafe folders, and folders of other models."""
    require_safe(folder)
    if not (folder / CollectiveSettings.FILE).is_file():
        fix = "use a folder written by `onym train collective`"
        raise ConfigError("model-family", "this is not a collective model", where=str(folder), fix=fix)
    return CollectiveSettings.read(folder)


def require_windows(settings: CollectiveSettings, positions: int, tokenizer: Tokenizer, folder: Path) -> None:
    """Reject windows that are longer than the model's maximum length, or whose overlap leaves no new tokens."""
    around = len(tokenizer.before) + len(tokenizer.after)
    if settings.window > positions or settings.overlap >= settings.window - around:
        what = "the window is longer than the model can read, or the overlap is as large as the window"
        raise InputError("model-malformed", what, where=str(folder / CollectiveSettings.FILE), fix="download the model again")


def heads_mismatch(path: Path) -> InputError:
    """Build the error for heads whose weights do not fit the settings."""
    what = "the weights of the heads do not match collective.json"
    return InputError("model-malformed", what, where=str(path), fix="download the model again")
