"""How a model is used unless a caller says otherwise: a small file of settings in its folder."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ValidationError

from onym.errors import InputError, LimitError
from onym.store.config import Strict
from onym.store.files.regular import read_regular
from onym.store.limits import DEFAULT_LIMITS
from onym.store.model_files import find_model_file


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
        path = find_model_file(folder, cls.FILE)
        if path is None:
            return cls()
        try:
            return cls.model_validate(read_model_json(path))
        except ValidationError as e:
            what = f"{'.'.join(map(str, e.errors()[0]['loc'])) or 'the file'}: {e.errors()[0]['msg']}"
            raise _malformed(path, what) from e


def read_model_json(path: Path) -> Any:
    """Return the value of a small JSON file of a model's folder, all of whose numbers are finite.

    >>> path = getfixture("tmp_path") / "config.json"
    >>> _ = path.write_text('{"layer_norm_eps": NaN}')
    >>> read_model_json(path)
    Traceback (most recent call last):
    onym.errors.InputError: [model-malformed] the file is not valid JSON, or a number in it is none...
    """
    try:
        return json.loads(read_small(path), parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as e:
        raise _malformed(path, "the file is not valid JSON, or a number in it is none") from e


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("not finite")
    return value


def read_small(path: Path) -> bytes:
    """Return the content of a file of settings, which has to be small."""
    data = read_regular(path, DEFAULT_LIMITS.model_json_bytes + 1)
    if len(data) > DEFAULT_LIMITS.model_json_bytes:
        raise LimitError("limit-model", f"more than {DEFAULT_LIMITS.model_json_bytes:,} bytes of settings", where=str(path))
    return data


def _malformed(path: Path, what: str) -> InputError:
    return InputError("model-malformed", what, where=str(path), fix="fetch the model again")
