"""Functions that damage the folder of a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file


def change_config(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def rewrite_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    found = load_file(folder / "model.safetensors")
    change(found)
    save_file(found, folder / "model.safetensors", metadata={"format": "pt"})


def cut(folder: Path, size: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])


def with_own_code(folder: Path, auto: str, model_type: str) -> Path:
    """Add custom code to a model, and return the path of the file that the code would create if it ran."""
    mark = folder / "was-run"
    (folder / "evil.py").write_text(f"from pathlib import Path\nPath({str(mark)!r}).touch()\nclass Evil: pass\n")
    change_config(auto_map={"AutoConfig": "evil.Evil", auto: "evil.Evil"}, model_type=model_type)(folder)
    return mark
