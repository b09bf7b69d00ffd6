"""Base classes for configuring and opening components (linkers, detectors): options, model references and `OpenContext`.

The configuration of a component is one frozen class in the component's module. None means "not set"; empty strings and zeros
never do. A model is specified by a reference: its path and, once a pipeline has been built, its digest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, model_validator
from pydantic.fields import FieldInfo

from onym.config import Strict
from onym.errors import ConfigError, InputError, IntegrityError
from onym.registry import Registry
from onym.store.cache import Verify, ignore_notes
from onym.store.models import FETCHED, folder_digest, folder_of
from onym.types import Progress, silent

__all__ = ["ModelReference", "OpenContext", "PartConfig"]
T = TypeVar("T")
Precision = Literal["auto", "fp32", "bf16"]
"""Precision of a model; `auto` is bf16 if the CPU computes fast with bf16, else fp32."""
ReaderPrecision = Literal["auto", "fp32", "bf16", "int8"]
"""Precision of a model that reads documents: int8 is faster on CPUs but slightly less accurate."""
ReaderEngine = Literal["auto", "torch", "onnx"]
"""Library that runs such a model; `auto` is torch if it is installed and the weights are not int8, else ONNX Runtime."""
_FIX = "build the pipeline again, or restore the files that it was built with"


@dataclass(frozen=True)
class OpenContext:
    """Options and opened models that the components of one pipeline share while it is opened.

    With `download`, a model that is not a local folder is fetched from the Hugging Face Hub. `progress` is called while
    something is built on first use. `verify` says when checksums are verified. Each model is opened only once.
    """

    download: bool = False
    progress: Progress = silent
    verify: Verify = "once"
    _models: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.verify == "full":
            ignore_notes()

    def open_once(self, key: tuple[str, ...], open_model: Callable[[], T]) -> T:
        """Return the model with this key, opening it on first use.

        >>> context = OpenContext()
        >>> context.open_once(("minilm",), list) is context.open_once(("minilm",), list)
        True
        """
        if key not in self._models:
            self._models[key] = open_model()
        found: T = self._models[key]
        return found


class ModelReference(Strict):
    """A model's folder, or its name on the Hugging Face Hub. `digest` is set when a pipeline that uses the model is built.

    >>> ModelReference.model_validate("minilm").path
    'minilm'
    """

    FILES: ClassVar[tuple[str, ...] | None] = None  # files that the digest covers; None means all files

    path: str
    digest: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": str(value)} if isinstance(value, str | Path) else value

    def folder(self, context: OpenContext) -> Path:
        """Return the folder, fetching the model from the hub if `context.download` allows it."""
        return folder_of(self.path, self.FILES or FETCHED, download=context.download)

    @property
    def name(self) -> str:
        """The model's name in result metadata: the name of its folder, or its name on the hub."""
        return Path(self.path).name if Path(self.path).exists() else self.path

    def pin(self, base: Path, context: OpenContext) -> Self:
        """Return the reference with its digest, and with its path relative to the pipeline folder `base` if it is inside."""
        found = self.folder(context)
        return self.model_copy(update={"path": relative_path(found, base), "digest": folder_digest(found, self.FILES)})

    def resolve(self, base: Path) -> Self:
        """Return the reference with its path joined to `base`; reject a model that has changed since the pipeline was built.

        Earlier versions included `*.md` files in the digest, so both digests are accepted.
        """
        path = base / self.path
        if not path.is_dir():
            raise InputError("pipeline-missing", "a model of the pipeline is missing", where=str(path), fix=_FIX)
        if self.digest is not None and self.digest != folder_digest(path, self.FILES):
            require_digest(self.path, self.digest, folder_digest(path, self.FILES, with_pages=True), base)
        return self.model_copy(update={"path": str(path)})


class TokenizerReference(ModelReference):
    """A model folder of which only the tokenizer is used."""

    FILES: ClassVar[tuple[str, ...] | None] = ("tokenizer.json",)


class PartConfig(Strict):
    """The configuration of a component. `kind` is the component's short name."""

    kind: str

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """Return the fields that a user can set, by name; the command line derives its options from them."""
        return {name: info for name, info in cls.model_fields.items() if name != "kind"}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Build a configuration from options by name; None means not set. Reject options of other components."""
        wanted = {name: value for name, value in options.items() if value is not None}
        if other := sorted(wanted.keys() - cls.options().keys()):
            name = cls.model_fields["kind"].default
            fix = f"{name} has {', '.join(cls.options()) or 'no options'}"
            raise ConfigError("config-invalid", f"{other[0]} is not an option of {name}", fix=fix)
        return cls.of(wanted)

    def with_parts(self, change: Callable[[PartConfig], PartConfig]) -> Self:
        """Apply `change` to all nested component configurations, then to this one, and return the result."""
        inner = {name: change_nested(getattr(self, name), change) for name in type(self).model_fields}
        found = change(self.model_copy(update=inner))
        if not isinstance(found, type(self)):
            raise TypeError(f"cannot change a {type(self).__name__} into a {type(found).__name__}")
        return found

    def all_parts(self) -> list[PartConfig]:
        """Return the configurations of all nested components, then this one."""
        found: list[PartConfig] = []

        def note(part: PartConfig) -> PartConfig:
            found.append(part)
            return part

        self.with_parts(note)
        return found

    def with_references(self, change: Callable[[ModelReference], ModelReference]) -> Self:
        """Apply `change` to every model reference, also in nested components, and return the result."""

        def change_references(part: PartConfig) -> PartConfig:
            values = {name: getattr(part, name) for name in type(part).model_fields}
            return part.model_copy(
                update={name: change(value) for name, value in values.items() if isinstance(value, ModelReference)}
            )

        return self.with_parts(change_references)


def change_nested(value: Any, change: Callable[[PartConfig], PartConfig]) -> Any:
    """Return a value of a field with `change` applied to the component configurations in it, alone or in a tuple."""
    if isinstance(value, PartConfig):
        return value.with_parts(change)
    return tuple(change_nested(each, change) for each in value) if isinstance(value, tuple) else value


def of_kind(registry: Registry) -> BeforeValidator:
    """Return a validator that uses the configuration class of the component's `kind`."""

    def validate(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        try:
            config = registry.load(str(value.get("kind"))).Config
        except ConfigError as e:
            raise ValueError(e.what) from e
        return config.model_validate(value)

    return BeforeValidator(validate)


def relative_path(path: Path, base: Path) -> str:
    """Return a path as it is stored in pipeline files: relative to `base` if it is inside `base`, else absolute.

    >>> relative_path(Path("/p/kb"), Path("/p")), relative_path(Path("/kb"), Path("/p"))
    ('kb', '/kb')
    """
    path, base = path.resolve(), base.resolve()
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()


def require_digest(path: str, expected: str | None, found: str, base: Path) -> None:
    """Raise IntegrityError if the digest differs from the one recorded when the pipeline was built."""
    if expected is not None and expected != found:
        what = f"{path} has changed since the pipeline was built"
        raise IntegrityError("pipeline-changed", what, where=str(base), fix=_FIX)


def require_model(reference: ModelReference | None, what: str, option: str = "--model") -> ModelReference:
    """Return the reference; raise ConfigError if it is None."""
    if reference is None:
        raise ConfigError("model-missing", f"{what} needs a model", fix=f"give its folder with {option}")
    return reference
