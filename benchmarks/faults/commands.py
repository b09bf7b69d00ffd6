"""The commands that write, each over an earlier output: how it is prepared, run, and judged by what it leaves behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onym.errors import OnymError
from onym.index import open_index
from onym.kb import KnowledgeBase

_KBS = {
    "old": "id\tname\tsynonyms\nmesh:D1\tFever\tPyrexia\nmesh:D2\tCough\t\n",
    "new": "id\tname\tsynonyms\nmesh:D1\tFever\tPyrexia|High temperature\nmesh:D3\tHeadache\tCephalalgia\n",
}
_TEXT = "1|t|Fever and cough.\n1|a|A headache, and fever again.\n1\t0\t5\tFever\tDisease\tD1\n1\t10\t15\tcough\tDisease\tD2\n\n"
_TRAINING = """
[start]
model = "{0}/encoder"
[data]
kb = "{0}/kb"
[optim]
steps = 1
batch_size = 2
"""


ACCOUNTED = "accounted"
"""The output of a run that could not read its input, and said so: whole, without it."""


@dataclass(frozen=True)
class Command:
    """A command of Onym in a folder. `identify` names what its output is: equal names are equal outputs; None is no output.

    The commands of `earlier` make what it needs, and the output that is there before.
    """

    name: str
    arguments: tuple[str, ...]
    identify: Callable[[Path], str | None]
    earlier: tuple[tuple[str, ...], ...]
    needs_model: bool = False


def write_inputs(folder: Path, *, needs_model: bool) -> None:
    """Write what the commands read."""
    for name, rows in _KBS.items():
        (folder / f"{name}.tsv").write_text(rows)
    (folder / "text.txt").write_text(_TEXT)
    (folder / "train.toml").write_text(_TRAINING.format(folder))
    if needs_model:
        from onym.testing.models import save_encoder

        save_encoder(folder / "encoder")


def _of_kb(folder: Path) -> str | None:
    return KnowledgeBase.open(folder / "kb", verify="full").digest if (folder / "kb" / "CURRENT").exists() else None


def _of_index(folder: Path) -> str | None:
    return open_index(folder / "index", verify="full").digest if (folder / "index" / "CURRENT").exists() else None


def _of_links(folder: Path) -> str | None:
    """Name what was linked. Without the only document, it has to stand among the problems as a file that failed."""
    path = folder / "links.jsonl"
    if not path.exists():
        return None
    if path.stat().st_size:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    problems = path.with_name("links.jsonl.problems.jsonl").read_text().splitlines()
    codes = [json.loads(line)["code"] for line in problems]
    return ACCOUNTED if codes == ["input-unreadable"] else "empty"


def _of_model(folder: Path) -> str | None:
    """Name a trained model by its weights and its files; its record tells the time, which is another each run."""
    model = folder / "model"
    if not model.exists():
        return None
    files = sorted(str(path.relative_to(model)) for path in model.rglob("*") if path.is_file())
    json.loads((model / "training.json").read_bytes())
    return hashlib.sha256((model / "model.safetensors").read_bytes() + " ".join(files).encode()).hexdigest()


_KB = ("kb", "build", "old.tsv", "-o", "kb")
_LINK = ("link", "text.txt", "--kb", "kb", "-o", "links.jsonl")
_INDEX = ("index", "build", "kb", "--model", "encoder", "-o", "index", "--device", "cpu")
_TRAIN = ("train", "align", "--config", "train.toml", "-o", "model", "--device", "cpu")
COMMANDS = {
    command.name: command
    for command in (
        Command("train", _TRAIN, _of_model, (_KB,), needs_model=True),
        Command("index", (*_INDEX, "--kind", "sq8"), _of_index, (_KB, (*_INDEX, "--kind", "flat")), needs_model=True),
        Command("build", ("kb", "build", "new.tsv", "-o", "kb"), _of_kb, (_KB,)),
        Command("link", (*_LINK, "--format", "jsonl", "--force"), _of_links, (_KB, _LINK)),
    )
}


def state_of(command: Command, folder: Path) -> str:
    """Return what a command's output is: its name, `absent`, or `torn`."""
    try:
        return command.identify(folder) or "absent"
    except (OnymError, OSError, ValueError, KeyError):
        return "torn"
