"""What a pipeline's folder says: `pipeline.json`, frozen and typed. Unknown keys are refused."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from onym.detect.dictionary import DictionaryConfig
from onym.linkers.named import LinkerOptions
from onym.store.config import Strict

_DICTIONARY, _OPTIONS = DictionaryConfig(), LinkerOptions()


class Reference(Strict):
    """A folder that a pipeline needs, and the digest that it had when the pipeline was built.

    `path` is relative to the pipeline's own folder where it lies inside it; then both can be moved together.
    """

    path: str
    digest: str


class NoDetector(Strict):
    """Mentions have to be given."""

    kind: Literal["none"] = "none"


class DictionarySettings(Strict):
    """The names of the knowledge base are the mentions.

    >>> DictionarySettings(shortest=2).config.shortest
    2
    """

    kind: Literal["dictionary"] = "dictionary"
    shortest: int = Field(default=_DICTIONARY.shortest, ge=1, le=100)
    as_written: int = Field(default=_DICTIONARY.as_written, ge=0, le=100)
    abbreviations: bool = True
    nested: bool = False

    @property
    def config(self) -> DictionaryConfig:
        """As the detector takes them."""
        return DictionaryConfig(self.shortest, self.as_written, self.abbreviations, self.nested)


class ModelDetector(Strict):
    """A trained model finds the mentions; `threshold` is its own where none is given."""

    kind: Literal["model"] = "model"
    model: Reference
    threshold: float | None = Field(default=None, ge=0, le=1)
    nested: bool = False


DetectorSettings = Annotated[NoDetector | DictionarySettings | ModelDetector, Field(discriminator="kind")]


class LinkerSettings(Strict):
    """A linker by its name, and what it may be told; see `LinkerOptions`."""

    kind: Literal["exact", "tfidf", "dense", "generative", "collective", "cascade"] = "exact"
    model: Reference | None = None
    encoder: Reference | None = None
    tokenizer: Reference | None = None
    template: str = ""
    search: Literal["", "beam", "exact"] = ""
    ranking: Literal["", "mean", "sum"] = ""
    width: int = Field(default=_OPTIONS.width, ge=1, le=100)
    window: int = Field(default=0, ge=0)
    index: str = _OPTIONS.index


class PipelineSettings(Strict):
    """A whole pipeline. With `types` or `concepts`, the others are neither looked for nor answered.

    An answer whose score is below `threshold` is none. `onym` is the version that built it.
    """

    format: Literal[1] = 1
    onym: str
    kb: Reference
    detector: DetectorSettings
    linker: LinkerSettings
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    threshold: float | None = Field(default=None, allow_inf_nan=False)
    top_k: int = Field(default=10, ge=1, le=1000)
