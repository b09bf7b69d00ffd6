"""Pieces of a long piece of work, kept until it is done: work that was killed resumes where it stopped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import IntegrityError
from onym.store.artefact.arrays import open_array
from onym.store.output import remove_folder, whole_file

_SIGN = "work.json"


class Work:
    """A folder of columns by name. What was kept there for work made of other things is thrown away.

    >>> work = Work(getfixture("tmp_path") / "work", ["kb", "encoder"])
    >>> work.keep("first", np.array([1.5, 2.0], dtype=np.float32))
    >>> work.piece("first", "<f4", 2).tolist(), work.piece("second", "<f4", 2)
    ([1.5, 2.0], None)
    """

    def __init__(self, folder: Path, made_of: Sequence[str]) -> None:
        self._folder = folder
        sign = json.dumps(list(made_of)).encode()
        if not self._is_signed(sign):
            remove_folder(folder)
            with whole_file(folder / _SIGN, force=True) as file:
                file.write(sign)

    def keep(self, name: str, values: npt.NDArray[Any]) -> None:
        """Keep a one-dimensional column; it is there as a whole, or not at all."""
        with whole_file(self._folder / f"{name}.npy", force=True) as file:
            np.lib.format.write_array(file, values.astype(values.dtype.newbyteorder("<"), copy=False), (1, 0), False)

    def piece(self, name: str, dtype: str, length: int) -> npt.NDArray[Any] | None:
        """Return a column that was kept, by memory map; None where there is none of this type and length."""
        try:
            return open_array(self._folder / f"{name}.npy", dtype, length)
        except IntegrityError:
            return None

    def remove(self) -> None:
        """Remove what was kept: the work is done."""
        remove_folder(self._folder)

    def _is_signed(self, sign: bytes) -> bool:
        try:
            return (self._folder / _SIGN).read_bytes() == sign
        except OSError:
            return False
