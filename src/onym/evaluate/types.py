"""Which annotated types of a split are scored: those that are given, those that a pipeline links, or all of them.

A dataset may annotate more types than a pipeline links: without a choice, every mention of the others would be missed. Gold
mentions of other types are left out, and so are predicted mentions whose concepts are of a kind that the other types mean.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from onym.errors import ConfigError
from onym.evaluate.task import EvaluationTask
from onym.kb.ranking import select_concepts
from onym.outputs.predictions import Predictions
from onym.pipeline.pipeline import Pipeline
from onym.store.models import read_small
from onym.types import Document, Mention

TRAINING_REQUEST = "request.json"
"""The file in a trained pipeline's folder with the configuration of the training."""
ANNOTATED_TYPES = "annotated_types"
"""The key of a predictions file's source with the annotated types that its pipeline was scored on."""
OTHER_TYPES = "predicted mentions of types that are not scored"


def types_of_pipeline(task: EvaluationTask, pipeline: Pipeline, trained: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the annotated types of a split that a pipeline links; empty means all.

    They are the types that it was `trained` on. Otherwise, if the pipeline answers with some concepts only, they are the types
    that are named like one of its groups, or most of whose gold concepts are among its answers.
    """
    annotated = task.annotated_types
    linked = [name for name in annotated if name in trained]
    only = select_concepts(pipeline.kb, pipeline.options.types, pipeline.options.concepts)
    if not linked and only is not None:
        rows = _gold_rows(task)
        linked = [name for name in annotated if name in pipeline.options.types or 2 * only[rows[name]].sum() > len(rows[name])]
    return () if len(linked) in (0, len(annotated)) else tuple(linked)


def _gold_rows(task: EvaluationTask) -> dict[str, list[int]]:
    """Return the concepts of the gold mentions of each type, as rows of the knowledge base."""
    found: dict[str, list[int]] = {name: [] for name in task.annotated_types}
    for doc in task.dataset.documents(task.split):
        for mention in doc.mentions:
            found[mention.type] += _rows(task, mention)
    return found


def _rows(task: EvaluationTask, mention: Mention) -> list[int]:
    found = (task.kb.concept_ids.find(task.resolver.canonical(each)) for each in mention.concept_ids)
    return [row for row in found if row >= 0]


def read_trained_types(folder: Path) -> tuple[str, ...]:
    """Return the annotated types that a pipeline was trained on, from its folder; empty if it was not trained, or on all."""
    path = folder / TRAINING_REQUEST
    if not path.is_file():
        return ()
    try:
        types = json.loads(read_small(path))["types"]
        return tuple(map(str, dict(types)))
    except (ValueError, KeyError, TypeError) as e:
        what = "the record of the training does not say which types it was for"
        raise ConfigError("config-invalid", what, where=str(path), fix="name the types with --type") from e


def types_of_predictions(*predictions: object) -> tuple[str, ...]:
    """Return the annotated types that the pipelines of predictions were scored on; empty means all. They must be the same."""
    found = {_types_in(each.source.get(ANNOTATED_TYPES)) for each in predictions if isinstance(each, Predictions)}
    if len(found) > 1:
        named = " and ".join(", ".join(types) or "all" for types in sorted(found))
        what = f"the predictions are for different annotated types: {named}"
        raise ConfigError("compare-other", what, fix="name the types to compare with --type")
    return next(iter(found), ())


def _types_in(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def drop_other_types(task: EvaluationTask, predicted: Iterable[Document]) -> tuple[list[Document], dict[str, int]]:
    """Return predicted documents without the mentions of types that are not scored, and how many mentions these are."""
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
    """Return the semantic groups of concepts that mostly types that are not scored mean."""
    scored: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for doc in task.dataset.documents(task.split):
        for mention in doc.mentions:
            own = scored if mention.type in task.types else others
            own.update(task.kb.label_of(row)[1] for row in _rows(task, mention))
    return {kind for kind, count in others.items() if kind and count > scored[kind]}
