"""Choose which annotated types of a split are scored: the types given, the types that a pipeline links, or all.

A dataset may annotate more types than a pipeline links, and all mentions of the other types would count as missed. So gold
mentions of other types are dropped, and so are predicted mentions whose concepts belong to semantic groups of other types.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from onym.errors import ConfigError
from onym.evaluate.task import EvaluationTask
from onym.kb.ranking import select_concepts
from onym.outputs.predictions import Predictions
from onym.pipeline.pipeline import Pipeline
from onym.store.models import read_small
from onym.types import Document, Mention

TRAINING_REQUEST = "request.json"
"""The file with the training configuration in a trained pipeline's folder."""
ANNOTATED_TYPES = "annotated_types"
"""The key in the source of a predictions file that lists the annotated types its pipeline was scored on."""
OTHER_TYPES = "predicted mentions of types that are not scored"


def types_of_pipeline(task: EvaluationTask, pipeline: Pipeline, trained: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the annotated types of a split that a pipeline links; empty means all.

    These are the types in `trained`, if the split annotates any of them. Otherwise, for a pipeline restricted to some concepts,
    these are the types named like one of its semantic groups, and the types most of whose gold concepts it can link.
    """
    annotated = task.annotated_types
    linked = [name for name in annotated if name in trained]
    only = select_concepts(pipeline.kb, pipeline.options)
    if not linked and only is not None:
        rows = _gold_rows(task)
        linked = [name for name in annotated if name in pipeline.options.types or 2 * only[rows[name]].sum() > len(rows[name])]
    return () if len(linked) in (0, len(annotated)) else tuple(linked)


def _gold_rows(task: EvaluationTask) -> dict[str, list[int]]:
    """Return the gold concepts of each annotated type, as KB rows."""
    found: dict[str, list[int]] = {name: [] for name in task.annotated_types}
    for doc in task.dataset.documents(task.split):
        for mention in doc.mentions:
            found[mention.type] += _rows(task, mention)
    return found


def _rows(task: EvaluationTask, mention: Mention) -> list[int]:
    found = (task.kb.concept_ids.find(task.resolver.canonical(each)) for each in mention.concept_ids)
    return [row for row in found if row >= 0]


def read_trained_types(folder: Path) -> tuple[str, ...]:
    """Read from a pipeline's folder the annotated types that it was trained on; empty if not trained, or trained on all."""
    return tuple(_read_request(folder, "types", lambda types: map(str, dict(types)), "give the types to score with --type"))


def is_trained_on(folder: Path, dataset: str) -> bool:
    """Return whether the pipeline in a folder was trained on the train split of a dataset, given by its name or folder."""
    fix = "train the pipeline again"
    return Path(dataset).resolve() in _read_request(
        folder, "datasets", lambda names: (Path(name).resolve() for name in names), fix
    )


def _read_request(folder: Path, key: str, parse: Callable[[Any], Iterable[Any]], fix: str) -> list[Any]:
    """Read an entry of a pipeline's training configuration; empty if the pipeline was not trained, or has no such entry."""
    path = folder / TRAINING_REQUEST
    if not path.is_file():
        return []
    try:
        return list(parse(json.loads(read_small(path)).get(key, ())))
    except (ValueError, TypeError, AttributeError, RecursionError) as e:
        what = f"the training configuration has no valid entry {key!r}"
        raise ConfigError("config-invalid", what, where=str(path), fix=fix) from e


def types_of_predictions(*predictions: object) -> tuple[str, ...]:
    """Return the annotated types recorded in predictions; empty means all. Raise ConfigError if predictions differ in types."""
    found = {_types_in(each.source.get(ANNOTATED_TYPES)) for each in predictions if isinstance(each, Predictions)}
    if len(found) > 1:
        named = " and ".join(", ".join(types) or "all" for types in sorted(found))
        what = f"the predictions are for different annotated types: {named}"
        raise ConfigError("compare-other", what, fix="give the types to compare with --type")
    return next(iter(found), ())


def _types_in(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def drop_other_types(task: EvaluationTask, predicted: Iterable[Document]) -> tuple[list[Document], dict[str, int]]:
    """Drop predicted mentions of types that are not scored; return the documents and the number dropped, by reason."""
    documents = list(predicted)
    if not task.types:
        return documents, {}
    others = _other_kinds(task)

    def is_scored(mention: Mention) -> bool:
        kinds = [task.kb.label_of(row)[1] for row in _rows(task, mention)]
        return not kinds or not others.issuperset(kinds)

    kept = [replace(doc, mentions=tuple(filter(is_scored, doc.mentions)), relations=()) for doc in documents]
    dropped = sum(len(doc.mentions) for doc in documents) - sum(len(doc.mentions) for doc in kept)
    return kept, {OTHER_TYPES: dropped} if dropped else {}


def _other_kinds(task: EvaluationTask) -> set[str]:
    """Return the semantic groups that occur more often in gold mentions of unscored types than of scored types."""
    scored: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for doc in task.dataset.documents(task.split):
        for mention in doc.mentions:
            own = scored if mention.type in task.types else others
            own.update(task.kb.label_of(row)[1] for row in _rows(task, mention))
    return {kind for kind, count in others.items() if kind and count > scored[kind]}
