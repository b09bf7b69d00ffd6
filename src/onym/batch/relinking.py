"""Plans to link a corpus again with the pipeline of a new release, with the rows of an earlier run where nothing can change.

The plan has the shards of the earlier run, and the keys that a new plan of the same inputs has: its output is that of a full
run. For exact pipelines (see `onym.batch.changed_names`), the folder also has the names that have changed, and a run links only
documents that contain one. For all other pipelines, all documents are linked again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onym._version import __version__
from onym.batch.changed_names import ChangedNames, why_inexact, why_other
from onym.batch.plan import BatchPlan, key_of, read_plan, write_plan
from onym.batch.planning import open_planned, require_planned
from onym.errors import ConfigError, OnymError
from onym.packs.locate import locate
from onym.pipeline.pipeline import Pipeline
from onym.store.hidden import owner_only
from onym.store.output import require_folder
from onym.store.storage import absolute, is_address, open_storage


@dataclass(frozen=True)
class Relinking:
    """The plan of a relinking. `why_all` says why all documents are linked again; empty if only some are.

    `changed_names` counts names that have changed, with those that only one of the releases has; None if `why_all` is set.
    """

    plan: BatchPlan
    why_all: str = ""
    changed_names: int | None = None


def plan_relink(
    earlier: str | Path, pipeline: str | Path, out: str | Path, *, old_pipeline: str | Path | None = None
) -> Relinking:
    """Plan to link the inputs of an earlier run with another pipeline, and write the plan to the folder `out`.

    `run_batch` links it. The options of the earlier run apply. `old_pipeline` is the pipeline of the earlier run on this
    machine, if it differs from its plan. If it is missing or has changed, or a pipeline is not exact, all documents are linked
    again.

    >>> from onym.batch import plan_batch, run_batch
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "1.txt").write_text("High fever.")
    >>> _ = plan_batch([folder / "1.txt"], "starter", folder / "out")
    >>> _ = run_batch(folder / "out", workers=1)
    >>> bool(plan_relink(folder / "out", "starter", folder / "new").why_all)
    True
    """
    source, storage = open_storage(earlier), open_storage(out)
    if absolute(earlier) == absolute(out):
        raise ConfigError("config-invalid", "the output is the folder of the earlier run", fix="name a new folder with -o")
    if not is_address(out):
        require_folder(Path(out), force=True)  # force, because `write_plan` checks an existing plan
    plan = read_plan(source)
    settings = plan.settings.model_copy(update={"pipeline": str(locate(pipeline).resolve()), "reuse": None})
    new = open_planned(settings)
    why, changed = _compare(plan, new, old_pipeline)
    with owner_only(settings.private):
        if changed is not None:
            settings = settings.model_copy(update={"reuse": absolute(earlier)})
            changed.write(storage)
        described = new.source()
        shards = tuple(
            shard.model_copy(update={"key": key_of(shard.groups, described, text=settings.text)}) for shard in plan.shards
        )
        values: dict[str, Any] = {"onym": __version__, "settings": settings, "source": described, "shards": shards}
        made = write_plan(plan.model_copy(update=values), storage)
    return Relinking(made, why, None if changed is None else len(changed.names))


def _compare(plan: BatchPlan, new: Pipeline, old_pipeline: str | Path | None) -> tuple[str, ChangedNames | None]:
    """Return the names that have changed, or why all documents are linked again."""
    if why := why_inexact(new):
        return why, None
    if plan.onym != __version__:
        return f"the run was linked by Onym {plan.onym}, and this is {__version__}", None
    if why := why_other(plan.source, new.source()):
        return why, None
    try:
        old = open_planned(plan.settings, old_pipeline)
        require_planned(plan, old)
    except OnymError as e:
        if old_pipeline is not None:
            raise
        return f"the pipeline of the run cannot be opened ({e.code}); give its path with --old-pipeline", None
    return "", ChangedNames.between(old, new)
