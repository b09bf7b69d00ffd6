"""How a model is used unless a caller says otherwise: a small file of settings in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ValidationError

from onym.errors import InputError
from onym.store.config import Strict
from onym.store.files.regular import read_regular

_MAX_BYTES = 1_000_000


class FolderSettings(Strict):
    """Settings of a model that are kept as `FILE` in its folder.

    >>> class Colours(FolderSettings):
    ...     FILE = "colours.json"
    ...     red: int = 1
    >>> Colours.read(getfixture("tmp_path")).changed(red=0), Colours().changed(red=None)
    (Colours(red=0), Colours(red=1))
    """

    FILE: ClassVar[str]

    def changed(self, **changes: Any) -> Self:
        """Return these settings with changes; None changes nothing."""
        return self.model_validate(self.model_dump() | {name: value for name, value in changes.items() if value is not None})

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        return self.model_dump_json(indent=1).encode() + b"\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the settings of a folder; one without the file has those that the class has by itself."""
        path = folder / cls.FILE
        if not path.is_file():
            return cls()
        try:
            return cls.model_validate_json(read_small(path))
        except ValidationError as e:
            what = f"{'.'.join(map(str, e.errors()[0]['loc'])) or 'the file'}: {e.errors()[0]['msg']}"
            raise InputError("model-malformed", what, where=str(path), fix="fetch the model again") from e


def read_small(path: Path) -> bytes:
    """Return the content of a small file of a model's folder; of a large one, its beginning."""
    return read_regular(path, _MAX_BYTES)
