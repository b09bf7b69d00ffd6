"""What parts share in being configured and opened: references to models, options, and what opening needs.

The configuration of a linker or a detector is one frozen class in the part's own file. "Not given" is None, never an empty word
or a zero. A model is named by a reference: its path, and, in a pipeline that was built, its digest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import model_validator
from pydantic.fields import FieldInfo

from onym.config import Strict
from onym.errors import ConfigError, InputError, IntegrityError
from onym.store.cache import Verify, ignore_notes
from onym.store.models import FETCHED, folder_digest, folder_of
from onym.types import Progress, silent

__all__ = ["ModelReference", "OpenContext", "PartConfig"]
T = TypeVar("T")
Precision = Literal["auto", "fp32", "bf16"]
"""`auto` is bf16 where the machine is fast with it, else fp32."""
ReaderPrecision = Literal["auto", "fp32", "bf16", "int8"]
"""That of a model that reads documents: int8 is faster on CPUs, and costs a little accuracy."""
_FIX = "build the pipeline again, or bring back what it was built with"


@dataclass(frozen=True)
class OpenContext:
    """What the parts of one pipeline share while they are opened.

    With `download`, a model that is not a folder is fetched from the hub. `progress` follows what is built on first use.
    `verify` says when the bytes of artefacts are hashed. Models that several parts use are opened once.
    """

    download: bool = False
    progress: Progress = silent
    verify: Verify = "once"
    _models: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.verify == "full":
            ignore_notes()

    def open_once(self, key: tuple[str, ...], open_model: Callable[[], T]) -> T:
        """Return the model of that key, opened on first use.

        >>> context = OpenContext()
        >>> context.open_once(("minilm",), list) is context.open_once(("minilm",), list)
        True
        """
        if key not in self._models:
            self._models[key] = open_model()
        found: T = self._models[key]
        return found


class ModelReference(Strict):
    """A model's folder, or its name on the hub. `digest` is None until a pipeline that uses the model is built.

    >>> ModelReference.model_validate("minilm").path
    'minilm'
    """

    FILES: ClassVar[tuple[str, ...] | None] = None  # the files that count; None is all of them

    path: str
    digest: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": str(value)} if isinstance(value, str | Path) else value

    def folder(self, context: OpenContext) -> Path:
        """Return the folder, fetched from the hub where the context allows it."""
        return folder_of(self.path, self.FILES or FETCHED, download=context.download)

    @property
    def name(self) -> str:
        """What the model is called beside results: the folder's name, or its name on the hub."""
        return Path(self.path).name if Path(self.path).exists() else self.path

    def pin(self, base: Path, context: OpenContext) -> Self:
        """Return the reference with its digest, as a pipeline in the folder `base` writes it."""
        found = self.folder(context)
        return self.model_copy(update={"path": relative_path(found, base), "digest": folder_digest(found, self.FILES)})

    def resolve(self, base: Path) -> Self:
        """Return the reference with its path from here; a model that has changed since the pipeline was built is rejected.

        Pipelines of earlier versions have digests that count `*.md` files: either digest is accepted.
        """
        path = base / self.path
        if not path.is_dir():
            raise InputError("pipeline-missing", "a model of the pipeline is missing", where=str(path), fix=_FIX)
        if self.digest is not None and self.digest != folder_digest(path, self.FILES):
            require_digest(self.path, self.digest, folder_digest(path, self.FILES, with_pages=True), base)
        return self.model_copy(update={"path": str(path)})


class TokenizerReference(ModelReference):
    """A folder of which only the tokenizer counts."""

    FILES: ClassVar[tuple[str, ...] | None] = ("tokenizer.json",)


class PartConfig(Strict):
    """The configuration of a part. `kind` is its short name."""

    kind: str

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """Return what a person can set, by name; the command line's options are made of it."""
        return {name: info for name, info in cls.model_fields.items() if name != "kind"}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Make a configuration of options by name; None is not given, and an option of another part is refused."""
        wanted = {name: value for name, value in options.items() if value is not None}
        if other := sorted(wanted.keys() - cls.options().keys()):
            name = cls.model_fields["kind"].default
            fix = f"{name} has {', '.join(cls.options()) or 'no options'}"
            raise ConfigError("config-invalid", f"{other[0]} is not an option of {name}", fix=fix)
        return cls.of(wanted)

    def with_parts(self, change: Callable[[PartConfig], PartConfig]) -> Self:
        """Return the configuration changed as a part is, once the parts in it are."""
        parts = {name: getattr(self, name) for name in type(self).model_fields}
        inner = {name: part.with_parts(change) for name, part in parts.items() if isinstance(part, PartConfig)}
        found = change(self.model_copy(update=inner))
        if not isinstance(found, type(self)):
            raise TypeError(f"a part that is {type(self).__name__} cannot become {type(found).__name__}")
        return found

    def with_references(self, change: Callable[[ModelReference], ModelReference]) -> Self:
        """Return the configuration with every reference changed, also those of the parts of a part."""

        def change_references(part: PartConfig) -> PartConfig:
            values = {name: getattr(part, name) for name in type(part).model_fields}
            return part.model_copy(
                update={name: change(value) for name, value in values.items() if isinstance(value, ModelReference)}
            )

        return self.with_parts(change_references)


def relative_path(path: Path, base: Path) -> str:
    """Return a path as a pipeline writes it: relative to its folder where it lies inside, else absolute.

    >>> relative_path(Path("/p/kb"), Path("/p")), relative_path(Path("/kb"), Path("/p"))
    ('kb', '/kb')
    """
    path, base = path.resolve(), base.resolve()
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()


def require_digest(path: str, expected: str | None, found: str, base: Path) -> None:
    """Refuse what is not what it was when the pipeline was built."""
    if expected is not None and expected != found:
        what = f"{path} has changed since the pipeline was built"
        raise IntegrityError("pipeline-changed", what, where=str(base), fix=_FIX)


def require_model(reference: ModelReference | None, what: str, option: str = "--model") -> ModelReference:
    """Return a reference that has to be given."""
    if reference is None:
        raise ConfigError("model-missing", f"{what} needs a model", fix=f"name its folder with {option}")
    return reference
