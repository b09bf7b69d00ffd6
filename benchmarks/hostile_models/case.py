"""What a hostile folder is: an honest one, and how it is spoilt. Beside it lies what must not be read."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import load_file, save_file

Kind = Literal["encoder", "bart", "t5", "collective", "convert", "pipeline", "onnx"]
Spoil = Callable[[Path], object]
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


@dataclass(frozen=True)
class Case:
    """`spoil` changes a copy of the honest folder of that kind."""

    name: str
    kind: Kind
    spoil: Spoil

    def make(self, base: Path, honest: Path) -> Path:
        """Make the folder in `base`, where `outside` holds other models, and return it."""
        shutil.copytree(honest / "outside", base / "outside", symlinks=True)
        folder = shutil.copytree(honest / self.kind, base / "model", symlinks=True)
        self.spoil(folder)
        return folder


class Evil:
    """Leaves a mark beside the model's folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self._mark = folder.parent / "executed"

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._mark),)


def evil_code(folder: Path) -> str:
    """Return a module that leaves the mark when it is imported, and has whatever is asked for."""
    mark = str(folder.parent / "executed")
    return f"import os\nos.makedirs({mark!r}, exist_ok=True)\n__getattr__ = lambda name: type(name, (), {{}})\n"


def both(*spoils: Spoil) -> Spoil:
    """Spoil in several ways."""

    def spoil(folder: Path) -> None:
        for each in spoils:
            each(folder)

    return spoil


def nothing(_: Path) -> None:
    """Leave the folder as it is."""


def text(name: str, content: str | bytes) -> Spoil:
    """Write a file, instead of what is there."""

    def spoil(folder: Path) -> None:
        path = removed(folder / name)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return spoil


def value(name: str, content: Any) -> Spoil:
    """Write a file of JSON, instead of what is there."""
    return text(name, json.dumps(content))


def changed(name: str, **changes: Any) -> Spoil:
    """Change some values of a file of JSON."""

    def spoil(folder: Path) -> None:
        found = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
        (folder / name).write_text(json.dumps(found | changes))

    return spoil


def code(*names: str) -> Spoil:
    """Put code into the folder."""

    def spoil(folder: Path) -> None:
        for name in names:
            removed(folder / name).write_text(evil_code(folder))

    return spoil


def link(name: str, target: str) -> Spoil:
    """Make a file a link; `target` is as it stands in the link."""
    return lambda folder: removed(folder / name).symlink_to(target)


def pipe(name: str) -> Spoil:
    """Make a file a pipe that nobody writes to."""
    return lambda folder: os.mkfifo(removed(folder / name))


def folder_instead(name: str) -> Spoil:
    """Make a file a folder."""
    return lambda folder: removed(folder / name).mkdir()


def without(name: str) -> Spoil:
    """Remove a file."""
    return lambda folder: removed(folder / name)


def pickled(name: str) -> Spoil:
    """Write a pickle that runs code."""
    return lambda folder: removed(folder / name).write_bytes(pickle.dumps({"weight": Evil(folder)}))


def tensors(change: Callable[[dict[str, Any]], object], name: str = WEIGHTS) -> Spoil:
    """Change tensors."""

    def spoil(folder: Path) -> None:
        found = load_file(folder / name)
        found = {key: each.clone() for key, each in found.items()}
        change(found)
        save_file(found, folder / name, metadata={"format": "pt"})

    return spoil


def removed(path: Path) -> Path:
    """Remove whatever is at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return path


def in_turn(family: str, spoils: dict[str, Spoil], *kinds: Kind) -> list[Case]:
    """Return a case for each way to spoil a folder, of the kinds in turn."""
    return [Case(f"{family}-{name}", kinds[number % len(kinds)], spoil) for number, (name, spoil) in enumerate(spoils.items())]
