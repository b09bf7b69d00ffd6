"""Creates plans: finds and hashes input files, splits them into shards, and records the pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from onym.batch.inputs import find_groups
from onym.batch.plan import BatchPlan, InputGroup, Settings, Shard, key_of, write_plan
from onym.corpora.base import ReadOptions
from onym.errors import ConfigError, InputError
from onym.packs.locate import load, locate, read_pipeline
from onym.parts import OpenContext
from onym.pipeline import Pipeline, PipelineOptions
from onym.store.hidden import owner_only
from onym.store.limits import MIB
from onym.store.output import require_folder
from onym.store.storage import is_address, open_storage

SHARD_BYTES = 32 * MIB
"""Small files are combined up to this size; large JSONL files are split at this size."""
SHARD_DOCUMENTS = 5_000
"""Other large files are split into ranges of at most this many documents."""


def plan_batch(
    sources: Sequence[str | Path],
    pipeline: str | Path,
    out: str | Path,
    *,
    format: str = "",  # noqa: A002
    options: PipelineOptions | None = None,
    components: Sequence[str] = (),
    corrections: str | Path | None = None,
    text: bool = True,
    private: bool = False,
    shard_bytes: int = SHARD_BYTES,
    shard_documents: int = SHARD_DOCUMENTS,
    text_columns: Sequence[str] = (),
    id_column: str = "",
    encoding: str = "",
) -> BatchPlan:
    """Plan to link sources with a pipeline, and write the plan to the folder `out`.

    If the folder already has the same plan, nothing is written; if it has another plan, an error is raised. With `text=False`,
    the output has no text of mentions. With `private`, all files of the run and its exports have mode 0600, and new folders
    0700. The `options` that were given replace those of the pipeline; `components` are names of plug-ins; `corrections` is a
    file of rules.

    >>> notes = getfixture("tmp_path") / "notes"
    >>> notes.mkdir()
    >>> _ = (notes / "1.txt").write_text("High fever.")
    >>> plan = plan_batch([notes], "starter", getfixture("tmp_path") / "out")
    >>> [[part.name for group in shard.groups for part in group.files] for shard in plan.shards]
    [['1.txt']]
    """
    if isinstance(sources, str | Path):
        sources = [sources]
    if not sources:
        raise ConfigError("config-invalid", "no sources given", fix="give files or folders")
    storage = open_storage(out)
    if not is_address(out):
        require_folder(Path(out), force=True)  # force, because `write_plan` checks an existing plan
    found = locate(pipeline)
    given = (options or PipelineOptions()).model_dump(mode="json", exclude_unset=True)
    settings = Settings(
        pipeline=str(found.resolve()),
        options=given,
        components=tuple(components),
        assertion=given.get("assertion", read_pipeline(found).assertion),
        corrections=None if corrections is None else str(Path(corrections).resolve()),
        text=text,
        private=private,
    )
    source = open_planned(settings).source()
    reading = ReadOptions(tuple(text_columns), id_column, encoding)
    groups, aside = find_groups(sources, format, shard_bytes, shard_documents, reading)
    if not groups:
        raise InputError("input-missing", "no files with documents found", fix="give files or folders of documents")
    shards = tuple(_shards(groups, source, text=text, size=shard_bytes))
    with owner_only(private):
        return write_plan(BatchPlan(settings=settings, source=source, shards=shards, aside=tuple(aside)), storage)


def open_planned(settings: Settings, pipeline: str | Path | None = None, context: OpenContext | None = None) -> Pipeline:
    """Open the pipeline of a plan. `pipeline` is its path on this machine, if it differs from the plan."""
    loaded = load(pipeline or settings.pipeline, context=context)
    loaded = loaded.with_options(PipelineOptions.of(settings.options)).with_components(*settings.components)
    return loaded.with_corrections(settings.corrections)


def require_planned(plan: BatchPlan, pipeline: Pipeline) -> None:
    """Raise ConfigError if the pipeline differs from that of the plan."""
    source = json.loads(json.dumps(pipeline.source()))  # as it is after the plan was written and read
    if changed := sorted(name for name in {*source, *plan.source} if source.get(name) != plan.source.get(name)):
        what = f"the pipeline differs from that of the plan: {', '.join(changed)}"
        fix = "give the planned pipeline with --pipeline, or make a new plan in a new folder"
        raise ConfigError("batch-pipeline-changed", what, fix=fix)


def _shards(groups: Sequence[InputGroup], source: dict[str, Any], *, text: bool, size: int) -> Iterator[Shard]:
    for number, members in enumerate(_pack_groups(groups, size)):
        yield Shard(number=number, key=key_of(members, source, text=text), groups=tuple(members))


def _pack_groups(groups: Sequence[InputGroup], size: int) -> Iterator[list[InputGroup]]:
    """Combine consecutive groups up to a total size. A range of a file is always a shard of its own."""
    waiting: list[InputGroup] = []
    size_so_far = 0
    for group in groups:
        own = group.bytes
        is_range = group.files[0].is_range
        if waiting and (is_range or size_so_far + own > size):
            yield waiting
            waiting, size_so_far = [], 0
        waiting.append(group)
        size_so_far += own
        if is_range:
            yield waiting
            waiting, size_so_far = [], 0
    if waiting:
        yield waiting
