"""The plan of a run: `plan.json` in the output folder (format 1), which is written once.

A shard is an input file, several small files, or a range of a large file (of bytes for JSONL, else of documents). Its key is a
hash of everything that its output depends on: the content and names of its inputs, the pipeline, and the version of Onym. Paths
are not included, because they differ between machines.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field, ValidationError

from onym._version import __version__
from onym.batch.rows import SCHEMA_VERSION
from onym.config import Strict
from onym.corpora.base import NO_OPTIONS, ReadOptions
from onym.errors import ConfigError, InputError, IntegrityError
from onym.store.storage import Storage

FORMAT: Literal[1] = 1
FILE, SHARDS = "plan.json", "shards"
_MAX_BYTES = 1 << 30


class InputPart(Strict):
    """A file or a range of a file: its source (`root`), its name there (`member`), and its name in the output (`name`).

    In a byte range of a JSONL file, `start` is the offset of the first byte. In a range of another file, `first` is the number
    of the first document and `documents` their count; the digest is that of the whole file. `to_end` marks the last range.
    """

    root: str
    member: str
    name: str
    bytes: int = Field(ge=0)
    digest: str
    start: int | None = Field(default=None, ge=0)
    lines_before: int = Field(default=0, ge=0)
    first: int | None = Field(default=None, ge=1)
    documents: int | None = Field(default=None, ge=1)
    to_end: bool = False

    @property
    def is_range(self) -> bool:
        """True if this is a range and not a whole file."""
        return self.start is not None or self.first is not None

    @property
    def is_start(self) -> bool:
        """True for a whole file and for the first range of a file."""
        return not self.start and self.first in (None, 1)

    @property
    def last(self) -> int | None:
        """The number of the last document; None if the part extends to the end of the file."""
        return None if self.first is None or self.documents is None or self.to_end else self.first + self.documents - 1

    @property
    def identity(self) -> list[str | int | None]:
        """The values of this part that the key of a shard depends on."""
        return [self.name, self.digest, self.start, *([] if self.first is None else [self.first, self.documents])]


class InputGroup(Strict):
    """Files that are read together (usually a single file), their format, and how they are read."""

    format: str
    options: ReadOptions = Field(default=NO_OPTIONS, exclude_if=lambda options: options == NO_OPTIONS)
    files: tuple[InputPart, ...] = Field(min_length=1)

    @property
    def bytes(self) -> int:
        """The total size of the files."""
        return sum(part.bytes for part in self.files)

    @property
    def identity(self) -> list[Any]:
        """The values of this group that the key of a shard depends on."""
        options = [] if self.options == NO_OPTIONS else [asdict(self.options)]
        return [self.format, *options, *(part.identity for part in self.files)]


class Shard(Strict):
    """A unit of work: input files, and the key of the output."""

    number: int = Field(ge=0)
    key: str
    groups: tuple[InputGroup, ...] = Field(min_length=1)

    @property
    def name(self) -> str:
        """The name of the output file."""
        return f"{SHARDS}/{self.number:06d}.parquet"

    @property
    def bytes(self) -> int:
        """The total size of the inputs."""
        return sum(group.bytes for group in self.groups)


class AsideFile(Strict):
    """A file that is in no shard because it is ignored, or could not be read (with a code)."""

    name: str
    why: str
    code: str = ""


class Settings(Strict):
    """The pipeline, and the options that were given. `pipeline` is its path at planning; a run may use a copy elsewhere.

    `options` are fields of `PipelineOptions`. `assertion` says whether mentions get assertion marks. `corrections` is the path
    of a file of rules; what it says is part of the plan's source, and may not change until the run.
    """

    pipeline: str
    options: dict[str, Any] = Field(default={}, exclude_if=lambda options: not options)
    components: tuple[str, ...] = Field(default=(), exclude_if=lambda components: not components)
    assertion: bool = True
    corrections: str | None = Field(default=None, exclude_if=lambda path: path is None)
    text: bool = True
    private: bool = False


class BatchPlan(Strict):
    """All shards, the files that are in no shard, and `source`, which describes everything that the links depend on."""

    format: Literal[1] = FORMAT
    onym: str = __version__
    settings: Settings
    source: dict[str, Any]
    shards: tuple[Shard, ...]
    aside: tuple[AsideFile, ...] = ()

    @property
    def unreadable_files(self) -> list[AsideFile]:
        """The files that could not be read."""
        return [file for file in self.aside if file.code]


def key_of(groups: Sequence[InputGroup], source: dict[str, Any], *, text: bool) -> str:
    """Return the key of a shard.

    >>> part = InputPart(root="/here", member="a.txt", name="a.txt", bytes=1, digest="ab")
    >>> moved = part.model_copy(update={"root": "/there"})
    >>> keys = [key_of([InputGroup(format="text", files=(each,))], {"top_k": 10}, text=True) for each in (part, moved)]
    >>> keys[0] == keys[1]
    True
    """
    said = {
        "inputs": [group.identity for group in groups],
        "source": source,
        "onym": __version__,
        "schema": SCHEMA_VERSION,
        "text": text,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def write_plan(plan: BatchPlan, storage: Storage) -> BatchPlan:
    """Write a plan and return it. If the folder already has the same plan, return that plan; raise if it differs."""
    if FILE in storage.names(""):
        return _require_same(plan, read_plan(storage))
    try:
        with storage.publish(FILE, once=True) as file:
            file.write(plan.model_dump_json(indent=1).encode() + b"\n")
    except (FileExistsError, ConfigError):
        if FILE not in storage.names(""):
            raise
        return _require_same(plan, read_plan(storage))  # another process wrote a plan first
    return plan


def read_plan(storage: Storage) -> BatchPlan:
    """Read the plan of a folder."""
    fix = "make one with onym batch plan"
    try:
        with storage.open(FILE) as file:
            values = json.loads(file.read(_MAX_BYTES))
    except FileNotFoundError as e:
        raise InputError("batch-no-plan", "the folder has no plan", where=storage.url, fix=fix) from e
    except (ValueError, RecursionError) as e:
        raise IntegrityError("batch-plan-malformed", "plan.json is not valid JSON", where=storage.url, fix=fix) from e
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        what = f"plan.json does not have format {FORMAT}"
        raise IntegrityError("batch-version", what, where=storage.url, fix="use the version of Onym that made the plan")
    try:
        return BatchPlan.model_validate(values)
    except ValidationError as e:
        first = e.errors(include_input=False)[0]
        what = f"plan.json: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise IntegrityError("batch-plan-malformed", what, where=storage.url, fix=fix) from e


def _require_same(new: BatchPlan, old: BatchPlan) -> BatchPlan:
    if [shard.key for shard in new.shards] != [shard.key for shard in old.shards]:
        what = "the folder already has a plan with other inputs, another pipeline or another version of Onym"
        raise ConfigError("batch-plan-differs", what, fix="use a new folder, or run the existing plan")
    if new.settings.private and not old.settings.private:
        raise ConfigError("batch-plan-differs", "the folder already has a plan that is not private", fix="use a new folder")
    return old
